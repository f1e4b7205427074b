// The effect of each head on the loss, beside how sharp its attention is; analysis/effects.py computes the same.

import { numbersOf, weightsIn } from "../base/bytes.ts";
import type { Head } from "./changes.ts";
import type { Alone, Kind } from "./replies.ts";

/**
 * How the loss changes without a head, in nats per token, or what is measured in its place, and its confidence; each
 * with its place from 1.
 */
export interface Effect extends Head {
  lossChange: number;
  rank: number;
  confidence: number | null;
  confidenceRank: number;
  /** Of each word, with this head alone off. */
  logProbs: Float64Array;
}

const NO_WORDS = ["<eos>"]; // many heads look at the end of a text where they have nothing to do

/** The mean of −log p, in nats per token. */
export const lossOf = (logProbs: ArrayLike<number>): number =>
  -Array.from(logProbs).reduce((sum, each) => sum + each, 0) / logProbs.length;

/** The effect of each head that is known by now, the largest first; of a metric that is `value` with all of them. */
export function headEffects(
  logProbs: readonly number[],
  kinds: readonly Kind[],
  each: readonly Alone[],
  value?: number,
): Effect[] {
  const heads = each.flatMap(({ kind, shape, log_probs, values: alone, layer: first = 0 }) => {
    const entry = kinds.find((one) => one.kind === kind)!;
    const confidences = headConfidence(entry, weightsIn(entry));
    const [layers, n, words] = shape as [number, number, number];
    const values = numbersOf(log_probs, Float64Array); // [layer, head, word]
    const measured = alone && numbersOf(alone, Float64Array); // [layer, head]
    return Array.from({ length: layers * n }, (_, i) => {
      const own = values.subarray(i * words, (i + 1) * words);
      const confidence = confidences[first * n + i] ?? null;
      const lossChange =
        measured && value !== undefined ? measured[i]! - value : lossOf(own) - lossOf(logProbs);
      return { kind, layer: first + Math.floor(i / n), head: i % n, lossChange, confidence, logProbs: own };
    });
  });
  const ranks = placesOf(heads.map((head) => Math.abs(head.lossChange)));
  const confidenceRanks = placesOf(heads.map((head) => head.confidence ?? Number.NEGATIVE_INFINITY));
  return heads
    .map((head, i) => ({ ...head, rank: ranks[i]!, confidenceRank: confidenceRanks[i]! }))
    .sort((a, b) => a.rank - b.rank);
}

/** Each number's place, the largest first, from 1. */
function placesOf(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((i, j) => values[j]! - values[i]! || i - j);
  return values.map((_, i) => order.indexOf(i) + 1);
}

/** The mean of a head's largest weights, a row each, [layer · head]; null where no query has a choice. */
export function headConfidence(
  { kind, reads, keys, shape }: Pick<Kind, "kind" | "reads" | "keys" | "shape">,
  weights: Float32Array,
): (number | null)[] {
  const [layers, heads, n, m] = shape as [number, number, number, number];
  const isAhead = (i: number) => i % m > Math.floor(i / m) % n;
  const isCausal = kind === "decoder" && !weights.some((weight, i) => weight !== 0 && isAhead(i));
  const isWord = (token: string) => !NO_WORDS.includes(token);
  return Array.from({ length: layers * heads }, (_, head) => {
    const largest = reads.flatMap((read, query) => {
      const row = weights.subarray((head * n + query) * m, (head * n + query + 1) * m); // [key]
      const hasChoice = (isCausal ? query + 1 : m) > 1 && row.some((weight) => weight !== 0);
      return hasChoice && isWord(read) ? [Math.max(0, ...row.filter((_, key) => isWord(keys[key]!)))] : [];
    });
    return largest.length ? largest.reduce((sum, each) => sum + each, 0) / largest.length : null;
  });
}

/** Spearman's rank correlation of two lists of numbers, or null if one of them gives no order. */
export function rankCorrelation(a: readonly number[], b: readonly number[]): number | null {
  // Equal numbers share the mean of their ranks.
  const rank = (value: number, values: readonly number[]) =>
    values.reduce((sum, each) => sum + (each < value ? 1 : each === value ? 0.5 : 0), -a.length / 2);
  const [x, y] = [a, b].map((values) => values.map((value) => rank(value, values))) as [number[], number[]];
  const product = (first: number[], second: number[]) =>
    first.reduce((sum, value, i) => sum + value * second[i]!, 0);
  const spread = Math.sqrt(product(x, x) * product(y, y));
  return spread > 0 ? product(x, y) / spread : null;
}
