// The heads on the wall: which of them the filters leave, in which order, and what is written on each.

import { ownNumbers, sortedHeads, type KindHeads, type LayerHead } from "../base/head_grid.ts";
import { formatWeight, shortNumber } from "../base/text.ts";
import type { HeadPlace } from "../base/kinds.ts";

const DIGITS = 3; // of a score

/** The name of the filter for heads without a label. */
export const NO_LABEL = "";

interface Filter {
  /** What the heads are sorted by. */
  order: string;
  /** That are kept, NO_LABEL for heads without one; all if there is none. */
  labels: string[];
  /** The first and the last that are kept; all if empty. */
  layers: number[];
  /** The score, of those that are sorted by, from which a head is kept. */
  least: number | null;
}

/** The heads of one kind. */
export interface WallHeads {
  /** In their order: in that of layers all of them, otherwise those kept. */
  cells: LayerHead[];
  /** Whether rows are layers. */
  byLayer: boolean;
  /** 1 or 0, [layer · head]. */
  kept: Uint8Array;
}

/** The heads of a kind on the wall. */
export function wallHeads(entry: KindHeads, { order, labels, layers, least }: Filter): WallHeads {
  const { heads } = entry;
  const [first, last] = layers.length ? layers : [0, entry.layers - 1];
  const isKept = ([layer, head]: LayerHead) => {
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

function labelOn({ labels }: Pick<KindHeads, "labels">, layer: number, head: number) {
  return labels?.[layer][head]?.name ?? NO_LABEL;
}

/** The labels of some kinds' heads, and how many have each: [name, count], those without one last. */
export function labelCounts(entries: Iterable<KindHeads>): [string, number][] {
  const counts = new Map<string, number>();
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
export function labelMark(name: string) {
  const words = name.split(/[\s-]+/);
  const last = words[words.length - 1];
  if (/\d/.test(last)) return last;
  return words
    .map((word) => word.slice(0, 1).toUpperCase())
    .join("")
    .slice(0, 3);
}

/** What a head is sorted by, in digits: its own score or its entropy; "" by layer or label. */
export function scoreInDigits(
  { entropies, scores, heads }: KindHeads,
  order: string,
  layer: number,
  head: number,
  digits = DIGITS,
) {
  const of = scores?.[order] ?? (order === "entropy" ? entropies : null);
  const value = of ? of[layer * heads + head] : NaN;
  return Number.isNaN(value) ? "" : shortNumber(value, digits);
}

/** Each score of a head in words: "mine 0.42"; its name is isolated, since it may run from right to left. */
export function scoresInWords(
  { scores, heads }: Pick<KindHeads, "scores" | "heads">,
  layer: number,
  head: number,
) {
  return Object.entries(scores ?? {})
    .map(([name, values]) => [name, values[layer * heads + head]])
    .filter(([, value]) => !Number.isNaN(value))
    .map(([name, value]) => `\u2068${name}\u2069 ${shortNumber(Number(value), DIGITS)}`);
}

/** A head in the short lines of a note beside the pointer. */
export function headNote(entry: KindHeads, { layer, head }: Omit<HeadPlace, "kind">) {
  const label = entry.labels?.[layer][head];
  const entropy = entry.entropies?.[layer * entry.heads + head] ?? NaN;
  const [ownLayer, ownHead] = ownNumbers(entry, layer, head);
  const lines = [`layer ${ownLayer} · head ${ownHead}`];
  if (label) lines.push(`${label.name} ${formatWeight(label.evidence)}`);
  else if (entry.labels) lines.push("no clear pattern");
  if (!Number.isNaN(entropy)) lines.push(`entropy ${formatWeight(entropy)}`);
  return [...lines, ...scoresInWords(entry, layer, head)];
}
