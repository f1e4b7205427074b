// What is read off the weights: ranks, sums, the strongest, and the line of Python that gives the same.

import { formatWeight } from "../base/text.ts";
import type { Axis, DisplayedHead } from "./displayed_head.ts";
import type { Cell } from "./selection.ts";
import { traceInPython } from "./shown_part.ts";

const MOST_LISTED = 8; // heads in a line of Python

/** A weight's rank in its row, among those that are not masked; 1 is the largest. */
export function rankOf({ weights, cols, masked }: DisplayedHead, query: number, key: number) {
  const start = query * cols;
  const own = Math.abs(weights![start + key]);
  let [rank, of] = [1, 0];
  for (let col = 0; col < cols; col++) {
    if (masked?.[start + col]) continue;
    of += 1;
    if (Math.abs(weights![start + col]) > own) rank += 1;
  }
  return { rank, of };
}

/** The sum of a row. */
export function rowSum({ weights, cols }: DisplayedHead, query: number): number {
  let sum = 0;
  for (let col = 0; col < cols; col++) sum += weights![query * cols + col];
  return sum;
}

/** The indices of the `most` strongest of `count` weights, strongest first. */
export function strongest(count: number, most: number, weightOf: (index: number) => number): number[] {
  const found: number[] = [];
  for (let index = 0; index < count; index++) {
    const size = Math.abs(weightOf(index));
    const place = found.findIndex((one) => size > Math.abs(weightOf(one)));
    if (place >= 0) found.splice(place, 0, index);
    else if (found.length < most) found.push(index);
    if (found.length > most) found.pop();
  }
  return found;
}

/** The rows and columns that the inspector names of an active cell, row or column, the strongest first. */
export function wordsRead(
  { weights, rows, cols }: Pick<DisplayedHead, "weights" | "rows" | "cols">,
  { query, key }: Cell,
  most = 3,
) {
  if (!weights || (query === null && key === null)) return { queries: [], keys: [] };
  if (query === null)
    return { queries: strongest(rows, most, (row) => weights[row * cols + key!]), keys: [key!] };
  const keys = key === null ? strongest(cols, most, (col) => weights[query * cols + col]) : [key];
  return { queries: [query], keys };
}

/**
 * The query that a picture shows before one is chosen: the one with the strongest weight on a word, neither of
 * them special nor itself; of equals the first. Null where there is none.
 */
export function restingQuery({ weights, entry, cols, queryAxis, keyAxis }: DisplayedHead): number | null {
  if (!weights) return null;
  const isSpecial = (axis: Axis, marks: boolean[] | undefined, at: number) =>
    axis.groups[at].some((token) => marks?.[token]);
  let [best, found]: [number, number | null] = [0, null];
  queryAxis.groups.forEach((_, query) => {
    if (isSpecial(queryAxis, entry.special?.queries, query)) return;
    for (let key = 0; key < cols; key++) {
      const isItself = entry.kind !== "cross" && query === key;
      if (isItself || isSpecial(keyAxis, entry.special?.keys, key)) continue;
      if (weights[query * cols + key] > best) [best, found] = [weights[query * cols + key], query];
    }
  });
  return found;
}

/** The line of Python that gives a weight, a row (`key` null) or a column; "" if it were too long. */
export function placeOf(
  { entry, heads, aggregate, layer, queryAxis, keyAxis }: DisplayedHead,
  query: number | null,
  key: number | null,
): string {
  const name = `${entry.kind}_attention`;
  const [first, second] = entry.matched
    ? ["one", "two"]
    : ["trace", "other"].map((each) => traceInPython(each, entry.attendsBy));
  const base =
    entry.signed && !entry.unnormalised ? `(${first}.${name} - ${second}.${name})` : `${first}.${name}`;
  const group = (axis: Axis, index: number | null) => (index === null ? null : axis.groups[index]);
  const [rows, cols] = [group(queryAxis, query), group(keyAxis, key)];
  const one = (indices: number[] | null) =>
    indices === null ? ":" : indices.length === 1 ? String(indices[0]) : null;
  const simple = one(rows) !== null && one(cols) !== null;
  const list = (numbers: number[]) => `[${numbers.join(", ")}]`;
  let [stack, lead] = [base, ""];
  if (aggregate === "head") lead = heads[0].join(", ");
  else if (aggregate === "rollout") {
    if (entry.signed) return "";
    stack =
      entry.kind === "cross"
        ? `vt.analysis.output_rollout(${first}).source`
        : `vt.analysis.rollout(${first}, "${entry.kind}")`;
    lead = String(layer);
  } else {
    if (heads.length > MOST_LISTED || (entry.signed && aggregate === "max")) return "";
    stack = `${base}[${list(heads.map(([at]) => at))}, ${list(heads.map(([, at]) => at))}].${aggregate}(0)`;
  }
  const at = lead && `${lead}, `;
  if (simple) return `${stack}[${at}${one(rows)}, ${one(cols)}]`;
  if (rows === null || cols === null) return "";
  return `${stack}${lead && `[${lead}]`}[${list(rows)}][:, ${list(cols)}].sum(1).mean()`;
}

/** What is read of an active cell, row or column. */
export interface Readout {
  /** The cells, the strongest first: places along the axes. */
  pairs: { query: number; key: number; weight: number; masked: boolean; rank: number; of: number }[];
  /** The line of Python, with its number where it is one. */
  detail: string;
  sum: string;
}

/** Read an active cell, row or column, at most so many weights of it. */
export function readout(shown: DisplayedHead, { query, key }: Cell, most = 3): Readout {
  const { weights, cols, masked } = shown;
  if (query === null && key === null) return { pairs: [], detail: "", sum: "" };
  const pair = (row: number, col: number) => ({
    query: row,
    key: col,
    weight: weights![row * cols + col],
    masked: Boolean(masked?.[row * cols + col]),
    ...rankOf(shown, row, col),
  });
  const detail = placeOf(shown, query, key);
  const { queries, keys } = wordsRead(shown, { query, key }, most);
  const pairs = queries.flatMap((row) => keys.map((col) => pair(row, col)));
  if (query === null) return { pairs, detail, sum: "" };
  const value = key === null ? null : digitsOf(weights![query * cols + key], shown);
  return {
    pairs,
    detail: value !== null && detail ? `${detail} = ${value}` : detail,
    sum: sumInWords(shown, query),
  };
}

/** A weight with the digits that its precision guarantees. */
export function digitsOf(weight: number, { dtype }: { dtype: string }): number {
  return Number(dtype === "uint8" ? weight.toFixed(2) : weight.toPrecision(dtype === "float16" ? 4 : 6));
}

function sumInWords(shown: DisplayedHead, query: number): string {
  const sum = formatWeight(rowSum(shown, query), shown.limit, shown.entry.least);
  const { queryAxis, keyAxis, limit } = shown;
  const hidden = keyAxis.at.includes(-1) ? " without the hidden tokens" : "";
  if (limit !== null) {
    const [of, what] = shown.entry.unnormalised ? ["", "weights"] : [" of change", "changes"];
    return `Ranked by size${of}. The ${what} in its row sum to ${sum}${hidden}.`;
  }
  const pieces = queryAxis.groups[query].length > 1 ? " (the mean of its pieces' rows)" : "";
  return `Its row sums to ${sum}${hidden}${pieces}.`;
}
