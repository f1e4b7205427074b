// What is said of a guess, and how right it is.

import { shortNumber } from "../base/text.ts";

/**
 * A verdict: what was said and what is true, in pieces of which some are marked; a table for a row.
 *
 * @typedef {object} Verdict
 * @property {number} score from 0 to 1
 * @property {(string | { strong: string, whose?: "mine" | "true" })[]} told
 * @property {{ heads: string[], rows: [string, number[]][] }} [table]
 */

/** @returns {{ strong: string, whose: "mine" }} */
const mine = (text) => ({ strong: text, whose: "mine" });
/** @returns {{ strong: string, whose: "true" }} */
const right = (text) => ({ strong: text, whose: "true" });
const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

/**
 * @param {number} guess
 * @param {number} truth
 * @param {string} unit
 * @returns {Verdict}
 */
export function ofNumber(guess, truth, unit) {
  const measured = (value, digits) => `${shortNumber(value, digits)}${unitAfter(unit, value)}`;
  const told = ["You said ", mine(measured(guess, 10)), "; it is ", right(measured(truth)), "."];
  if (Math.abs(guess - truth) <= Math.max(0.05 * Math.max(Math.abs(guess), Math.abs(truth)), 1e-9))
    return { score: 1, told: [...told, " Spot on."] };
  if (guess * truth <= 0) return { score: 0, told };
  const factor = Math.max(guess / truth, truth / guess);
  return {
    score: Math.max(0, 1 - Math.log10(factor)), // a factor of ten is no longer near
    told: [...told, ` Off by a factor of ${shortNumber(factor, 2)}.`],
  };
}

/** A unit as it is written after a value: 1 cell, 2 cells, 40%. */
function unitAfter(unit, value) {
  if (!unit || unit === "%") return unit;
  return ` ${value === 1 ? unit.replace(/^([a-z]{2,})s\b/, "$1") : unit}`;
}

/** @returns {Verdict} */
export function ofChoice(guess, truth) {
  if (guess === truth) return { score: 1, told: ["You said ", right(guess), ", and that is right."] };
  return { score: 0, told: ["You said ", mine(guess), ". The answer is ", right(truth), "."] };
}

/**
 * @param {number[]} guess the drawn row, which sums to 1
 * @param {number[]} truth the measured one
 * @param {string[]} keys
 * @returns {Verdict}
 */
export function ofRow(guess, truth, keys) {
  const overlap = sum(guess.map((weight, key) => Math.min(weight, truth[key]))); // 1 − half their L1 distance
  const most = truth.indexOf(Math.max(...truth));
  return {
    score: overlap,
    told: [
      `Your row has ${Math.round(100 * overlap)}% of its weight where it belongs. Most goes to `,
      right(keys[most]),
      `: ${truth[most].toFixed(2)}; you gave it ${guess[most].toFixed(2)}.`,
    ],
    table: {
      heads: keys,
      rows: [
        ["yours", guess],
        ["measured", truth],
      ],
    },
  };
}

/**
 * @param {number} guess the place of the chosen key
 * @param {number[]} truth the weights of all keys
 * @param {string[]} keys
 * @returns {Verdict}
 */
export function ofKey(guess, truth, keys) {
  const most = truth.indexOf(Math.max(...truth));
  const rank =
    1 +
    truth.filter((weight, key) => weight > truth[guess] || (weight === truth[guess] && key < guess)).length;
  const told = [
    "You chose ",
    rank === 1 ? right(keys[guess]) : mine(keys[guess]),
    `: weight ${truth[guess].toFixed(2)}, rank ${rank} of ${keys.length}.`,
  ];
  return {
    score: truth[guess] / truth[most],
    told:
      rank === 1
        ? [...told, " No word gets more from this head."]
        : [...told, " This head attends most to ", right(keys[most]), `: ${truth[most].toFixed(2)}.`],
  };
}

/**
 * The verdict on a guess of any kind.
 *
 * @param {{ kind: string, guess: any, truth: any, options: string[], unit: string }} asked
 * @returns {Verdict}
 */
export function verdictOf({ kind, guess, truth, options, unit }) {
  if (kind === "number") return ofNumber(guess, truth, unit);
  if (kind === "choice") return ofChoice(guess, truth);
  return kind === "row" ? ofRow(guess, truth, options) : ofKey(guess, truth, options);
}

/**
 * What was typed or drawn as a guess, or why it is none.
 *
 * @param {string} kind
 * @param {any} given
 * @returns {{ guess?: any, problem?: string }}
 */
export function readGuess(kind, given) {
  if (kind === "number") {
    const text = given.trim().replace("−", "-");
    const number = text ? Number(text) : NaN;
    if (Number.isFinite(number)) return { guess: number };
    return { problem: `a prediction is a number, not '${given}'; give one such as 3.5` };
  }
  if (kind !== "row") return { guess: given };
  const total = sum(given);
  if (!total) return { problem: "give at least one of them some weight" };
  return { guess: given.map((weight) => weight / total) };
}

/**
 * Whether a kept guess is one at this question: a lesson may have changed since.
 *
 * @param {{ kind: string, options: string[] }} asked
 * @param {any} guess
 */
export function isGuess({ kind, options }, guess) {
  if (kind === "number") return Number.isFinite(guess);
  if (kind === "choice") return options.includes(guess);
  if (kind === "key") return Number.isInteger(guess) && options[guess] !== undefined;
  const isWeight = (each) => each >= 0 && each <= 1 && typeof each === "number";
  const isRow = Array.isArray(guess) && guess.length === options.length && guess.every(isWeight);
  return isRow && Math.abs(sum(guess) - 1) < 1e-6;
}
