// What a view does in JupyterLab: it forwards the notebook's own keys to its cell, and comes into sight when new.
//
// A view keeps the arrow keys from Jupyter with `data-lm-suppress-shortcuts`, which keeps all keys
// from it, and a text field stops every key. So the keys that run a cell are forwarded here.

const CAPTURE = { capture: true }; // before any control can stop the event

/** Whether a key runs the cell: Enter with Shift, Ctrl, Alt or Cmd. */
export function runsCell({ key, isComposing, shiftKey, ctrlKey, altKey, metaKey }: KeyboardEventInit) {
  return key === "Enter" && !isComposing && (shiftKey || ctrlKey || altKey || metaKey);
}

/**
 * Forward the keys that run a cell to the cell around `target`, wherever inside the focus is. When
 * the control that has the focus is disabled or hidden, the cell gets the focus: otherwise the
 * page's body would get it, and no key would do anything.
 *
 * @param within narrows down which nodes count
 * @returns stops it
 */
export function forwardCellKeys(
  target: EventTarget,
  within: (node: HTMLElement) => boolean = (_) => true,
): () => void {
  const observer = new MutationObserver(([change]) => {
    const node = change.target as HTMLButtonElement; // any control that can be disabled
    const gone = node.disabled || node.style.display === "none";
    const focused = document.activeElement;
    if (gone && (focused === node || focused === document.body)) focusCell(node);
  });

  function onFocus(event: Event) {
    const node = event.target as HTMLElement;
    if (!within(node)) return;
    observer.disconnect();
    observer.observe(node, { attributes: true, attributeFilter: ["disabled", "style"] });
  }

  function onKey(event: KeyboardEventInit & Event) {
    const node = event.target as HTMLElement;
    const cell = runsCell(event) && within(node) && focusCell(node);
    if (!cell) return; // an exported page has no cells
    event.preventDefault(); // a button would take it for a click
    event.stopPropagation();
    cell.dispatchEvent(new KeyboardEvent("keydown", event));
  }

  target.addEventListener("focusin", onFocus, CAPTURE);
  target.addEventListener("keydown", onKey, CAPTURE);
  return () => {
    observer.disconnect();
    target.removeEventListener("focusin", onFocus, CAPTURE);
    target.removeEventListener("keydown", onKey, CAPTURE);
  };
}

function focusCell(node: HTMLElement) {
  const cell = node.closest(".jp-Cell") as HTMLElement | null;
  cell?.focus({ preventScroll: true });
  return cell;
}

const SETTLE_MS = 400; // JupyterLab scrolls to the next cell once the output is there
const MARGIN = 8;
/** What a reader does of their own; Shift+Enter is what ran the cell. */
const ACTS = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

/** The part of a notebook that scrolls. */
function scrollerOf(cell: Element): Element | null {
  let parent = cell.parentElement;
  while (parent && !/auto|scroll/.test(getComputedStyle(parent).overflowY)) parent = parent.parentElement;
  return parent;
}

/** Bring a view's top into sight if its cell was the last one to be run; returns a function that gives it up. */
export function showNewCell(root: HTMLElement): () => void {
  const cell = root.closest(".jp-CodeCell");
  const scroller = cell && scrollerOf(cell);
  // A cell that was run by Shift+Enter stands right above the chosen one; Run All chooses the last.
  const chosen = cell?.parentElement?.querySelector(".jp-mod-active");
  const isNewest = cell && (chosen === cell || chosen?.previousElementSibling === cell);
  if (!scroller || !isNewest || root.parentElement?.closest(".vt-root")) return () => {};

  const timer = setTimeout(() => {
    stop();
    const [view, window] = [root.getBoundingClientRect(), scroller.getBoundingClientRect()];
    const isSeen = view.top >= window.top && view.bottom <= window.bottom;
    if (!isSeen) scroller.scrollBy({ top: view.top - window.top - MARGIN });
  }, SETTLE_MS);
  function stop(): void {
    clearTimeout(timer);
    for (const act of ACTS) document.removeEventListener(act, stop, true);
  }
  for (const act of ACTS) document.addEventListener(act, stop, { capture: true, passive: true });
  return stop;
}
