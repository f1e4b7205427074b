// Recorded runs: their numbers, their heads at a moment, and both in words. No DOM.

import { halfTable, numbersOf } from "../base/bytes.ts";
import { TASKS } from "../base/kinds.ts";
import { nearestValue } from "../base/scales.ts";
import { differences, formatNumber, markMeaning, shortNumber, visible } from "../base/text.ts";

/** A run, with its bytes as numbers. */
export interface Run {
  name: string;
  /** "translate", "continue" or "fill" */
  task: string;
  sources: string[];
  references: string[];
  /** The step of each moment. */
  moments: number[];
  /** [moment][sentence] */
  translations: string[][];
  /** [moment, sentence] */
  momentLosses: Float32Array;
  /** [moment], on sentences that the training does not show; empty where none was measured. */
  validation: Float32Array;
  /** [record] */
  steps: Float64Array;
  /** [record] */
  losses: Float32Array;
}

/** One kind of attention of one sentence. */
export interface Heads {
  kind: string;
  queries: string[];
  keys: string[];
  layers: number;
  heads: number;
  rows: number;
  cols: number;
  /** [query, key]; null where every weight may be above 0 */
  masked: Uint8Array | null;
  /** float16 bit patterns [moment, layer, head, query, key] */
  halves: Uint16Array;
  /** [moment, layer, head] */
  entropies: Float32Array;
}

type Bytes<Sent, Names extends keyof Sent> = Omit<Sent, Names> & Record<Names, DataView>;
export type SentRun = Bytes<Run, "momentLosses" | "validation" | "steps" | "losses">;
export interface SentHeads extends Pick<Heads, "kind" | "queries" | "keys"> {
  shape: [number, number, number, number];
  masked: DataView;
  entropies: DataView;
  weights: DataView;
}

/** A place in a head's table. */
export interface Cell {
  query: number;
  key: number;
}

export const readRun = (sent: SentRun): Run => ({
  ...sent,
  momentLosses: numbersOf(sent.momentLosses, Float32Array),
  validation: numbersOf(sent.validation, Float32Array),
  steps: numbersOf(sent.steps, Float64Array),
  losses: numbersOf(sent.losses, Float32Array),
});

export function readHeads({ kind, queries, keys, ...sent }: SentHeads): Heads {
  const [layers, heads, rows, cols] = sent.shape;
  const masked = numbersOf(sent.masked, Uint8Array);
  return {
    ...{ kind, queries, keys, layers, heads, rows, cols },
    masked: masked.includes(1) ? masked : null,
    halves: numbersOf(sent.weights, Uint16Array),
    entropies: numbersOf(sent.entropies, Float32Array),
  };
}

/** One head's weights at a moment, [query, key]. */
export function headAtMoment(
  { halves, layers, heads, rows, cols }: Heads,
  moment: number,
  layer: number,
  head: number,
): Float32Array {
  const table = halfTable();
  const start = ((moment * layers + layer) * heads + head) * rows * cols;
  return Float32Array.from(halves.subarray(start, start + rows * cols), (bits) => table[bits]);
}

/**
 * The cell that is followed before one is chosen: that of two words whose weight grows most over the training; where
 * none of them grows, of any two tokens.
 */
export function restingCell(entry: Heads, layer: number, head: number): Cell {
  const { queries, keys, rows, cols, halves, layers, heads, masked } = entry;
  const last = halves.length / (layers * heads * rows * cols) - 1;
  const before = headAtMoment(entry, 0, layer, head);
  const after = headAtMoment(entry, last, layer, head);
  let best = { rank: Number.NEGATIVE_INFINITY, at: 0 };
  after.forEach((weight, at) => {
    if (masked?.[at]) return;
    const growth = weight - before[at]!;
    const areWords = ![queries[Math.floor(at / cols)]!, keys[at % cols]!].some(markMeaning);
    const rank = growth + (areWords && growth > 0 ? 1 : 0);
    if (rank > best.rank) best = { rank, at };
  });
  return { query: Math.floor(best.at / cols), key: best.at % cols };
}

/** Whether steps crowd so near their beginning that an even axis would hide most of the moments. */
export function isCrowded(moments: readonly number[]): boolean {
  const last = moments.at(-1)!;
  return moments.length > 3 && last >= 20 && moments[moments.length >> 1]! < last / 4;
}

/** Where steps stand on the axis, 0 to 1, and the step at a place of it. */
export function stepAxis(runs: readonly Pick<Run, "moments" | "steps">[]) {
  const last = Math.max(1, ...runs.flatMap(({ moments, steps }) => [moments.at(-1)!, steps.at(-1) ?? 0]));
  if (!isCrowded(runs[0]!.moments))
    return { last, isLog: false, at: (step: number) => step / last, stepAt: (place: number) => place * last };
  const shift = Math.max(1, last / 100); // of a logarithmic axis that begins at 0
  const whole = Math.log(1 + last / shift);
  return {
    ...{ last, isLog: true },
    at: (step: number) => Math.log(1 + step / shift) / whole,
    stepAt: (place: number) => shift * (Math.exp(place * whole) - 1),
  };
}

const RISES = 1.02; // times the lowest validation loss: what ends above this has turned

/** Where the validation loss is lowest, and whether it rises after that; null where none was measured. */
export function lowestValidation({ validation }: Pick<Run, "validation">) {
  let at = -1;
  validation.forEach((loss, moment) => {
    if (loss < (validation[at] ?? Number.POSITIVE_INFINITY)) at = moment;
  });
  if (at < 0) return null;
  const loss = validation[at]!;
  return { at, loss, rises: validation.at(-1)! > RISES * loss };
}

const LOG_FACTOR = 20; // losses that span more stand on a logarithmic axis
const CUT = 2; // times the lowest validation loss: higher losses would flatten its rise

/**
 * The losses from the least to the most that are shown, and whether on a logarithmic axis. Where a validation loss
 * rises again the axis is even, and is cut so that this can be seen.
 */
export function lossRange(runs: readonly Pick<Run, "losses" | "validation">[]): {
  low: number;
  high: number;
  isLog: boolean;
  isCut: boolean;
} {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { losses, validation } of runs)
    for (const loss of [...losses, ...validation])
      if (Number.isFinite(loss)) [low, high] = [Math.min(low, loss), Math.max(high, loss)];
  const cut = Math.max(
    ...runs.flatMap((run) => {
      const lowest = lowestValidation(run);
      return lowest?.rises ? Math.max(CUT * lowest.loss, ...run.validation.slice(lowest.at)) : [];
    }),
  );
  if (cut > 0 && cut < high) return { low: Math.min(0, low), high: cut, isLog: false, isCut: true };
  if (low > high) return { low: 0, high: 1, isLog: false, isCut: false };
  const isLog = low > 0 && high > LOG_FACTOR * low;
  const even = { low: Math.min(0, low), high: Math.max(high, low + 1e-6) };
  return { ...(isLog ? { low, high } : even), isLog, isCut: false };
}

/** The loss's ticks at 1, 2 and 5 or 1 and 3 times the powers of ten; nothing where powers alone are enough. */
export function logTicks(low: number, high: number): number[] | undefined {
  if (high > 1000 * low) return;
  const times = high > 30 * low ? [1, 3] : [1, 2, 5];
  const first = Math.floor(Math.log10(low));
  const powers = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, i) => first + i);
  return powers
    .flatMap((power) => times.map((one) => Number(`${one}e${power}`))) // 3 · 10⁻¹ is not 0.3 to a computer
    .filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

/** The moments of a film: the first, the last, and of the others each that is apart from those before it. */
export function filmMoments(places: readonly number[], apart: number): number[] {
  const last = places.length - 1;
  const film = [0];
  for (let moment = 1; moment < last; moment++) {
    const place = places[moment]!;
    if (place - places[film.at(-1)!]! >= apart && places[last]! - place >= apart) film.push(moment);
  }
  return last > 0 && places[last]! - places[0]! >= apart ? [...film, last] : film;
}

/** A loss in a few digits. */
export function formatLoss(loss: number): string {
  if (!Number.isFinite(loss)) return "not a number";
  return loss === 0 || loss >= 0.01 ? formatNumber(loss, 2) : shortNumber(loss, 1);
}

/** The losses at a moment, in words. */
export function lossesInWords(
  { moments, steps, losses, momentLosses, validation, sources }: Run,
  moment: number,
  sentence: number,
): string {
  const own = `this sentence’s ${formatLoss(momentLosses[moment * sources.length + sentence]!)} nats per token`;
  if (!losses.length) return own;
  const record = nearestValue(steps, moments[moment]!);
  const where = steps[record] === moments[moment] ? "" : ` (at step ${steps[record]})`;
  const unseen = validation.length ? `, validation loss ${formatLoss(validation[moment]!)}` : "";
  return `training loss ${formatLoss(losses[record]!)}${where}${unseen}, ${own}`;
}

const wordsOf = (text: string) => text.split(/\s+/).filter(Boolean);

/** A written text beside its reference: the words of both, whether it is right, and that in words. */
export function compareWords(text: string, reference: string, task = "translate") {
  const [written, right] = [wordsOf(text), wordsOf(reference)];
  const [extra, missing] = differences(written, right) as [boolean[], boolean[]];
  const count = Math.max(extra.filter(Boolean).length, missing.filter(Boolean).length);
  const marked = (words: string[], flags: boolean[]) =>
    words.map((word, i) => ({ text: word, differs: flags[i]! }));
  const { verdicts, spoken } = TASKS[task]!;
  const [said, other] = verdicts as [string, string];
  const isRight = count === 0;
  const differ = `${count} ${count === 1 ? "word differs" : "words differ"}`;
  return {
    written: marked(written, extra),
    reference: marked(right, missing),
    right: isRight,
    spoken: spoken[isRight ? 0 : 1]!,
    /** Whether it is right, and how much differs; `short` is for what the headline says in full. */
    verdict: isRight ? said : `${other}: ${differ}`,
    short: isRight ? said : `${other.slice(0, 1)} ${differ}`,
  };
}

/** How broadly a head attends at a moment, beside how it began. */
export function entropyInWords(
  { entropies, layers, heads }: Pick<Heads, "entropies" | "layers" | "heads">,
  moments: readonly number[],
  moment: number,
  layer: number,
  head: number,
): string {
  const [first, now] = [0, moment].map((index) => entropies[(index * layers + layer) * heads + head]!);
  if (Number.isNaN(now!)) return "No query of this head has a choice, so it has no entropy.";
  if (moment === 0)
    return `The whole head: entropy ${now!.toFixed(2)} of its maximum; 1 is spread evenly, 0 is all on one word.`;
  return `The whole head: entropy ${first!.toFixed(2)} of its maximum at step ${moments[0]}, ${now!.toFixed(2)} now.`;
}

/** The entropy of a row of weights, as a sum with its numbers. */
export function rowEntropy(weights: readonly number[]): string {
  const share = (weight: number) => (weight > 0 ? -weight * Math.log2(weight) : 0);
  const bits = weights.reduce((sum, weight) => sum + share(weight), 0);
  const most = Math.log2(weights.length);
  const ofMost = most ? `: ${(bits / most).toFixed(2)} of its maximum` : "";
  return `This row: −Σ w log₂ w = ${formatNumber(bits, 2)} bits, of at most log₂ ${weights.length} = ${formatNumber(most, 2)}${ofMost}`;
}

/** Where the validation loss is lowest and how it ends; empty where none was measured. */
export function validationInWords(run: Pick<Run, "moments" | "validation">): string {
  const lowest = lowestValidation(run);
  if (!lowest) return "";
  const { moments, validation } = run;
  const end = `${formatLoss(validation.at(-1)!)} at the end`;
  return `validation loss is lowest at step ${moments[lowest.at]}: ${formatLoss(lowest.loss)}; ${end}`;
}

/** The losses of all runs in words, for those who cannot see the curves. */
export function curvesInWords(runs: readonly Run[], moments: readonly number[]): string {
  const told = runs.map((run, index) => {
    const { name: given, losses, steps, moments: own } = run;
    const name = visible(given);
    if (!losses.length) return `${name}: no loss was recorded.`;
    const step = own[moments[index]!]!;
    const training = `Loss of ${name}: from ${formatLoss(losses[0]!)} to ${formatLoss(losses.at(-1)!)} nats per token; ${formatLoss(losses[nearestValue(steps, step)]!)} at step ${step}.`;
    const validation = validationInWords(run);
    return validation ? `${training} Its ${validation}.` : training;
  });
  return told.join(" ");
}
