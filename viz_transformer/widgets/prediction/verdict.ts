// What is said of a guess, and how right it is.

import { percent, shortNumber } from "../base/text.ts";

/** What was asked, with the right answer once there is a guess. */
export interface Asked {
  kind: "number" | "choice" | "row" | "key" | "sentence";
  options: string[];
  unit: string;
  guess: unknown;
  truth: unknown;
}

/** What was written, and how it compares with the model answer; null until the learner has judged. */
export interface Explained {
  sentence: string;
  holds: string | null;
}

/** How an explanation may compare with the model answer; `live.py` has the same scores. */
export const HOLDS: Record<string, { score: number; told: string }> = {
  yes: { score: 1, told: "says the same" },
  partly: { score: 0.5, told: "leaves something out" },
  no: { score: 0, told: "says something else" },
};
/** Of characters, as in `live.py`. */
export const LONGEST_SENTENCE = 2000;

interface Verdict {
  /** From 0 to 1. */
  score: number;
  told: string;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** The key that gets most. */
export const largest = (weights: readonly number[]) => weights.indexOf(Math.max(...weights));

/** A number with its unit, as it is written after it: 1 cell, 2 cells, 40%. */
export function measured(value: number, unit: string, digits = 4): string {
  const number = shortNumber(value, digits);
  if (!unit || unit === "%") return number + unit;
  return `${number} ${value === 1 ? unit.replace(/^([a-z]{2,})s\b/, "$1") : unit}`;
}

function ofNumber(guess: number, truth: number, unit: string): Verdict {
  const told = `You said ${measured(guess, unit, 10)}; it is ${measured(truth, unit)}.`;
  const near = 0.05 * Math.max(Math.abs(guess), Math.abs(truth));
  if (Math.abs(guess - truth) <= Math.max(near, 1e-9)) return { score: 1, told };
  if (guess * truth <= 0) return { score: 0, told };
  const factor = Math.max(guess / truth, truth / guess);
  // A factor of ten is no longer near.
  const score = Math.max(0, 1 - Math.log10(factor));
  return { score, told: `${told} Off by a factor of ${shortNumber(factor, 2)}.` };
}

/** Of a drawn row, which sums to 1: the score is 1 less half their L1 distance. */
function ofRow(guess: number[], truth: number[], keys: string[]): Verdict {
  const score = sum(guess.map((weight, key) => Math.min(weight, truth[key]!)));
  const most = largest(truth);
  const [is, was] = [percent(truth[most]!), percent(guess[most]!)];
  const told = `Your row has ${percent(score)} of its weight where it belongs. Most goes to “${keys[most]}”: ${is}; you gave it ${was}.`;
  return { score, told };
}

/** Of the place of a key, by the weights of all. */
function ofKey(guess: number, truth: number[], keys: string[]): Verdict {
  const [own, most] = [truth[guess]!, largest(truth)];
  const before = truth.filter((weight, key) => weight > own || (weight === own && key < guess));
  const told = `You chose “${keys[guess]}”: ${percent(own)}, rank ${before.length + 1} of ${keys.length}.`;
  const rest = before.length
    ? `This head attends most to “${keys[most]}”: ${percent(truth[most]!)}.`
    : "No word gets more from this head.";
  return { score: own / truth[most]!, told: `${told} ${rest}` };
}

export function verdictOf({ kind, guess, truth, options, unit }: Asked): Verdict {
  if (kind === "number") return ofNumber(guess as number, truth as number, unit);
  if (kind === "row") return ofRow(guess as number[], truth as number[], options);
  if (kind === "key") return ofKey(guess as number, truth as number[], options);
  if (kind === "sentence") {
    const { score, told } = HOLDS[(guess as Explained).holds!]!;
    return { score, told: `By your own judgement your answer ${told}.` };
  }
  if (guess === truth) return { score: 1, told: `You said ${guess}.` };
  return { score: 0, told: `You said ${guess}. The answer is ${truth}.` };
}

/** A score in a word; what lies in the middle is neither right nor wrong. */
export function wordOf(score: number): string {
  if (score >= 0.9) return score > 0.99 ? "✓ Right." : "✓ Very near.";
  return score < 0.5 ? "✗ Not so." : "Near.";
}

/** What was typed, drawn or clicked as a guess, or why it is none. */
export function readGuess(kind: string, given: unknown): { guess?: unknown; problem?: string } {
  if (kind === "number") {
    const text = String(given).trim().replace("−", "-");
    const number = text ? Number(text) : Number.NaN;
    if (Number.isFinite(number)) return { guess: number };
    return { problem: `a prediction is a number, not '${given}'; give one such as 3.5` };
  }
  if (kind === "sentence") {
    const sentence = String(given).trim();
    return sentence
      ? { guess: { sentence, holds: null } }
      : { problem: "write a sentence first, then compare" };
  }
  if (kind !== "row") return { guess: given };
  const [row, total] = [given as number[], sum(given as number[])];
  if (!total) return { problem: "give at least one of them some weight" };
  return { guess: row.map((weight) => weight / total) };
}

/** Whether a kept guess is one at this question: a lesson may have changed since. */
export function isGuess({ kind, options }: Pick<Asked, "kind" | "options">, guess: unknown): boolean {
  if (kind === "number") return Number.isFinite(guess);
  if (kind === "choice") return options.includes(guess as string);
  if (kind === "key") return Number.isInteger(guess) && options[guess as number] !== undefined;
  if (kind === "sentence") return isExplained(guess);
  const isWeight = (each: unknown) => typeof each === "number" && each >= 0 && each <= 1;
  const isRow = Array.isArray(guess) && guess.length === options.length && guess.every(isWeight);
  return isRow && Math.abs(sum(guess) - 1) < 1e-6;
}

function isExplained(guess: unknown): boolean {
  if (guess === null || typeof guess !== "object") return false;
  const { sentence, holds } = guess as Partial<Explained>;
  if (typeof sentence !== "string" || !sentence.trim() || sentence.length > LONGEST_SENTENCE) return false;
  return holds === null || (typeof holds === "string" && Object.hasOwn(HOLDS, holds));
}
