// What the head lab says on its stage: what is shown, never why.

import { percent } from "../base/percent.ts";
import { named, type Piece } from "../base/pieces.ts";
import { formatNumber, formatSigned, markMeaning, quoted, runningText } from "../base/js/text.js";
import { type Factor, type Head, headName, shortFactor, shortName } from "./changes.ts";
import { type Effect, lossOf } from "./effects.ts";
import { type Column, isMoved, runsOf } from "./flip.ts";
import type { Kind } from "./replies.ts";

const MOST_RUNS = 2; // of changed words in the headline; more are counted
const MOST_WORDS = 6; // in one of them

/** A weight of the chosen head. */
export interface Look {
  query: number;
  key: number;
  weight: number;
}

/** The strongest weight of the pinned word; else of all, between two words that differ if there are such. */
export function lookOf(weights: Float32Array, { kind, queries, keys }: Kind, pinned: number | null): Look {
  const all = Array.from(weights, (weight, i) => {
    return { weight, query: Math.floor(i / keys.length), key: i % keys.length };
  });
  const isWord = (token: string) => markMeaning(token) === undefined;
  const isPlain = ({ query, key }: Look) =>
    isWord(queries[query]!) && isWord(keys[key]!) && (kind === "cross" || query !== key);
  const row = pinned === null ? all : all.filter(({ query }) => query === pinned);
  const plain = pinned === null ? row.filter(isPlain) : [];
  return (plain.length ? plain : row).reduce((most, each) => (each.weight > most.weight ? each : most));
}

/** What the chosen head looks at: "Writing maestra, encoder head 1·1 looks at teacher: 96%". */
export function lookInWords(head: Head, { queries, keys }: Kind, { query, key, weight }: Look): Piece[] {
  const doing = head.kind === "encoder" ? "Reading " : "Writing ";
  const how = weight < 0.5 ? " looks most at " : " looks at ";
  const [looks, looked] = [named("query", queries[query]), named("key", keys[key])];
  return [doing, looks, `, ${shortName(head)}${how}`, looked, `: ${percent(weight)}`];
}

/** "Without encoder head 1·1" */
function changeInWords(factors: readonly Factor[]): string {
  const [first, ...more] = factors;
  const isOff = factors.every(({ factor }) => factor === 0);
  if (first && !more.length)
    return isOff ? `Without ${shortName(first)}` : `${shortFactor(first.factor)} times ${shortName(first)}`;
  return isOff ? `Without ${factors.length} heads` : `With ${factors.length} heads changed`;
}

/** What the changes do to the words: "Without encoder head 1·1, el profesor turns into la maestra". */
export function flipInWords(factors: readonly Factor[], columns: readonly Column[]): Piece[] {
  const runs = runsOf(columns);
  const change = changeInWords(factors);
  if (!runs.length) return [`${change}, every word stays`];
  const isLong = runs.some((run) => run.some((words) => words.length > MOST_WORDS));
  if (runs.length > MOST_RUNS || isLong) {
    const [words, all] = [columns.filter(isMoved).length, columns.length];
    return [`${change}, ${words} of ${all} words differ`];
  }
  const told = runs.map(([went, came]): Piece[] => {
    const [was, now] = [piece("was", went), piece("you", came)];
    return !came.length ? [was, " goes"] : went.length ? [was, " turns into ", now] : [now, " comes in"];
  });
  return [`${change}, `, ...told.flatMap((pieces, i) => (i ? [" and ", ...pieces] : pieces))];
}

const piece = (role: "was" | "you", words: readonly string[]): Piece => ({ role, word: runningText(words) });

/** What the chosen head alone is worth: its place among all that are known by now. */
export function effectInWords(effect: Effect | undefined, effects: readonly Effect[]): string {
  if (!effect) return "";
  const { lossChange, rank } = effect;
  const by = formatNumber(Math.abs(lossChange), 3);
  const what =
    Number(by) === 0
      ? "leaves the loss as it is"
      : lossChange > 0
        ? `adds ${by} to the loss`
        : `takes ${by} off the loss`;
  const place =
    rank === 1 ? `the most of ${effects.length} heads` : `rank ${rank} of ${effects.length} heads`;
  return `Switched off alone, it ${what}: ${place}.`;
}

/** How far the changes moved the words' log-probabilities. */
export function lossInWords(
  before: readonly number[],
  after: readonly number[],
  output: readonly string[],
): string {
  const [was, now] = [before, after].map((logProbs) => formatNumber(lossOf(logProbs), 3));
  const changes = after.map((value, i) => Math.abs(value - before[i]!));
  const most = changes.indexOf(Math.max(...changes));
  const word = `${quoted(output[most]!)} ${formatNumber(-before[most]!, 3)} → ${formatNumber(-after[most]!, 3)}`;
  return changes[most]! < 0.0005
    ? "No word's loss changes by 0.001."
    : `Loss ${was} → ${now}; most: ${word}.`;
}

/** How far the changes moved one head's weights, flat [query, key]. */
export function movedInWords(before: ArrayLike<number>, after: ArrayLike<number>, entry: Kind): string {
  const changes = Array.from(after, (weight, i) => Math.abs(weight - before[i]!));
  const most = changes.reduce((best, change, i) => (change > changes[best]! ? i : best), 0);
  if (changes[most]! < 0.005) return "It attends as before: no weight changes by 0.01 or more.";
  const cols = entry.keys.length;
  const [query, key] = [quoted(entry.queries[Math.floor(most / cols)]!), quoted(entry.keys[most % cols]!)];
  return `Its weights change most from ${query} to ${key}: ${before[most]!.toFixed(2)} → ${after[most]!.toFixed(2)}.`;
}

/** The line of Python that gives the same changes; without any, the ranking. */
export function codeOf(factors: readonly Factor[]): string {
  if (!factors.length) return "lab.effects()";
  const changes = factors.map(
    ({ kind, layer, head, factor }) => `vt.HeadChange("${kind}", ${layer}, ${head}, factor=${factor})`,
  );
  return `vt.Interventions(heads=[${changes.join(", ")}])`;
}

/** A point of the scatter, for ears and on hover. */
export function pointInWords(effect: Effect, count: number): string {
  const { confidence, confidenceRank, rank } = effect;
  const sharp = confidence === null ? "" : `, sharpness ${confidence.toFixed(2)}, rank ${confidenceRank}`;
  return `${headName(effect)}: loss ${formatSigned(effect.lossChange, 3)}, rank ${rank} of ${count}${sharp}`;
}
