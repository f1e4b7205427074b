// A trace that is here whole, its tokens and weights, measured: all that the explorer shows of it. Of a
// trace that is too large to be here Python tells the same, and a test holds the two equal.

import { decodeWeights } from "../base/bytes.ts";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import { labelHeads } from "./head_labels.ts";
import {
  entropyShares,
  type KindWeights,
  mean,
  reachableKeys,
  ROW_TOLERANCE,
  sumsOfRows,
  twoDecimals,
} from "./measures.ts";
import { outputRolloutOf, rolloutOf } from "./rollout.ts";
import { queryWords, specialTokens } from "./token_marks.ts";
import type { Entry } from "./weight_store.ts";

/** What is said of weights that are not normalised; trace_view.py says the same. */
const NOT_NORMALISED = "These weights are not normalised: a row need not sum to 1.";

/** A ForwardTrace, from Python or from the page's own model. */
export interface RawTrace {
  sourceTokens: string[];
  targetTokens: string[];
  outputTokens: string[] | null;
  sourceWords: (number | null)[] | null;
  targetWords: (number | null)[] | null;
  /** Float32, by kind. */
  attention: Record<string, { shape: number[]; weights: DataView }>;
  /** Whether its weights are no shares of a whole. */
  unnormalised?: boolean;
}

/** A trace with its weights at hand. */
interface Measured {
  trace: RawTrace;
  kinds: Record<string, KindWeights>;
  sums: Record<string, { least: number; most: number; nOff: number; nRows: number }>;
}

/**
 * The entries of a trace, or of the first minus the second, a kind each.
 *
 * @param told what the traces do not tell, by kind
 * @param told.numbers the model's own
 * @param told.matched how the layers of two models meet
 * @param told.lackingPart why a part of a model has no rollout
 */
export function measureTraces(
  traces: RawTrace[],
  {
    numbers = {},
    matched = {},
    lackingPart = {},
  }: {
    numbers?: Record<string, { layers: number[]; heads: number[] }>;
    matched?: Record<string, Entry["matched"]>;
    lackingPart?: Record<string, string>;
  } = {},
): Omit<Entry, "attendsBy">[] {
  const measured = traces.map(withWeights);
  return Object.keys(ATTENTION_KINDS)
    .filter((kind) => kind in measured[0].kinds)
    .map((kind) => ({
      ...entryOfWhole(measured, kind, lackingPart),
      numbers: numbers[kind] ?? null,
      matched: matched[kind] ?? null,
    }));
}

function withWeights(trace: RawTrace): Measured {
  const kinds = Object.fromEntries(
    Object.entries(trace.attention).map(([kind, { shape, weights }]) => {
      const [layers, heads, rows, cols] = shape;
      return [kind, { kind, layers, heads, rows, cols, weights: decodeWeights(weights, "float32") }];
    }),
  );
  const sums = Object.fromEntries(Object.entries(kinds).map(([kind, each]) => [kind, rowsOff(each)]));
  return { trace, kinds, sums };
}

/** The rows of a kind that sum neither to 1 nor to 0: their least and largest sum, and how many. */
function rowsOff(attention: KindWeights) {
  const sums = sumsOfRows(attention);
  // A query that may attend to nothing is no error.
  const off = sums.filter((sum) => sum !== 0 && Math.abs(sum - 1) > ROW_TOLERANCE);
  const [least, most] = off.reduce(([a, b], sum) => [Math.min(a, sum), Math.max(b, sum)], [Infinity, 0]);
  return { least: off.length ? least : 1, most: off.length ? most : 1, nOff: off.length, nRows: sums.length };
}

function entryOfWhole(
  measured: Measured[],
  kind: string,
  lackingPart: Record<string, string>,
): Omit<Entry, "numbers" | "matched" | "attendsBy"> {
  const [{ trace, kinds, sums }] = measured;
  const { layers, heads, rows, cols } = kinds[kind];
  const { query, key } = ATTENTION_KINDS[kind];
  const isDifference = measured.length > 1;
  const unnormalised = !isDifference && Boolean(trace.unnormalised);
  const signed = isDifference || unnormalised;
  const noRollout = reasonAgainstRollout(measured[0], kind, lackingPart);
  const whole = subtracted(measured.map((each) => each.kinds[kind].weights));
  const limit = signed ? differenceLimit(whole) : null;
  const isShares = !signed && sums[kind].most <= 1 + ROW_TOLERANCE;
  return {
    kind,
    layers,
    heads,
    rows,
    cols,
    signed,
    unnormalised,
    least: isDifference || (signed && whole.some((weight) => weight < 0)) ? -limit! : 0,
    noRollout,
    dtype: "float32",
    rolledDtype: "float32",
    carried: null,
    note: unnormalised ? NOT_NORMALISED : isDifference ? "" : noteOf(sums[kind]),
    queries: bothNamed(measured, (each) => queryTokens(each, query)),
    keys: bothNamed(measured, (each) => tokensOf(each, key)),
    reads: readsOf(measured, query),
    words: {
      queries: queryWords(trace, query),
      keys: wordsOf(trace, key),
    },
    special: {
      queries: specialTokens(queryTokens(trace, query)),
      keys: specialTokens(tokensOf(trace, key)),
    },
    whole,
    limit,
    masked: maskedCells(measured.map((each) => each.kinds[kind])),
    rollouts: noRollout ? null : () => subtracted(measured.map((each) => rolloutsOf(each.kinds, kind))),
    overview: null,
    labels: isShares ? labelHeads(kinds[kind], tokensOf(trace, key), wordsOf(trace, key)) : null,
    entropies: isShares ? headEntropies(kinds[kind]) : null,
  };
}

function tokensOf({ sourceTokens, targetTokens }: RawTrace, side: "source" | "target") {
  return side === "source" ? sourceTokens : targetTokens;
}

function wordsOf({ sourceWords, targetWords }: RawTrace, side: "source" | "target") {
  return side === "source" ? sourceWords : targetWords;
}

/** The names of the queries: for a decoder, the words being written. */
function queryTokens(trace: RawTrace, side: "source" | "target") {
  return side === "target" && trace.outputTokens ? trace.outputTokens : tokensOf(trace, side);
}

/** What each query read before it wrote its token, where that is known. */
function readsOf(measured: Measured[], side: "source" | "target") {
  if (side === "source" || measured.some(({ trace }) => !trace.outputTokens)) return null;
  return bothNamed(measured, ({ targetTokens }) => targetTokens);
}

/** The tokens; of two traces both, where they differ. */
function bothNamed(measured: Measured[], tokensIn: (trace: RawTrace) => string[]) {
  const [tokens, others = tokens] = measured.map(({ trace }) => tokensIn(trace));
  return tokens.map((token, i) => (token === others[i] ? token : `${token}|${others[i]}`));
}

/** The first minus the second, where there is one. */
function subtracted(all: Float32Array[]) {
  const [values, others] = all;
  return others ? values.map((value, i) => value - others[i]) : values;
}

/**
 * The end of a scale for some differences: their largest size, rounded up to two digits; 0.01 where nothing
 * differs. analysis/combine.py does the same.
 */
export function differenceLimit(differences: Float32Array) {
  const farthest = differences.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (!farthest) return 0.01;
  const step = 10 ** (Math.floor(Math.log10(farthest)) - 1);
  return Number((Math.ceil(farthest / step - 1e-6) * step).toPrecision(2));
}

/** 1 for each cell that no head of any layer gives any weight, 0 for the others; null if there is none. */
function maskedCells(attentions: KindWeights[]) {
  const cells = new Uint8Array(attentions[0].rows * attentions[0].cols).fill(1);
  for (const { weights } of attentions) {
    for (let i = 0; i < weights.length; i++) if (weights[i] !== 0) cells[i % cells.length] = 0;
  }
  return cells.includes(1) ? cells : null;
}

function headEntropies(attention: KindWeights) {
  const { layers, heads, rows, cols, weights } = attention;
  const reachable = reachableKeys(attention);
  return Float32Array.from({ length: layers * heads }, (_, head) => {
    const shares = entropyShares(weights.subarray(head * rows * cols, (head + 1) * rows * cols), reachable);
    return mean(shares.filter((share) => !Number.isNaN(share)));
  });
}

/** What is unusual about the rows of a kind, in a sentence, or an empty text. */
function noteOf({ least, most, nOff, nRows }: { least: number; most: number; nOff: number; nRows: number }) {
  if (!nOff) return "";
  const sums = [...new Set([twoDecimals(least), twoDecimals(most)])].join(" to ");
  return `${nOff} of ${nRows} rows do not sum to 1 but to ${sums}, so their weights are not shares of a whole.`;
}

/** Why there is no rollout of a kind, or an empty text. */
function reasonAgainstRollout(
  { trace, kinds, sums }: Measured,
  kind: string,
  lackingPart: Record<string, string>,
) {
  if (trace.unnormalised)
    return "rollout needs rows that sum to 1, and the weights of this trace are not normalised";
  const used = kind === "cross" ? Object.keys(ATTENTION_KINDS) : [kind];
  const lacking = used.filter((each) => !(each in kinds));
  if (lacking.length)
    return (
      "rollout to the output needs encoder, decoder and cross attention, and this trace " +
      `lacks ${lacking.join(" and ")}`
    );
  if (used.some((each) => sums[each].most > 1 + ROW_TOLERANCE))
    return "rollout needs rows that sum to 1, and rows of this trace sum to more";
  if (kind === "cross" && kinds.decoder.layers !== kinds.cross.layers)
    return (
      "rollout to the output needs the decoder and cross attention of every layer, and " +
      `this trace has ${kinds.decoder.layers} and ${kinds.cross.layers} layers`
    );
  return used.map((each) => lackingPart[each]).find(Boolean) ?? "";
}

/** The rollout after each layer, [layer, query, key]. */
function rolloutsOf(kinds: Record<string, KindWeights>, kind: string) {
  const layers =
    kind === "cross"
      ? outputRolloutOf(kinds as Parameters<typeof outputRolloutOf>[0])
      : rolloutOf(kinds[kind]);
  const cells = layers[0].length;
  const rolled = new Float32Array(layers.length * cells);
  layers.forEach((layer, i) => {
    rolled.set(layer, i * cells);
  });
  return rolled;
}
