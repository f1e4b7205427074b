// Panels that fold to a line: a title, and in a few words what is inside.
//
// Which of them stand open is a trait of the view, `unfolded`, a list of names. So a tour opens the
// panel that it speaks of, and a saved notebook and an exported page keep what was opened.

import { element, setText, uniqueId } from "./controls.js";

/**
 * @typedef {object} Fold
 * @property {HTMLElement} node the whole panel
 * @property {HTMLElement} body what is folded away
 * @property {() => boolean} isOpen
 * @property {(text: string) => void} summarize say in the panel's line what is inside
 */

/**
 * Panels that fold; closed ones stand beside each other where there is room.
 *
 * `add(name, title)` adds a panel and `update()` brings all to the model's state.
 * The view has `unfolded` among its traits.
 *
 * @param {Element} parent
 * @param {{ model: { get: (trait: string) => any }, view: import("./view.js").View }} options
 */
export function addFolds(parent, { model, view }) {
  const node = element(parent, "div", "vt-folds");
  const updates = [];
  /** @returns {string[]} */
  const unfolded = () => model.get("unfolded") ?? [];

  /** @returns {Fold} */
  function add(name, title) {
    const panel = element(node, "section", `vt-fold vt-${name}`, { "aria-label": title });
    const id = uniqueId();
    const head = element(
      element(panel, "div", "", { role: "heading", "aria-level": "3" }),
      "button",
      "vt-fold-head",
      {
        type: "button",
        "aria-controls": id,
        "data-lm-suppress-shortcuts": "true",
      },
    );
    element(head, "span", "vt-fold-title").textContent = title;
    const summary = element(head, "span", "vt-fold-summary");
    const body = element(panel, "div", "vt-fold-body", { id });
    const isOpen = () => unfolded().includes(name);
    head.addEventListener("click", () => {
      const others = unfolded().filter((each) => each !== name);
      view.set({ unfolded: isOpen() ? others : [...others, name] });
    });
    updates.push(() => {
      body.hidden = !isOpen();
      head.setAttribute("aria-expanded", String(isOpen()));
    });
    const summarize = (text) => {
      setText(summary, text);
      summary.title = text; // the line may cut it short
    };
    return { node: panel, body, isOpen, summarize };
  }

  function update() {
    for (const each of updates) each();
  }

  return { node, add, update };
}
