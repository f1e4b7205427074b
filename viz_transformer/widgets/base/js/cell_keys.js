// The notebook's own keys, pressed inside a view: they go to the cell that the view stands in.
//
// A view keeps the arrow keys from Jupyter with `data-lm-suppress-shortcuts`, which keeps all keys
// from it, and a text field stops every key. So the keys that run a cell are handed over here.

const CAPTURE = { capture: true }; // before any control can stop the event

/** Whether a key runs the cell: Enter with Shift, Ctrl, Alt or Cmd. */
export function runsCell({ key, isComposing, shiftKey, ctrlKey, altKey, metaKey }) {
  return key === "Enter" && !isComposing && (shiftKey || ctrlKey || altKey || metaKey);
}

/**
 * Let the cell around `target` have the keys that run it, wherever inside the focus is, and the
 * focus itself when the control that had it is disabled or hidden: the page's body would get it,
 * and no key would do anything. `within(node)` narrows down which nodes count. Returns `stop()`.
 */
export function shareKeys(target, within = () => true) {
  const observer = new MutationObserver(([{ target: node }]) => {
    const gone = node.disabled || node.style.display === "none";
    if (gone && [node, document.body].includes(document.activeElement)) focusCell(node);
  });

  function onFocus({ target: node }) {
    if (!within(node)) return;
    observer.disconnect();
    observer.observe(node, { attributes: true, attributeFilter: ["disabled", "style"] });
  }

  function onKey(event) {
    const cell = runsCell(event) && within(event.target) && focusCell(event.target);
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

function focusCell(node) {
  const cell = node.closest(".jp-Cell");
  cell?.focus({ preventScroll: true });
  return cell;
}
