// The controls of the wall of heads: its order, the filters, and a legend of the labels that filters too.

import { button, choice, element, setText, slider } from "../base/js/controls.js";
import { inkOn, labelColour } from "../base/js/colour.js";
import { ownNumbers } from "../base/js/head_grid.js";
import { addHeadOrder } from "./head_order.js";
import { labelCounts, labelMark, NO_LABEL } from "./wall_heads.js";

const NO_FILTER = { label_filter: [], layer_filter: [], least_score: null };
const STEPS = 100; // of the slider of scores

/**
 * Add the wall's controls: {update(snapshot, theme)}.
 *
 * @param {HTMLElement} parent
 * @param {(change: Record<string, unknown>) => void} set traits
 */
export function addWallControls(parent, set) {
  const line = element(parent, "div", "vt-controls");
  const orders = addHeadOrder(line, "Sort by", set);
  const layers = addLayerRange(line, set);
  const least = addLeastScore(line, set);
  const count = element(line, "span", "vt-hint", { role: "status" });
  const clear = button(line, "Show all", () => set(NO_FILTER));
  const legend = element(parent, "div", "vt-wall-legend", { role: "group", "aria-label": "Filter by label" });

  /**
   * @param {import("./snapshot.js").Snapshot} snapshot
   * @param {(import("./wall_heads.js").WallHeads & {layers: number, heads: number})[]} heads
   * @param {import("../base/js/colour.js").Theme} theme
   */
  function update({ options, sections, entry }, heads, theme) {
    orders.update(options.order, options.scores, entry.signed);
    const deepest = sections.reduce((one, other) => (other.layers > one.layers ? other : one));
    layers.update(deepest, options.filter.layers);
    least.update(options, sections);
    updateLegend(legend, labelCounts(sections), options.filter.labels, theme, set);
    const all = heads.reduce((sum, { kept }) => sum + kept.length, 0);
    const kept = heads.reduce((sum, each) => sum + each.kept.reduce((total, one) => total + one, 0), 0);
    setText(count, kept === all ? `${all} heads` : `${kept} of ${all} heads`);
    clear.hidden = kept === all;
  }
  return { update };
}

/** Two lists, the first and the last layer that is kept. */
function addLayerRange(line, set) {
  const place = element(line, "span", "vt-controls");
  let [count, known, first, last] = [0, "", null, null];
  const onChange = () => {
    const [from, to] = [first, last].map(({ node }) => Number(node.querySelector("select").value));
    const range = [Math.min(from, to), Math.max(from, to)];
    set({ layer_filter: range[0] === 0 && range[1] === count - 1 ? [] : range });
  };
  return {
    update(entry, [from = 0, to = entry.layers - 1]) {
      const names = Array.from({ length: entry.layers }, (_, i) => String(ownNumbers(entry, i, 0)[0]));
      if (names.join() !== known) {
        [count, known] = [entry.layers, names.join()];
        const numbers = names.map((name, i) => [String(i), name]);
        place.replaceChildren();
        first = choice(place, "Layers", numbers, onChange);
        last = choice(place, "to", numbers, onChange);
        last.node.querySelector("select").setAttribute("aria-label", "to layer");
      }
      first.set(String(from));
      last.set(String(to));
    },
  };
}

/** A slider of the score from which heads are kept, where they are sorted by a score. */
function addLeastScore(line, set) {
  const place = element(line, "span");
  let [name, low, high, input] = ["", 0, 0, null];
  return {
    update({ order, filter }, sections) {
      const values = sections
        .flatMap(({ scores }) => Array.from(scores?.[order] ?? []))
        .filter(Number.isFinite);
      place.hidden = values.length < 2;
      if (place.hidden) return;
      if (name !== order || low !== Math.min(...values) || high !== Math.max(...values)) {
        [name, low, high] = [order, Math.min(...values), Math.max(...values)];
        place.replaceChildren();
        const step = (high - low) / STEPS || 1;
        const digits = Math.min(12, Math.max(2, Math.ceil(-Math.log10(step))));
        const scale = { label: `${name} at least`, min: low, max: high, step, digits };
        input = slider(place, scale, (least) => set({ least_score: least <= low ? null : least }));
      }
      input.set(filter.least ?? low);
    },
  };
}

/** A button for each label, in its colour: what is pressed is kept. */
function updateLegend(legend, counts, chosen, theme, set) {
  const text = JSON.stringify([counts, chosen, theme.name]);
  if (legend.dataset.shown === text) return;
  const focused = Array.from(legend.children).indexOf(document.activeElement);
  legend.dataset.shown = text;
  legend.replaceChildren();
  for (const [name, count] of counts) {
    const isOn = chosen.includes(name);
    const node = button(legend, "", () =>
      set({ label_filter: isOn ? chosen.filter((one) => one !== name) : [...chosen, name] }),
    );
    node.setAttribute("aria-pressed", String(isOn));
    const swatch = element(node, "span", "vt-swatch", { "aria-hidden": "true" });
    if (name !== NO_LABEL) {
      swatch.textContent = labelMark(name);
      swatch.style.background = labelColour(name, theme);
      swatch.style.color = inkOn(labelColour(name, theme));
    }
    element(node, "span").textContent = `${name || "no clear pattern"} ${count}`;
  }
  if (focused >= 0) /** @type {HTMLElement} */ (legend.children[focused])?.focus();
}
