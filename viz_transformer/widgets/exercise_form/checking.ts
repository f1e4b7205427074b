// What an answer is, whether it is right, and what is said of it: what exercises/answer_types.py says in Python.

import { shortNumber } from "../base/text.ts";
import { compute, MOST_LETTERS } from "./arithmetic.ts";
import { checkGaps, checkLines, type Gap, type Line } from "./code.ts";

export interface Table {
  shape: number[];
  data: (number | boolean)[];
}

/**
 * What stands in the fields: a text, many of them, truth values, places of lines, numbers of replacements (0 for a line
 * as it is), or what another view shows.
 */
export type Answer = string | (string | boolean | number)[];

/** An exercise as plain data; see exercises/forms.py. */
export interface Asked {
  name: string;
  title: string;
  hints: string[];
  kind: "number" | "row" | "table" | "choice" | "view" | "lines" | "gaps" | "repair";
  value: unknown;
  right: string;
  mistakes: [unknown, string][];
  tolerance: number;
  unit: string;
  options: string[];
  n_fields: number;
  traits: string[];
  checks: [(string | number)[], boolean, string][];
  /** Of code: its first line, and the lines to put in order; see exercises/code_lines.py. */
  head: string;
  lines: Line[];
  order: [one: number, other: number, message: string][];
  blocks: [places: number[], message: string][];
  code: string;
  gaps: Gap[];
  /** Of code with faults: its lines that may be changed, and what may be in their place. */
  changes: [line: number, replacements: string[]][];
}

export interface Check {
  /** Undefined where there is nothing to check. */
  passed?: boolean;
  message: string;
  /** Which field is the matter. */
  at?: number;
}

const NEARLY = 20; // tolerances: the right values, rounded before the last step
const ROUNDED_NUMBER = "Nearly right, but rounded too early: keep more digits, and round only at the end.";
const ROUNDED = "Every value is nearly right: keep more digits on the way, and round only at the end.";
const notNumber = (text: string) => `“${text.trim()}” is no number; write one such as 12, 0.25 or 1/4.`;
const UNCHANGED = "No line is changed yet: choose one, and what should be in its place.";
const isText = (each: unknown) => typeof each === "string" && each.length <= MOST_LETTERS;
const isBoolean = (each: unknown) => typeof each === "boolean";
const isSame = (some: readonly unknown[], others: readonly unknown[]) =>
  some.length === others.length && some.every((each, at) => each === others[at]);

/** Whether cells are switched between True and False in place of numbers that are typed. */
export const isSwitched = ({ kind, value }: Asked) => kind === "table" && isBoolean((value as Table).data[0]);

/** Fields with nothing in them. */
export function blank(asked: Asked): Answer {
  if (asked.kind === "lines") return asked.lines.map((_, place) => place);
  if (asked.kind === "gaps") return asked.gaps.map(() => "");
  if (asked.kind === "repair") return asked.changes.map(() => 0);
  if (asked.kind !== "row" && asked.kind !== "table") return "";
  return Array(asked.n_fields).fill(isSwitched(asked) ? false : "");
}

/** Whether a kept answer is one to this exercise: a lesson may have changed since. */
export function isAnswer(asked: Asked, answer: unknown): answer is Answer {
  const { kind, options, n_fields, checks, lines, gaps } = asked;
  if (kind === "number") return isText(answer);
  if (kind === "choice") return options.includes(answer as string);
  if (!Array.isArray(answer)) return false;
  if (kind === "view" || kind === "repair") return checks.some(([chosen]) => isSame(chosen, answer));
  if (kind === "lines")
    return new Set(answer).size === answer.length && answer.every((each) => each in lines);
  if (kind === "gaps")
    return answer.length === gaps.length && gaps.every(({ options }, at) => options.includes(answer[at]));
  return answer.length === n_fields && answer.every(isSwitched(asked) ? isBoolean : isText);
}

/** The indices of a value that stands `at` that place of the flat data. */
export function placeOf(at: number, shape: readonly number[]): number[] {
  const within = (axis: number) => shape.slice(axis + 1).reduce((product, each) => product * each, 1);
  return shape.map((size, axis) => Math.floor(at / within(axis)) % size);
}

/** Check an answer, if there is one. */
export function check(asked: Asked, answer: Answer): Check {
  const { kind, checks, value, right, mistakes } = asked;
  if (kind === "repair" && !(answer as number[]).some(Boolean)) return { message: UNCHANGED };
  if (kind === "view" || kind === "repair") {
    const [, passed, message] = checks.find(([chosen]) => isSame(chosen, answer as unknown[]))!;
    return { passed, message };
  }
  if (kind === "lines") return checkLines(asked, answer as number[]);
  if (kind === "gaps") return checkGaps(asked, answer as string[]);
  const { found, ...problem } = read(asked, answer);
  if (found === undefined) return problem;
  const isIt = (wanted: unknown) => isNear(found, wanted as Found, asked.tolerance);
  if (isIt(value)) return { passed: true, message: right };
  const mistake = mistakes.find(([wrong]) => isIt(wrong));
  if (mistake) return { passed: false, message: mistake[1] };
  if (typeof found === "number") return { passed: false, message: aboutNumber(found, value as number) };
  return { passed: false, ...aboutTable(found as Table, value as Table, asked.tolerance) };
}

type Found = number | string | Table;

/** The value of what was typed, or why it has none. */
function read({ kind, value }: Asked, answer: Answer): Check & { found?: Found } {
  if (kind === "choice") return { message: "", found: answer as string };
  const texts = [answer].flat();
  // A row may be shorter than there are fields.
  if (kind === "row") texts.length = texts.findLastIndex((text) => String(text).trim()) + 1;
  if (!texts.some((text) => String(text).trim()))
    return { message: kind === "number" ? "Write a number first." : "Write the numbers first.", at: 0 };
  const data = texts.map((text) => (typeof text === "string" ? compute(text) : text));
  const at = data.indexOf(null);
  const text = String(texts[at]);
  if (at >= 0) return { message: text.trim() ? notNumber(text) : "A field is still empty.", at };
  if (kind === "number") return { message: "", found: data[0] as number };
  const shape = kind === "row" ? [data.length] : (value as Table).shape;
  return { message: "", found: { shape, data: data as Table["data"] } };
}

/** A number as Python's math.isclose: relative, and absolute where the number compared with is 0. */
function isNear(found: Found, wanted: Found, tolerance: number): boolean {
  if (typeof found === "object" && typeof wanted === "object")
    return (
      isSame(found.shape, wanted.shape) &&
      found.data.every((each, at) => isNearCell(each, wanted.data[at]!, tolerance))
    );
  if (found === wanted || typeof found !== "number" || typeof wanted !== "number") return found === wanted;
  const allowed = tolerance * (wanted === 0 ? Math.max(1, Math.abs(found)) : larger(found, wanted));
  return Number.isFinite(found) && Math.abs(found - wanted) <= allowed;
}

const larger = (one: number, other: number) => Math.max(Math.abs(one), Math.abs(other));
const isNearCell = (found: number | boolean, wanted: number | boolean, tolerance: number) =>
  found === wanted || Math.abs(Number(found) - Number(wanted)) <= tolerance;

/** What is wrong with a number that is no likely mistake. */
function aboutNumber(found: number, wanted: number): string {
  if (Number.isNaN(found)) return "Your number is NaN, which means “not a number”.";
  if (isRounded(found, wanted)) return ROUNDED_NUMBER;
  return `${shortNumber(found)} is too ${found > wanted ? "large" : "small"}.`;
}

/** Whether a number is another one, rounded to at most three decimals; comparison.py has the same. */
function isRounded(found: number, wanted: number): boolean {
  for (const decimals of [0, 1, 2, 3]) {
    const scaled = found * 10 ** decimals;
    if (!(Math.abs(found - wanted) <= 0.5000001 / 10 ** decimals)) return false;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6) return decimals > 0 || Math.abs(found) >= 10;
  }
  return false;
}

/** What is wrong with an array that is no likely mistake. */
function aboutTable({ shape, data }: Table, wanted: Table, tolerance: number): Check {
  if (!isSame(shape, wanted.shape))
    return { message: `It has the shape (${shape},); it should be (${wanted.shape},).` };
  if (data.some(Number.isNaN)) return { message: "There is NaN in it, which means “not a number”." };
  const isWrong = (times: number) =>
    data.map((each, at) => !isNearCell(each, wanted.data[at]!, times * tolerance));
  if (typeof wanted.data[0] !== "boolean" && !isWrong(NEARLY).includes(true)) return { message: ROUNDED };
  const wrong = isWrong(1);
  const at = wrong.indexOf(true);
  const first = data[at]!;
  const told = typeof first === "number" ? shortNumber(first) : first ? "True" : "False";
  const nRight = wrong.filter((each) => !each).length;
  const place = placeOf(at, shape).join(", ");
  const message = `${nRight} of ${data.length} values are right; the first wrong one is ${told}, at [${place}].`;
  return { message, at };
}
