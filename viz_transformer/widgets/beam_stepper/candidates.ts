// The candidates of a search: their texts, which follows which, and what was looked at to write them.

import { weightsIn } from "../base/bytes.ts";
import type { Traits as Declared } from "./traits.ts";
import { indices } from "../base/scales.ts";

/** A continuation that was considered. A log-probability or a score of null stands for −∞. */
export interface Candidate {
  /** The place in the beam that it continues. */
  parent: number;
  token: string;
  /** Of the text so far, in nats. */
  log_prob: number | null;
  score: number | null;
  token_log_prob: number | null;
  status: "kept" | "finished" | "pruned" | "forbidden";
  reason: string;
  /** In sampling, the probability that it could be drawn with. */
  share?: number | null;
  /** Which candidate took its place. */
  beaten_by?: number | null;
}

export interface Hypothesis {
  tokens: string[];
  log_prob: number | null;
  score: number | null;
  path: number[];
}

/** The traits of a search by each method. */
export const SETTINGS = {
  beam: ["beam_width", "length_penalty"],
  sample: ["temperature", "top_k", "top_p", "seed"],
} as const;

type Settings = Pick<Declared, (typeof SETTINGS)["beam" | "sample"][number] | "checkpoint">;

/** What was asked for, the names as Python has them. */
export interface SearchRequest extends Partial<Settings> {
  text: string;
  method: "beam" | "sample";
}

/** The attention of all steps, one after another; `shapes` has each step's [hypotheses, keys]. */
export interface Attention {
  kind: "cross" | "decoder";
  layers: number;
  heads: number;
  shapes: number[][];
  dtype: string;
  weights: DataView;
}

/** What is answered. */
export interface Reply {
  source: string[];
  prompt: string[];
  end: string;
  hypotheses: Hypothesis[];
  greedy: Hypothesis | null;
  steps: Candidate[][];
  attention: Attention | null;
}

/** A search with its request, and with the tokens of each candidate of each step. */
export interface SearchResult extends Reply {
  request: SearchRequest;
  /** Whether the text was drawn. */
  sampled: boolean;
  texts: string[][][];
}

export interface Traits extends Declared {
  data: [SearchRequest, Reply][];
}

/** A candidate of a step. */
export interface Position {
  step: number;
  index: number;
}

/** The search that the traits say; only what matters to its method, so that equal requests are equal. */
export const searchRequest = (traits: Traits): SearchRequest => ({
  text: traits.sentence,
  method: traits.method,
  ...Object.fromEntries(SETTINGS[traits.method].map((name) => [name, traits[name] ?? null])),
  ...(traits.checkpoints?.length ? { checkpoint: traits.checkpoint } : {}),
});

export function searchResult(request: SearchRequest, reply: Reply): SearchResult {
  const sampled = (reply.steps[0]?.[0]?.share ?? null) !== null;
  return { ...reply, request, sampled, texts: candidateTexts(reply.steps) };
}

/** The tokens of every candidate of every step, its own last. */
export function candidateTexts(steps: readonly Candidate[][]): string[][][] {
  let kept: string[][] = [[]];
  return steps.map((step) => {
    const texts = step.map(({ parent, token }) => [...(kept[parent] ?? []), token]);
    kept = keptIndices(step).map((index) => texts[index]);
    return texts;
  });
}

/** The indices of the candidates of a step that go on, in the order of the beam. */
export const keptIndices = (step: readonly Pick<Candidate, "status">[]): number[] =>
  step.flatMap(({ status }, index) => (status === "kept" ? [index] : []));

const probability = (logProb: number | null) => (logProb === null ? 0 : Math.exp(logProb));

/** The probability of a candidate's text so far. */
export const chanceOf = ({ log_prob }: Candidate): number => probability(log_prob);

/** The probability of its token alone, after what it continues. */
export const tokenChance = ({ token_log_prob }: Candidate): number => probability(token_log_prob);

const LITTLE = 0.05; // of probability is too little to be seen as a height

export type Found = Pick<SearchResult, "steps" | "sampled" | "hypotheses">;

/** Whether heights are shares of their step: all that was found is too improbable to have a height. */
export const isRelative = ({ hypotheses, sampled }: Found): boolean =>
  !sampled && hypotheses.every(({ log_prob }) => probability(log_prob) < LITTLE);

/** The height of each candidate of each step: the probability of its text, or in sampling that it is drawn. */
export function heightsOf(result: Found): number[][] {
  const relative = isRelative(result);
  return result.steps.map((step) => {
    const heights = step.map((candidate) => candidate.share ?? chanceOf(candidate));
    const whole = relative ? heights.reduce((sum, height) => sum + height, 0) || 1 : 1;
    return heights.map((height) => height / whole);
  });
}

/** Which candidate of the step before it one continues, or null in the first step. */
export const parentOf = (steps: readonly Candidate[][], step: number, index: number): number | null =>
  step ? (keptIndices(steps[step - 1])[steps[step][index].parent] ?? null) : null;

/** The candidates that lead to one, by step, itself last. */
export function pathTo(steps: readonly Candidate[][], { step, index }: Position): number[] {
  const before = parentOf(steps, step, index);
  return before === null ? [index] : [...pathTo(steps, { step: step - 1, index: before }), index];
}

/** Whether a step is the last, which tells what was found. */
export const isEnd = ({ steps }: Pick<SearchResult, "steps">, step: number) => step >= steps.length - 1;

/** The candidate that leads at a step: the most probable that goes on. */
export const leaderOf = ({ steps }: Pick<SearchResult, "steps">, step: number): number =>
  keptIndices(steps[step])[0] ?? 0;

/** The candidate that is shown: the chosen, else the one that leads, and at the end the last of what was found. */
export function shownCandidate(
  result: Pick<SearchResult, "steps" | "hypotheses">,
  step: number,
  chosen: number | null,
): Position {
  if (chosen !== null && chosen < result.steps[step].length) return { step, index: chosen };
  const path = isEnd(result, step) ? (result.hypotheses[0]?.path ?? []) : [];
  return path.length
    ? { step: path.length - 1, index: path[path.length - 1] }
    : { step, index: leaderOf(result, step) };
}

/** For each step, which candidates are beginnings of a text. */
export const prefixesOf = (texts: readonly string[][][], tokens: string[], end: string): Set<number>[] =>
  texts.map((step, at) => {
    const begun = JSON.stringify([...tokens, end].slice(0, at + 1));
    return new Set(step.flatMap((text, index) => (JSON.stringify(text) === begun ? [index] : [])));
  });

/** Where an arrow key leads from a candidate, or null for another key; `order` is that from top to bottom. */
export function moveInTree(
  steps: readonly Candidate[][],
  { step, index }: Position,
  key: string,
  order: readonly number[],
): Position | null {
  const beside = (by: number) =>
    order[Math.min(order.length - 1, Math.max(0, order.indexOf(index) + by))] ?? index;
  if (key === "ArrowUp") return { step, index: beside(-1) };
  if (key === "ArrowDown") return { step, index: beside(1) };
  if (key === "ArrowLeft") {
    const parent = parentOf(steps, step, index);
    return parent === null ? { step, index } : { step: step - 1, index: parent };
  }
  if (key !== "ArrowRight") return null;
  if (step + 1 >= steps.length) return { step, index };
  const place = keptIndices(steps[step]).indexOf(index);
  const child = steps[step + 1].findIndex(({ parent }) => parent === place);
  return { step: step + 1, index: Math.max(0, child) }; // from an end, on to the best that goes on
}

/** What was looked at to write a candidate: a weight for each key, or null. A `head` of null is the mean. */
export function attentionOf(
  { attention, steps }: Pick<SearchResult, "attention" | "steps">,
  { step, index }: Position,
  layer: number,
  head: number | null,
): number[] | null {
  if (!attention) return null;
  const { layers, heads, shapes } = attention;
  const [, keys = 0] = shapes[step] ?? [];
  const before = shapes.slice(0, step).reduce((sum, [many, each]) => sum + many * each, 0);
  const first = (before + steps[step][index].parent * keys) * layers * heads + layer * heads * keys;
  const weights: Float32Array = weightsIn(attention);
  const of = (each: number, key: number) => weights[first + each * keys + key] ?? 0;
  const wanted = head === null ? indices(heads) : [head];
  return Array.from(
    { length: keys },
    (_, key) => wanted.reduce((sum, each) => sum + of(each, key), 0) / wanted.length,
  );
}

/** The tokens that were looked at: the source, or what a decoder alone had before it. */
export const attentionKeys = (
  { attention, source, prompt }: Pick<SearchResult, "attention" | "source" | "prompt">,
  text: readonly string[],
): string[] => (attention?.kind === "cross" ? source : [...prompt, ...text.slice(0, -1)]);
