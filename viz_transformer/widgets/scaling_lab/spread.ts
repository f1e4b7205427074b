// How scores spread, and what a softmax makes of them.

import { percent, shortNumber } from "../base/text.ts";

/** Mean of the squared distance from the mean. */
export function variance(values: ArrayLike<number>): number {
  const all = Array.from(values);
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  return all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / all.length;
}

/** How many values lie in each of `bins` equal parts of -limit to limit; those beyond it are not counted. */
export function histogram(values: ArrayLike<number>, divisor: number, limit: number, bins: number): number[] {
  const counts: number[] = new Array(bins).fill(0);
  for (const value of Array.from(values)) {
    const place = ((value / divisor + limit) / (2 * limit)) * bins;
    // The last part holds its upper end too, as numpy's.
    if (place >= 0 && place <= bins) counts[Math.min(bins - 1, Math.floor(place))]! += 1;
  }
  return counts;
}

/**
 * The weights [query, key] that a softmax makes of each row of scores, and the largest of each row on average.
 *
 * @param scores [query, key], row after row
 */
export function rowWeights(scores: Float32Array, keys: number, divisor: number) {
  const weights: number[] = []; // [query, key]
  let sum = 0;
  for (let start = 0; start < scores.length; start += keys) {
    const row = Array.from(scores.subarray(start, start + keys), (score) => score / divisor);
    const most = Math.max(...row);
    const parts = row.map((score) => Math.exp(score - most));
    const total = parts.reduce((all, part) => all + part, 0);
    weights.push(...parts.map((part) => part / total));
    sum += 1 / total; // the weight of the largest, whose exponential is 1
  }
  return { weights, largest: sum / (scores.length / keys) };
}

export const headlineOf = (width: number, largest: number): string =>
  `d_k = ${width}: a query’s largest weight is ${percent(largest)}, on average`;

/** What divides the scores, as it is written: nothing, √d_k, d_k, or another power of it. */
const divisorOf = (power: number): string =>
  power === 0.5 ? "√d_k" : power === 1 ? "d_k" : `d_k^${Number(power.toFixed(2))}`;

/** What divides the scores, in words, with its value. */
export const divisorText = (width: number, power: number): string =>
  power === 0 ? "not divided" : `divided by ${divisorOf(power)} = ${shortNumber(width ** power, 3)}`;

/** A division of the variance, with its numbers: variances are divided by the square of what divides the scores. */
export function equationOf(width: number, power: number, variance: number): string {
  const before = shortNumber(variance, 3);
  if (power === 0) return `variance of q·k = ${before}`;
  const [by, after] = [shortNumber(width ** power, 3), shortNumber(variance / width ** (2 * power), 3)];
  return `variance of q·k / ${divisorOf(power)} = ${before} / ${by}² = ${after}`;
}

/** Lines of Python. */
export const codeOf = (power: number): string[] => [
  `scores = q @ k.T${power === 0 ? "" : power === 0.5 ? " / d_k**0.5" : ` / d_k**${Number(power.toFixed(2))}`}`,
  "scores.var()",
  "scores.softmax(-1).amax(-1).mean()",
];

/** A power of two below 1 as a fraction: 1/16. */
export const fraction = (value: number): string => (value < 1 ? `1/${Math.round(1 / value)}` : String(value));
