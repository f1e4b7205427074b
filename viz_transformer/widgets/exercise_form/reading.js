// What was typed or clicked, as a value to check.

import { compute } from "./arithmetic.js";

/** @import { Asked, Value } from "./checking.js" */

const notNumber = (text) => `“${text.trim()}” is no number; write one such as 0.25 or 1/4.`;
export const MOST_LETTERS = 1000; // of a typed number; the sum in it nests no deeper than the browser can follow
const isText = (each) => typeof each === "string" && each.length <= MOST_LETTERS;

/**
 * Whether a kept answer is one to this exercise: a lesson may have changed since.
 *
 * @param {Asked} asked
 * @param {any} answer
 */
export function isAnswer({ kind, options, n_fields, value, checks }, answer) {
  if (kind === "view") return Array.isArray(answer) && checks.some(([chosen]) => isSame(chosen, answer));
  if (kind === "number") return isText(answer);
  if (kind === "choice") return options.includes(answer);
  if (!Array.isArray(answer) || answer.length !== n_fields) return false;
  return isTruthTable(value) ? answer.every((each) => typeof each === "boolean") : answer.every(isText);
}

function isSame(one, other) {
  return one.length === other.length && one.every((each, at) => each === other[at]);
}

/** Whether a table holds True and False. */
export function isTruthTable({ data }) {
  return typeof data[0] === "boolean";
}

/**
 * The value of an answer, or why it has none.
 *
 * @param {Asked} asked
 * @param {any} answer
 * @returns {{ found?: Value, problem?: string }}
 */
export function readAnswer({ kind, value }, answer) {
  if (kind === "choice" || kind === "view") return { found: answer };
  if (kind === "number") {
    if (!answer.trim()) return { problem: "Write a number first." };
    const found = compute(answer);
    return found === null ? { problem: notNumber(answer) } : { found };
  }
  if (isTruthTable(value)) return { found: { shape: value.shape, data: answer } };
  const texts = kind === "row" ? withoutEmptyEnd(answer) : answer;
  if (!texts.some((text) => text.trim())) return { problem: "Write the numbers first." };
  const data = texts.map(compute);
  const at = data.indexOf(null);
  if (at >= 0) return { problem: texts[at].trim() ? notNumber(texts[at]) : "A field is still empty." };
  return { found: { shape: kind === "row" ? [data.length] : value.shape, data } };
}

/** A row may be shorter than there are fields. */
function withoutEmptyEnd(texts) {
  return texts.slice(0, texts.findLastIndex((text) => text.trim()) + 1);
}
