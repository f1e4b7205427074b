// The options panel: what the viewer may choose besides a head and a token, folded away at first.

import { button, choice, element, slider, toggle, uniqueId } from "../base/js/controls.js";
import { addTextSizeButtons } from "../base/js/text_size.js";
import { PARTS_OF_SCORES } from "./attends_by.js";
import { addHeadOrder } from "./head_order.js";
import { PAIRS } from "./sentence_pair.js";
import { foundInWords } from "./selection.js";

const AGGREGATES = [
  ["head", "one head"],
  ["mean", "mean of heads"],
  ["max", "maximum of heads"],
  ["rollout", "rollout of layers"],
];

/**
 * @typedef {object} PanelHandlers
 * @property {(trait: string) => any} get a trait
 * @property {(change: Record<string, unknown>) => void} set traits
 * @property {(isOn: boolean) => void} onSeveral
 * @property {(isOpen: boolean) => void} onTable
 * @property {(isOn: boolean) => void} onWall
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
  const wall = toggle(bar, "All heads", (isOn) => handlers.onWall(isOn));
  wall.node.title = "Every head of the model, coloured by what it does (key W)";
  const linked = toggle(bar, "Linked", (value) => handlers.set({ linked: value }));
  linked.node.title = "Encoder, cross and decoder attention on one screen";
  const pairs = choice(bar, "Sentences", PAIRS, (pair) => handlers.set({ pair }));
  const by = choice(bar, "Attends by", PARTS_OF_SCORES, (part) => handlers.set({ attends_by: part }));
  const shownBesideWall = [toggle(bar, "Table", handlers.onTable).node];
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
      pairs: options.linked ? {} : options.pairs,
      scores: Object.fromEntries(Object.keys(options.scores).map((name) => [name, true])),
      chosen,
      canChoosePart: options.biased.includes(chosen.kind),
      selectsSeveral: state.selectsSeveral,
      canLink: Boolean(plan),
      noRollout: entry.noRollout ?? "",
      signed: Boolean(entry.signed),
      hasSpecial: Boolean(entry.special?.queries.includes(true) || entry.special?.keys.includes(true)),
      hasWords: Boolean(entry.words?.queries || entry.words?.keys),
      foundText: options.search ? foundInWords(found) : "",
    };
    const text = JSON.stringify(wanted);
    if (text === shown) return;
    shown = text;
    wall.set(wanted.wall);
    for (const node of shownBesideWall) node.hidden = wanted.wall;
    linked.node.hidden = wanted.wall || !wanted.canLink;
    linked.set(wanted.linked);
    pairs.node.hidden = !wanted.pairs[wanted.chosen.kind];
    pairs.set(wanted.pairs[wanted.chosen.kind] ?? "all");
    by.node.hidden = !wanted.canChoosePart;
    by.set(wanted.attendsBy);
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
  const orders = addHeadOrder(line, "Sort heads by", set);
  const disable = ({ node }, value, isDisabled) => {
    node.querySelector(`[value=${value}]`).disabled = isDisabled;
  };

  return ({ chosen, noRollout, selectsSeveral, order, scores, signed }) => {
    aggregates.set(chosen.aggregate);
    disable(aggregates, "rollout", Boolean(noRollout));
    aggregates.node.title = noRollout;
    several.set(selectsSeveral);
    none.hidden = !chosen.selected.length;
    orders.update(order, scores, signed);
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
