// What the viewer may choose besides a head and a word: folded away until it is asked for.

import { button, choice, element, slider, toggle, uniqueId } from "../base/js/controls.js";
import { addTextSizeButtons } from "../base/js/text_size.js";

const SHOWN = [
  ["head", "one head"],
  ["mean", "mean of heads"],
  ["max", "maximum of heads"],
  ["rollout", "rollout of layers"],
];
const ORDERS = [
  ["layer", "layer and head"],
  ["entropy", "entropy, most focused first"],
  ["label", "label"],
];

/**
 * The bar of buttons and the folded options: {update(state)}.
 *
 * `on.set(change)` sets traits; `on.several(on)`, `on.table(open)`, `on.next()` hear the rest.
 */
export function openPanel(bar, place, { set, get, several, table, next }) {
  const id = uniqueId();
  const linked = toggle(bar, "Linked", (value) => set({ linked: value }));
  linked.node.title = "Encoder, cross and decoder attention on one screen";
  const tabled = toggle(bar, "Table", table);
  const options = toggle(bar, "Options", (open) => {
    panel.hidden = !open;
    options.node.setAttribute("aria-expanded", String(open));
  });
  options.node.setAttribute("aria-expanded", "false");
  options.node.setAttribute("aria-controls", id);

  const panel = element(place, "div", "vt-options", { id, role: "group", "aria-label": "Options" });
  panel.hidden = true;
  const line = () => element(panel, "div", "vt-controls");
  const heads = line();
  const shown = choice(heads, "Show", SHOWN, (aggregate) => set({ aggregate }));
  const many = toggle(heads, "Select several heads", several);
  const clear = button(heads, "Select none", () => set({ selected: [], aggregate: "head" }));
  element(heads, "span", "vt-hint").textContent = "or hold Ctrl or Shift and click; Space with the keyboard";
  const order = choice(heads, "Sort heads by", ORDERS, (value) => set({ order: value }));
  const words = line();
  const threshold = slider(words, { label: "Draw from weight", min: 0, max: 1, step: 0.01 }, (value) =>
    set({ threshold: value }),
  );
  const special = toggle(words, "Hide special tokens", (value) => set({ hide_special: value }));
  const merge = toggle(words, "Merge pieces into words", (value) => set({ merge_words: value }));
  const finder = element(words, "label", "vt-choice");
  element(finder, "span").textContent = "Find a word";
  const search = element(finder, "input", "", {
    type: "search",
    size: 12,
    "data-lm-suppress-shortcuts": "true",
  });
  search.addEventListener("input", () => set({ search: search.value }));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") next();
    event.stopPropagation();
  });
  const found = element(finder, "output");
  const sizes = element(words, "span", "vt-controls");
  addTextSizeButtons(sizes, get, set);

  function update({ chosen, noRollout, isSigned, canLink, hasSpecial, hasWords, isSeveral, foundText }) {
    linked.node.hidden = !canLink;
    linked.set(get("linked"));
    shown.set(chosen.aggregate);
    shown.node.querySelector("[value=rollout]").disabled = noRollout;
    many.set(isSeveral);
    clear.hidden = !chosen.selected.length;
    order.set(get("order"));
    order.node.querySelector("[value=label]").disabled = isSigned;
    threshold.set(get("threshold") ?? 0);
    [special.node.hidden, merge.node.hidden] = [!hasSpecial, !hasWords];
    special.set(get("hide_special"));
    merge.set(get("merge_words"));
    const text = get("search") ?? "";
    if (search.value !== text) search.value = text;
    found.textContent = foundText;
  }

  return { update };
}
