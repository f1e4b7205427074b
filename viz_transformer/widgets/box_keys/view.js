// The keys of a box of ipywidgets: those that run the cell, and Enter in a text field.

import { forwardCellKeys } from "../base/js/cell_keys.js";

function render({ model, el }) {
  // Looked up with every key: the box is not around this element yet.
  const within = (node) => Boolean(el.closest(".widget-box")?.contains(node));

  function onKey({ key, target, isComposing }) {
    const typed = target.matches("input[type=text]") && within(target);
    // The text goes along, for ipywidgets may send it later than this.
    if (typed && key === "Enter" && !isComposing) model.send({ entered: target.value });
  }

  const stop = forwardCellKeys(document, within);
  document.addEventListener("keydown", onKey, true);
  return () => {
    stop();
    document.removeEventListener("keydown", onKey, true);
  };
}

export default { render };
