// The picture as a table, for those who cannot see it.

import { digitsOf, rankOf } from "./readout.ts";
import { formatWeight, shortNumber, visible } from "../base/text.ts";
import type { Cell } from "./selection.ts";
import type { DisplayedHead } from "./displayed_head.ts";
import { indices } from "../base/scales.ts";

const MOST_CELLS = 400;
const MOST_ROWS = 50;

/**
 * The content of the table: {caption, heads, rows, placeOf}. All weights of a small head; of a large one those of
 * the pinned row or column, or without a pin of the whole, the strongest first and none that is 0. `placeOf` gives
 * the row and column of a weight.
 */
export function tableOf(
  shown: DisplayedHead,
  title: string,
  { query, key }: Cell,
): {
  caption: string;
  heads: string[];
  rows: string[][];
  placeOf: (query: number, key: number) => [number, number] | null;
} {
  const { rows, cols, rowNames, keys, limit, masked, entry } = shown;
  const weights = shown.weights!;
  if (rows * cols <= MOST_CELLS) {
    const weight = (row: number, col: number) =>
      masked?.[row * cols + col] ? "masked" : formatWeight(weights[row * cols + col], limit, entry?.least);
    return {
      caption: `${title}: all weights; a row is a query, a column a key.`,
      heads: ["query", ...keys],
      rows: indices(rows).map((row) => [rowNames[row], ...indices(cols).map((col) => weight(row, col))]),
      placeOf: (row, col) => [row, col + 1],
    };
  }
  const isOpen = (cell: number) => weights[cell] !== 0 && !masked?.[cell];
  const listed = (cells: number[]) => {
    const open = cells.filter(isOpen).sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]));
    const left = cells.length - open.length;
    return { open, left: left ? ` The other ${left} are masked or 0.` : "" };
  };
  if (query !== null) {
    const { open, left } = listed(indices(cols).map((col) => query * cols + col));
    const caption = `${title}: the weights of the pinned query ${visible(rowNames[query])}.${left}`;
    return { ...cellsInRows(shown, open, ["key"]), caption };
  }
  if (key !== null) {
    const { open, left } = listed(indices(rows).map((row) => row * cols + key));
    const on = `the weights on the pinned key ${visible(keys[key])}; ranks are those in each query's row`;
    return { ...cellsInRows(shown, open, ["query"]), caption: `${title}: ${on}.${left}` };
  }
  const { open } = listed(strongestCells(weights, MOST_ROWS));
  const caption = `${title}: the strongest ${open.length} of ${rows * cols} weights; pin a word for all of its weights.`;
  return { ...cellsInRows(shown, open, ["query", "key"]), caption };
}

/** Some cells, a row each: the names that they have along `axes`, the weight and its rank. */
function cellsInRows(shown: DisplayedHead, cells: number[], axes: string[]) {
  const { cols, rowNames, keys, entry } = shown;
  const weights = shown.weights!;
  const rows = cells.map((cell) => {
    const [row, col] = [Math.floor(cell / cols), cell % cols];
    const names = axes.map((axis) => (axis === "query" ? rowNames[row] : keys[col]));
    return [...names, shortNumber(digitsOf(weights[cell], entry), 6), String(rankOf(shown, row, col).rank)];
  });
  const placeOf: (row: number, col: number) => [number, number] | null = (row, col) => {
    const at = cells.indexOf(row * cols + col);
    return at < 0 ? null : [at, axes.length];
  };
  return { heads: [...axes, "weight", "rank"], rows, placeOf };
}

/** The places of the `most` strongest weights, strongest first. */
export function strongestCells(weights: Float32Array, most: number) {
  const sizes = weights.map(Math.abs).sort();
  const edge = sizes[Math.max(0, sizes.length - most)];
  const found: number[] = [];
  for (const wanted of [(size: number) => size > edge, (size: number) => size === edge]) {
    for (let index = 0; index < weights.length && found.length < most; index++) {
      if (wanted(Math.abs(weights[index]))) found.push(index);
    }
  }
  return found.sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]));
}
