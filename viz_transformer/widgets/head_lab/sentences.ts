// What the head lab says: what is shown, never why.

import {
  formatNumber,
  formatSigned,
  joinPieces,
  markMeaning,
  named,
  percent,
  type Piece,
  quoted,
  runningText,
  shortened,
} from "../base/text.ts";
import {
  type Column,
  type Factor,
  type Head,
  headName,
  isMoved,
  runsOf,
  shortFactor,
  shortName,
} from "./changes.ts";
import { type Effect, lossOf, rankCorrelation } from "./effects.ts";
import type { Kind } from "./replies.ts";

const METRIC_LETTERS = 18; // of a word that is measured
const MOST_WORDS = 6; // that went and came, in the headline; more are counted
const NEGLIGIBLE = 0.001; // nats per token
const SHARPEST = 4; // heads whose effects are added

/** A weight of the chosen head. */
export type Look = { query: number; key: number; weight: number };

/** The most of the pinned word's weights; else of any word's, between two words that differ if there are such. */
export function lookOf(weights: Float32Array, { kind, queries, keys }: Kind, pinned: number | null): Look {
  const all = Array.from(weights, (weight, i) => {
    return { weight, query: Math.floor(i / keys.length), key: i % keys.length };
  });
  const isWord = (token = "") => markMeaning(token) === undefined;
  const most = queries.map((_, query) =>
    Math.max(...weights.subarray(query * keys.length, (query + 1) * keys.length)),
  );
  const isPlain = ({ query, key, weight }: Look) =>
    weight === most[query] &&
    isWord(queries[query]) &&
    isWord(keys[key]) &&
    (kind === "cross" || query !== key);
  const row = pinned === null ? all : all.filter(({ query }) => query === pinned);
  const plain = pinned === null ? row.filter(isPlain) : [];
  return (plain.length ? plain : row).reduce((best, each) => (each.weight > best.weight ? each : best));
}

/** "Writing maestra, cross head 1·1 looks at teacher: 96%" */
export function lookInWords(head: Head, { queries, keys }: Kind, { query, key, weight }: Look): Piece[] {
  const doing = head.kind === "encoder" ? "Reading " : "Writing ";
  const how = `, ${shortName(head)} looks ${weight < 0.5 ? "most " : ""}at `;
  return [doing, named("query", queries[query]), how, named("key", keys[key]), `: ${percent(weight)}`];
}

/** "without encoder head 1·1" */
export function changeInWords([first, ...more]: readonly Factor[]): string {
  if (!first) return "with every head as it was trained";
  const isOff = [first, ...more].every(({ factor }) => factor === 0);
  const count = more.length + 1;
  if (count > 1) return isOff ? `without ${count} heads` : `with ${count} heads changed`;
  return isOff
    ? `without ${shortName(first)}`
    : `with ${shortFactor(first.factor)} times ${shortName(first)}`;
}

/** "Without encoder head 1·1, el profesor turns into la maestra" */
export function flipInWords(factors: readonly Factor[], columns: readonly Column[]): Piece[] {
  const change = changeInWords(factors).replace(/^w/, "W");
  const runs = runsOf(columns);
  if (!runs.length) return [`${change}, every word stays`];
  if (runs.flat(2).length > MOST_WORDS)
    return [`${change}, ${columns.filter(isMoved).length} of ${columns.length} words differ`];
  const told = runs.map(([went, came]): Piece[] => {
    const was: Piece = { role: "was", word: runningText(went) };
    const now: Piece = { role: "you", word: runningText(came) };
    return !came.length ? [was, " goes"] : went.length ? [was, " turns into ", now] : [now, " comes in"];
  });
  return [`${change}, `, ...told.flatMap((pieces, i) => (i ? [" and ", ...pieces] : pieces))];
}

/** What the chosen head alone is worth, and its place among all heads; a count of 0 while some are unknown. */
export function effectInWords(effect: Effect | undefined, count: number, what = "the loss"): string {
  if (!effect) return "";
  const by = formatNumber(Math.abs(effect.lossChange), 3);
  const signed = effect.lossChange > 0 ? `raises ${what} by ${by}` : `lowers ${what} by ${by}`;
  const place = effect.rank === 1 ? `the most of ${count} heads` : `rank ${effect.rank} of ${count} heads`;
  const effected = count ? `${signed}: ${place}` : signed;
  return `Switched off alone, it ${Number(by) ? effected : `leaves ${what} as it is`}.`;
}

/** How far the changes moved the words' log-probabilities. */
export function lossInWords(
  before: readonly number[],
  after: readonly number[],
  output: readonly string[],
): string {
  const changes = after.map((value, i) => Math.abs(value - before[i]!));
  const most = changes.indexOf(Math.max(...changes));
  if (changes[most]! < 0.0005) return "No word's loss changes by 0.001.";
  const moved = (was: number, now: number) => `${formatNumber(was, 3)} → ${formatNumber(now, 3)}`;
  const word = `${quoted(output[most]!)} ${moved(-before[most]!, -after[most]!)}`;
  return `Loss ${moved(lossOf(before), lossOf(after))}; most: ${word}.`;
}

/** How far the changes moved one head's weights, flat [query, key]. */
export function movedInWords(
  before: ArrayLike<number>,
  after: ArrayLike<number>,
  { queries, keys }: Kind,
): string {
  const changes = Array.from(after, (weight, i) => Math.abs(weight - before[i]!));
  const most = changes.reduce((best, change, i) => (change > changes[best]! ? i : best), 0);
  if (changes[most]! < 0.005) return "It attends as before: no weight changes by 0.01 or more.";
  const [query, key] = [queries[Math.floor(most / keys.length)]!, keys[most % keys.length]!];
  const moved = `${before[most]!.toFixed(2)} → ${after[most]!.toFixed(2)}`;
  return `Its weights change most from ${quoted(query)} to ${quoted(key)}: ${moved}.`;
}

/** The line of Python that gives the same changes; without any, the ranking. */
export function codeOf(factors: readonly Factor[]): string {
  const changes = factors.map(
    ({ kind, layer, head, factor }) => `vt.HeadChange("${kind}", ${layer}, ${head}, factor=${factor})`,
  );
  return factors.length ? `vt.Interventions(heads=[${changes.join(", ")}])` : "view.effects()";
}

/** A head of the ranking. */
export function pointInWords(effect: Effect, count: number, what = "loss"): string {
  const { confidence, confidenceRank, rank } = effect;
  const sharp = confidence === null ? "" : `, sharpness ${confidence.toFixed(2)}, rank ${confidenceRank}`;
  return `${headName(effect)}: ${what} ${formatSigned(effect.lossChange, 3)}, rank ${rank} of ${count}${sharp}`;
}

/** How well the heads' attention predicted their effects. */
export function effectsInWords(effects: readonly Effect[], what = "the loss"): string {
  const known = effects.filter(({ confidence }) => confidence !== null);
  const sharp = known.filter(({ confidenceRank }) => confidenceRank <= SHARPEST);
  const idle = effects.filter(({ lossChange }) => Math.abs(lossChange) < NEGLIGIBLE).length;
  const correlation = rankCorrelation(
    known.map(({ confidence }) => confidence!),
    known.map(({ lossChange }) => Math.abs(lossChange)),
  );
  const sum = formatNumber(
    sharp.reduce((all, { lossChange }) => all + lossChange, 0),
    3,
  );
  return [
    ...(sharp.length ? [`The ${sharp.length} sharpest, each off alone, add ${sum} in all.`] : []),
    ...(idle ? [`${idle} of ${effects.length} heads change ${what} by less than ${NEGLIGIBLE}.`] : []),
    ...(correlation === null
      ? []
      : [`Rank correlation of sharpness and effect: ${formatNumber(correlation, 2)}.`]),
  ].join(" ");
}

/** What is measured in place of the loss: "Mary − John". */
export const metricName = (metric: readonly string[]): string =>
  metric.map((token) => shortened(joinPieces([token], true), METRIC_LETTERS)).join(" − ");

/** The metric after another word was pressed: that word, minus a second one, or without it. */
export function pressedMetric(metric: readonly string[], word: string): string[] {
  if (metric.includes(word)) return metric.filter((each) => each !== word);
  return metric.length === 1 ? [...metric, word] : [word];
}

/** "Mary − John: 6.12 → 3.26." */
export const valueInWords = (metric: readonly string[], before?: number, after?: number): string =>
  before === undefined || after === undefined
    ? ""
    : `${metricName(metric)}: ${formatNumber(before, 2)} → ${formatNumber(after, 2)}. `;
