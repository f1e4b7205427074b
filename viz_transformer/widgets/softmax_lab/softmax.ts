// Softmax, step by step: from a row of scores to its weights and their slopes.

import { formatNumber, shortened } from "../base/text.ts";

export interface SoftmaxSteps {
  /** The scores times their factor, [key]. */
  row: number[];
  /** e to the power of each minus the largest, [key]. */
  parts: number[];
  sum: number;
  weights: number[];
  /** w (1 - w): how much each weight moves with its own score, [key]. */
  slopes: number[];
}

/** What a softmax makes of scores [key], all multiplied by `times` first, in double precision. */
export function softmaxSteps(scores: readonly number[], times: number): SoftmaxSteps {
  const row = scores.map((score) => score * times);
  const largest = Math.max(...row);
  const parts = row.map((score) => Math.exp(score - largest)); // none above 1, so none overflows
  const sum = parts.reduce((total, part) => total + part, 0);
  const weights = parts.map((part) => part / sum);
  return { row, parts, sum, weights, slopes: weights.map((weight) => weight * (1 - weight)) };
}

const LETTERS = 24; // of a key's name in a sentence

/** A number with three decimals. */
export const three = (value: number) => formatNumber(value, 3);

/** A key as sentences name it. */
export const named = (label: string) => shortened(label, LETTERS);
