// A new view in JupyterLab: after Shift+Enter the next cell is chosen and scrolled to, which may leave the view
// that the cell made above or below the window. Its top comes into sight, unless the reader does something else.

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
