// The heads on the wall: which of them the filters leave, in which order, and what is written on each.

import { ownNumbers, sortedHeads } from "../base/js/head_grid.js";
import { formatWeight, shortNumber } from "../base/js/text.js";

const DIGITS = 3; // of a score

/** The name of the filter for heads without a label. */
export const NO_LABEL = "";

/**
 * @typedef {import("../base/js/head_grid.js").LayerHead} LayerHead
 *
 * @typedef {object} Filter
 * @property {string} order what the heads are sorted by
 * @property {string[]} labels that are kept, NO_LABEL for heads without one; all if there is none
 * @property {number[]} layers the first and the last that are kept; all if empty
 * @property {number | null} least the score, of those that are sorted by, from which a head is kept
 *
 * @typedef {object} WallHeads the heads of one kind
 * @property {LayerHead[]} cells in their order: in that of layers all of them, otherwise those kept
 * @property {boolean} byLayer whether rows are layers
 * @property {Uint8Array} kept 1 or 0, [layer · head]
 */

/**
 * The heads of a kind on the wall.
 *
 * @param {import("../base/js/head_grid.js").KindHeads} entry
 * @param {Filter} filter
 * @returns {WallHeads}
 */
export function wallHeads(entry, { order, labels, layers, least }) {
  const { heads } = entry;
  const [first, last] = layers.length ? layers : [0, entry.layers - 1];
  const isKept = ([layer, head]) => {
    if (layer < first || layer > last) return false;
    if (labels.length && entry.labels && !labels.includes(labelOn(entry, layer, head))) return false;
    return least === null || !entry.scores?.[order] || entry.scores[order][layer * heads + head] >= least;
  };
  const kept = new Uint8Array(entry.layers * heads);
  const sorted = sortedHeads(entry, order);
  for (const each of sorted) kept[each[0] * heads + each[1]] = Number(isKept(each));
  const byLayer = order === "layer";
  return { byLayer, kept, cells: byLayer ? sorted : sorted.filter(isKept) };
}

/** @param {Pick<import("../base/js/head_grid.js").KindHeads, "labels">} entry */
function labelOn({ labels }, layer, head) {
  return labels?.[layer][head]?.name ?? NO_LABEL;
}

/**
 * The labels of some kinds' heads, and how many have each: [name, count], those without one last.
 *
 * @param {Iterable<import("../base/js/head_grid.js").KindHeads>} entries
 * @returns {[string, number][]}
 */
export function labelCounts(entries) {
  const counts = new Map();
  for (const entry of entries) {
    if (!entry.labels) continue;
    for (let i = 0; i < entry.layers * entry.heads; i++) {
      const name = labelOn(entry, Math.floor(i / entry.heads), i % entry.heads);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return Array.from(counts).sort(([a], [b]) => Number(!a) - Number(!b) || (a < b ? -1 : 1));
}

/** A label in one to three letters: "previous token" is PT, "offset −3" is −3. */
export function labelMark(name) {
  const words = name.split(/[\s-]+/);
  if (/\d/.test(words.at(-1))) return words.at(-1);
  return words
    .map((word) => word.slice(0, 1).toUpperCase())
    .join("")
    .slice(0, 3);
}

/** What a head is sorted by, in digits: its own score or its entropy; "" by layer or label. */
export function scoreInDigits({ entropies, scores, heads }, order, layer, head, digits = DIGITS) {
  const of = scores?.[order] ?? (order === "entropy" ? entropies : null);
  const value = of ? of[layer * heads + head] : NaN;
  return Number.isNaN(value) ? "" : shortNumber(value, digits);
}

/** Each score of a head in words: "mine 0.42"; its name is isolated, since it may run from right to left. */
export function scoresInWords({ scores, heads }, layer, head) {
  return Object.entries(scores ?? {})
    .map(([name, values]) => [name, values[layer * heads + head]])
    .filter(([, value]) => !Number.isNaN(value))
    .map(([name, value]) => `\u2068${name}\u2069 ${shortNumber(Number(value), DIGITS)}`);
}

/** A head in the short lines of a note beside the pointer. */
export function headNote(entry, { layer, head }) {
  const label = entry.labels?.[layer][head];
  const entropy = entry.entropies?.[layer * entry.heads + head] ?? NaN;
  const [ownLayer, ownHead] = ownNumbers(entry, layer, head);
  const lines = [`layer ${ownLayer} · head ${ownHead}`];
  if (label) lines.push(`${label.name} ${formatWeight(label.evidence)}`);
  else if (entry.labels) lines.push("no clear pattern");
  if (!Number.isNaN(entropy)) lines.push(`entropy ${formatWeight(entropy)}`);
  return [...lines, ...scoresInWords(entry, layer, head)];
}
