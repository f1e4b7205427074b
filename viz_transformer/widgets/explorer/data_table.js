// The picture as a table, for those who cannot see it.

import { digitsOf, rankOf } from "./readout.ts";
import { formatWeight, shortNumber, visible } from "../base/js/text.js";

const MOST_CELLS = 400;
const MOST_ROWS = 50;

/**
 * The content of the table: {caption, heads, rows, placeOf}. All weights of a small head; of a large one the
 * pinned row or column, or without a pin the strongest weights. `placeOf` gives the row and column of a weight.
 *
 * @returns {{caption: string, heads: string[], rows: string[][],
 *   placeOf: (query: number, key: number) => [number, number] | null}}
 */
export function tableOf(shown, title, { query, key }) {
  const { weights, rows, cols, rowNames, keys, limit, masked, entry } = shown;
  const weight = (row, col) =>
    masked?.[row * cols + col] ? "masked" : formatWeight(weights[row * cols + col], limit, entry?.least);
  const exact = (row, col) =>
    masked?.[row * cols + col] ? "masked" : shortNumber(digitsOf(weights[row * cols + col], entry), 6);
  const rank = (row, col) => (masked?.[row * cols + col] ? "–" : String(rankOf(shown, row, col).rank));
  const count = (size) => Array.from({ length: size }, (_, index) => index);
  if (rows * cols <= MOST_CELLS) {
    return {
      caption: `${title}: all weights; a row is a query, a column a key.`,
      heads: ["query", ...keys],
      rows: count(rows).map((row) => [rowNames[row], ...count(cols).map((col) => weight(row, col))]),
      placeOf: (row, col) => [row, col + 1],
    };
  }
  if (query !== null) {
    return {
      caption: `${title}: all weights of the pinned query ${visible(rowNames[query])}.`,
      heads: ["key", "weight", "rank"],
      rows: count(cols).map((col) => [keys[col], exact(query, col), rank(query, col)]),
      placeOf: (row, col) => (row === query ? [col, 1] : null),
    };
  }
  if (key !== null) {
    return {
      caption: `${title}: all weights on the pinned key ${visible(keys[key])}; ranks are those in each query's row.`,
      heads: ["query", "weight", "rank"],
      rows: count(rows).map((row) => [rowNames[row], exact(row, key), rank(row, key)]),
      placeOf: (row, col) => (col === key ? [row, 1] : null),
    };
  }
  const strongest = strongestCells(weights, MOST_ROWS);
  return {
    caption: `${title}: the strongest ${strongest.length} of ${rows * cols} weights; pin a word for all of its weights.`,
    heads: ["query", "key", "weight", "rank"],
    rows: strongest.map((index) => {
      const [row, col] = [Math.floor(index / cols), index % cols];
      return [rowNames[row], keys[col], exact(row, col), rank(row, col)];
    }),
    placeOf(row, col) {
      const at = strongest.indexOf(row * cols + col);
      return at < 0 ? null : [at, 2];
    },
  };
}

/** The places of the `most` strongest weights, strongest first. */
export function strongestCells(weights, most) {
  const sizes = weights.map(Math.abs).sort();
  const edge = sizes[Math.max(0, sizes.length - most)];
  const found = [];
  for (const wanted of [(size) => size > edge, (size) => size === edge]) {
    for (let index = 0; index < weights.length && found.length < most; index++) {
      if (wanted(Math.abs(weights[index]))) found.push(index);
    }
  }
  return found.sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]));
}
