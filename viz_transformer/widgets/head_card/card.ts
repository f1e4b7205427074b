// A head card as the view shows it: what Python sends, and its sentences.

import { formatNumber, percent } from "../base/text.ts";

/** Offsets farther than this stand at the ends of the picture. */
const FARTHEST = 12;

export interface Example {
  keys: string[];
  weights: number[];
  /** The token of the query; of a decoder, the one that it writes. */
  query: string;
  /** Where the query stands among the keys; null where it does not. */
  own: number | null;
  /** Whether keys are left out before and after. */
  is_cut: [boolean, boolean];
  score: number;
}

/** A head. */
export interface Place {
  layer: number;
  head: number;
}

export interface Card {
  layer: number;
  head: number;
  n_texts: number;
  label: { name: string; sentence: string } | null;
  pattern: string;
  /** Where that is, in words: "on the token before". */
  where: string;
  held: number;
  n_told: number;
  tenths: number[];
  examples: (Example | null)[];
  offsets: number[];
  weights: number[];
  even: number[];
  layers: number[];
  /** [layer][head] */
  scores: number[][];
  entropies: number[][];
  losses: { whole: number; without: number; worse: number } | null;
}

/** Where a head looks: the share of its weight at each offset, and what even attention would put there. */
export function sharesByOffset({ offsets, weights, even }: Pick<Card, "offsets" | "weights" | "even">) {
  const found = new Map<number, { offset: number; share: number; even: number }>();
  offsets.forEach((each, at) => {
    const offset = Math.max(-FARTHEST, Math.min(FARTHEST, each));
    const bar = found.get(offset) ?? { offset, share: 0, even: 0 };
    bar.share += weights[at] ?? 0;
    bar.even += even[at] ?? 0;
    found.set(offset, bar);
  });
  return [...found.values()].sort((a, b) => a.offset - b.offset);
}

/** How an offset is named: those at the ends stand for all that is farther. */
export const offsetText = (offset: number) =>
  offset === -FARTHEST
    ? `≤ −${FARTHEST}`
    : offset === FARTHEST
      ? `≥ ${FARTHEST}`
      : `${offset}`.replace("-", "−");

/** What the head does, as the headline. */
export function headline({ layer, head, label, pattern, held, n_told }: Card): string {
  const name = `head ${layer}·${head}`;
  if (!n_told) return `No place in these texts can show a pattern of ${name}`;
  const places = `in ${percent(held)} of ${n_told} places`;
  if (label?.name === pattern) return `“${pattern}” holds for ${name} ${places}`;
  return label
    ? `The label of ${name} is “${label.name}”; “${pattern}” holds ${places}`
    : `No label holds for ${name}; “${pattern}” comes nearest, ${places}`;
}

/** What happens without it. */
export function lossInWords({ losses, n_texts }: Card): string {
  if (!losses) return "Its loss was not measured: this model does not generate text.";
  const { whole, without, worse } = losses;
  const ends = `from ${formatNumber(whole, 3)} to ${formatNumber(without, 3)} nats per token`;
  const verb = without >= whole ? "rises" : "falls";
  return `Without it the loss ${verb} ${ends}; it rises in ${worse} of ${n_texts} texts.`;
}

/** The tenth of an index: "90–100%". */
export const tenthText = (tenth: number) => `${10 * tenth}–${10 * tenth + 10}%`;

/** All heads with their numbers, in the order of layers. */
export function headsOf({ layers, scores, entropies }: Card) {
  const width = scores[0]?.length ?? 0;
  return scores.flatMap((row, i) =>
    row.map((score, j) => {
      return { at: i * width + j, layer: layers[i] ?? i, head: j, score, entropy: entropies[i]?.[j] ?? 0 };
    }),
  );
}

/**
 * Which keys of an example have room: the query and what it looks at most, and their neighbours as far as they fit.
 *
 * @param widths of the keys, with the space beside each
 * @param room the width that all may take
 * @returns their indices, rising
 */
export function keysWithin(
  { weights, own }: Pick<Example, "weights" | "own">,
  widths: number[],
  room: number,
) {
  const top = weights.indexOf(Math.max(...weights));
  const centres = new Set(own === null ? [top] : [own, top]);
  const distance = (at: number) => Math.min(...[...centres].map((centre) => Math.abs(at - centre)));
  const order = widths.map((_, at) => at).sort((a, b) => distance(a) - distance(b) || a - b);
  let taken = 0;
  const kept = order.filter((at, rank) => {
    taken += widths[at] ?? 0;
    return rank < centres.size || taken <= room;
  });
  return kept.sort((a, b) => a - b);
}
