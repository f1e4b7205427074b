// The effect of each head on the loss, beside how sharp its attention is; analysis/effects.py computes and says
// the same in Python.

import { formatNumber, formatSigned } from "../base/js/text.js";
import { decodeDoubles, weightsIn } from "../base/js/weights.js";
import { type Head, headName } from "./changes.ts";
import type { Alone, Kind } from "./replies.ts";

/** How the loss changes without a head, in nats per token, and its confidence; each with its place from 1. */
export interface Effect extends Head {
  lossChange: number;
  rank: number;
  confidence: number | null;
  confidenceRank: number;
  /** Of each word, with this head alone off. */
  logProbs: Float64Array;
}

const NEGLIGIBLE = 0.001; // a smaller change of the loss is told as "less than" it
const NO_WORDS = ["<eos>"]; // many heads look at the end of a text where they have nothing to do

/** The mean of −log p, in nats per token. */
export const lossOf = (logProbs: ArrayLike<number>): number =>
  -Array.from(logProbs).reduce((sum, each) => sum + each, 0) / logProbs.length;

/** The effect of each head that is known by now, the largest first. */
export function headEffects(
  logProbs: readonly number[],
  kinds: readonly Kind[],
  each: readonly Alone[],
): Effect[] {
  const heads = each.flatMap(({ kind, shape, log_probs, layer: first = 0 }) => {
    const entry = kinds.find((one) => one.kind === kind)!;
    const confidences = headConfidence(entry, weightsIn(entry));
    const [layers, n, words] = shape;
    const values = decodeDoubles(log_probs); // [layer, head, word]
    return Array.from({ length: layers * n }, (_, i) => {
      const own = values.subarray(i * words, (i + 1) * words);
      const confidence = confidences[first * n + i] ?? null;
      const lossChange = lossOf(own) - lossOf(logProbs);
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
  const [layers, heads, n, m] = shape;
  const isAhead = (i: number) => i % m > Math.floor(i / m) % n;
  const isCausal = kind === "decoder" && !weights.some((weight, i) => weight !== 0 && isAhead(i));
  const isWord = (token: string) => !NO_WORDS.includes(token);
  return Array.from({ length: layers * heads }, (_, head) => {
    let [sum, count] = [0, 0];
    for (let query = 0; query < n; query++) {
      const row = weights.subarray((head * n + query) * m, (head * n + query + 1) * m); // [key]
      const hasChoice = (isCausal ? query + 1 : m) > 1;
      if (!hasChoice || !isWord(reads[query]!) || !row.some((weight) => weight !== 0)) continue;
      sum += row.reduce((most, weight, key) => (isWord(keys[key]!) ? Math.max(most, weight) : most), 0);
      count++;
    }
    return count ? sum / count : null;
  });
}

/** Spearman's rank correlation of two lists of numbers, or null if one of them gives no order. */
export function rankCorrelation(a: readonly number[], b: readonly number[]): number | null {
  const middle = (a.length + 1) / 2; // the mean of all ranks
  const [x, y] = [a, b].map((values) => ranksOf(values).map((rank) => rank - middle)) as [number[], number[]];
  const product = (first: number[], second: number[]) =>
    first.reduce((sum, value, i) => sum + value * second[i]!, 0);
  const spread = Math.sqrt(product(x, x) * product(y, y));
  return spread > 0 ? product(x, y) / spread : null;
}

/** Each number's rank from 1; equal ones share the mean of theirs. */
const ranksOf = (values: readonly number[]): number[] =>
  values.map((value) => {
    const smaller = values.filter((each) => each < value).length;
    const equal = values.filter((each) => each === value).length;
    return smaller + (equal + 1) / 2;
  });

/** How well the heads' attention predicted their effects, in a few sentences. */
export function effectsInWords(effects: readonly Effect[]): string {
  const said = mostInWords(effects);
  const idle = effects.filter((effect) => Math.abs(effect.lossChange) < NEGLIGIBLE).length;
  if (idle) {
    const of = `${idle} of the ${effects.length} heads`;
    said.push(`Switched off alone, ${of} change it by less than ${NEGLIGIBLE}.`);
  }
  const known = effects.filter(({ confidence }) => confidence !== null);
  const correlation = rankCorrelation(
    known.map(({ confidence }) => confidence!),
    known.map((effect) => Math.abs(effect.lossChange)),
  );
  if (correlation !== null) {
    const told = formatNumber(correlation, 2);
    said.push(
      `Rank correlation of confidence and effect: ${told} (1 would mean the same order, 0 no relation).`,
    );
  }
  return said.join(" ");
}

/** The head with the sharpest attention, and the one that matters most. */
function mostInWords(effects: readonly Effect[]): string[] {
  const most = effects[0]!;
  const surest = effects.find((effect) => effect.confidenceRank === 1)!;
  const matters = `The head that matters most, ${headName(most)}, ${changeInWords(most)}`;
  if (surest.confidence === null) return [`${matters}.`]; // in so short a text no query has a choice
  const sharpest = `The head with the sharpest attention, ${headName(surest)} (confidence ${surest.confidence.toFixed(2)}),`;
  if (surest === most)
    return [`${sharpest} is also the one that matters most: switched off, it ${changeInWords(most)}.`];
  return [
    `${sharpest} ${changeInWords(surest)} when it is switched off.`,
    `${matters}, and is number ${most.confidenceRank} of ${effects.length} by its confidence.`,
  ];
}

function changeInWords({ lossChange: change }: Effect): string {
  const by = Math.abs(change) < NEGLIGIBLE ? `less than ${NEGLIGIBLE}` : formatSigned(change, 3);
  return `changes the loss by ${by} nats per token`;
}
