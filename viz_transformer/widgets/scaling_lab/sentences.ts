// What the scaling lab says: the headline, the line below it, the equation and the Python that gives the same.

import { percent, shortNumber } from "../base/text.ts";

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
