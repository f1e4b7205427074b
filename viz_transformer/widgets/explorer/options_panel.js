// The options panel: what the viewer may choose besides a head and a token, folded away at first.

import { button, choice, element, slider, toggle, uniqueId } from "../base/js/controls.js";
import { addTextSizeButtons } from "../base/js/text_size.js";
import { foundInWords } from "./selection.js";

const AGGREGATES = [
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
 * @typedef {object} PanelHandlers
 * @property {(trait: string) => any} get a trait
 * @property {(change: Record<string, unknown>) => void} set traits
 * @property {(isOn: boolean) => void} onSeveral
 * @property {(isOpen: boolean) => void} onTable
 * @property {() => void} onFindNext
 */

/**
 * Add the bar's buttons and the folded options: {update(snapshot)}.
 *
 * @param {HTMLElement} bar
 * @param {HTMLElement} parent of the options
 * @param {PanelHandlers} handlers
 */
export function addOptionsPanel(bar, parent, handlers) {
  const id = uniqueId();
  const linked = toggle(bar, "Linked", (value) => handlers.set({ linked: value }));
  linked.node.title = "Encoder, cross and decoder attention on one screen";
  toggle(bar, "Table", handlers.onTable);
  const options = toggle(bar, "Options", (isOpen) => {
    panel.hidden = !isOpen;
    options.node.setAttribute("aria-expanded", String(isOpen));
  });
  options.node.setAttribute("aria-expanded", "false");
  options.node.setAttribute("aria-controls", id);

  const panel = element(parent, "div", "vt-options", { id, role: "group", "aria-label": "Options" });
  panel.hidden = true;
  const updateHeads = addHeadOptions(element(panel, "div", "vt-controls"), handlers);
  const updateTokens = addTokenOptions(element(panel, "div", "vt-controls"), handlers);
  let shown = "";

  /** @param {import("./snapshot.js").Snapshot} snapshot */
  function update({ options, chosen, state, entry, plan, found }) {
    const wanted = {
      ...options,
      chosen,
      selectsSeveral: state.selectsSeveral,
      canLink: Boolean(plan),
      noRollout: Boolean(entry.noRollout),
      signed: Boolean(entry.signed),
      hasSpecial: Boolean(entry.special?.queries.includes(true) || entry.special?.keys.includes(true)),
      hasWords: Boolean(entry.words?.queries || entry.words?.keys),
      foundText: options.search ? foundInWords(found) : "",
    };
    const text = JSON.stringify(wanted);
    if (text === shown) return;
    shown = text;
    linked.node.hidden = !wanted.canLink;
    linked.set(wanted.linked);
    updateHeads(wanted);
    updateTokens(wanted);
  }

  return { update };
}

/** Which heads are shown, and in which order; returns what updates the controls. */
function addHeadOptions(line, { set, onSeveral }) {
  const aggregates = choice(line, "Show", AGGREGATES, (aggregate) => set({ aggregate }));
  const several = toggle(line, "Select several heads", onSeveral);
  const none = button(line, "Select none", () => set({ selected: [], aggregate: "head" }));
  element(line, "span", "vt-hint").textContent = "or hold Ctrl or Shift and click; Space with the keyboard";
  const orders = choice(line, "Sort heads by", ORDERS, (order) => set({ order }));
  const disable = ({ node }, value, isDisabled) => {
    node.querySelector(`[value=${value}]`).disabled = isDisabled;
  };

  return ({ chosen, noRollout, selectsSeveral, order, signed }) => {
    aggregates.set(chosen.aggregate);
    disable(aggregates, "rollout", noRollout);
    several.set(selectsSeveral);
    none.hidden = !chosen.selected.length;
    orders.set(order);
    disable(orders, "label", signed);
  };
}

/** How tokens and weights are shown, a search, and the text size; returns what updates the controls. */
function addTokenOptions(line, { get, set, onFindNext }) {
  const thresholds = slider(line, { label: "Draw from weight", min: 0, max: 1, step: 0.01 }, (threshold) =>
    set({ threshold }),
  );
  const special = toggle(line, "Hide special tokens", (isOn) => set({ hide_special: isOn }));
  const merge = toggle(line, "Merge pieces into words", (isOn) => set({ merge_words: isOn }));
  const finder = element(line, "label", "vt-choice");
  element(finder, "span").textContent = "Find a word";
  const input = element(finder, "input", "", {
    type: "search",
    size: 12,
    "data-lm-suppress-shortcuts": "true",
  });
  input.addEventListener("input", () => set({ search: input.value }));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") onFindNext();
    event.stopPropagation();
  });
  const output = element(finder, "output");
  addTextSizeButtons(element(line, "span", "vt-controls"), get, set);

  return ({ threshold, hasSpecial, hasWords, hideSpecial, mergeWords, search, foundText }) => {
    thresholds.set(threshold);
    [special.node.hidden, merge.node.hidden] = [!hasSpecial, !hasWords];
    special.set(hideSpecial);
    merge.set(mergeWords);
    if (input.value !== search) input.value = search;
    output.textContent = foundText;
  };
}
