// The notebook's own keys, pressed inside a view and forwarded to the cell that the view stands in.
//
// A view keeps the arrow keys from Jupyter with `data-lm-suppress-shortcuts`, which keeps all keys
// from it, and a text field stops every key. So the keys that run a cell are forwarded here.

const CAPTURE = { capture: true }; // before any control can stop the event

/**
 * Whether a key runs the cell: Enter with Shift, Ctrl, Alt or Cmd.
 *
 * @param {KeyboardEventInit} event
 */
export function runsCell({ key, isComposing, shiftKey, ctrlKey, altKey, metaKey }) {
  return key === "Enter" && !isComposing && (shiftKey || ctrlKey || altKey || metaKey);
}

/**
 * Forward the keys that run a cell to the cell around `target`, wherever inside the focus is. When
 * the control that has the focus is disabled or hidden, the cell gets the focus: otherwise the
 * page's body would get it, and no key would do anything.
 *
 * @param {EventTarget} target
 * @param {(node: HTMLElement) => boolean} within narrows down which nodes count
 * @returns {() => void} stops it
 */
export function forwardCellKeys(target, within = (_) => true) {
  const observer = new MutationObserver(([change]) => {
    const node = /** @type {HTMLButtonElement} */ (change.target); // any control that can be disabled
    const gone = node.disabled || node.style.display === "none";
    const focused = document.activeElement;
    if (gone && (focused === node || focused === document.body)) focusCell(node);
  });

  /** @param {Event} event */
  function onFocus(event) {
    const node = /** @type {HTMLElement} */ (event.target);
    if (!within(node)) return;
    observer.disconnect();
    observer.observe(node, { attributes: true, attributeFilter: ["disabled", "style"] });
  }

  /** @param {KeyboardEventInit & Event} event */
  function onKey(event) {
    const node = /** @type {HTMLElement} */ (event.target);
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

/** @param {HTMLElement} node */
function focusCell(node) {
  const cell = /** @type {HTMLElement | null} */ (node.closest(".jp-Cell"));
  cell?.focus({ preventScroll: true });
  return cell;
}
