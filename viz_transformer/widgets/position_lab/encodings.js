// Positional encodings: their tables, and what tells one position from another.
//
// All in double precision, as viz_transformer/analysis/positions.py; a test compares the two.

import { angularFrequency, lookAlikes } from "../base/js/clock_hands.js";
import { dotProducts, matrixOf, rowsOf, scaled } from "./matrix.js";

/** @import { Matrix } from "./matrix.js" */

/** @typedef {{words: Matrix, mixing: Matrix, queries: Matrix, keys: Matrix}} ProbeHead a sentence and a head */

/**
 * PE(position, 2i) = sin(position / 10000^(2i / d)), PE(position, 2i + 1) = cos of the same.
 *
 * @param {number} rows
 * @param {number} cols
 */
export function sinusoids(rows, cols) {
  const values = new Float64Array(rows * cols);
  for (let row = 0; row < rows; row++) {
    for (let pair = 0; pair < cols / 2; pair++) {
      const angle = row * angularFrequency(pair, cols);
      values[row * cols + 2 * pair] = Math.sin(angle);
      values[row * cols + 2 * pair + 1] = Math.cos(angle);
    }
  }
  return matrixOf(values, rows, cols);
}

/**
 * Rotary positions: rows whose pairs (x_2i, x_2i+1) are rotated by position · angular frequency.
 *
 * @param {Matrix} matrix
 * @param {(row: number) => number} positionOf
 */
export function rotateRows({ values, rows, cols }, positionOf) {
  const out = new Float64Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let pair = 0; pair < cols / 2; pair++) {
      const angle = positionOf(row) * angularFrequency(pair, cols);
      const [cos, sin, at] = [Math.cos(angle), Math.sin(angle), row * cols + 2 * pair];
      out[at] = values[at] * cos - values[at + 1] * sin;
      out[at + 1] = values[at] * sin + values[at + 1] * cos;
    }
  }
  return matrixOf(out, rows, cols);
}

/**
 * For each pair, how many other positions look like `position` to it.
 *
 * @param {Matrix} table
 * @param {number} position
 */
export function confusions(table, position) {
  return Array.from({ length: table.cols / 2 }, (_, pair) => lookAlikes(table, position, pair).length);
}

/**
 * The mean cosine similarity of neighbouring rows from `first` up to `end`; null if there are none.
 *
 * @param {Matrix} table
 * @param {number} first
 * @param {number} end
 */
export function neighbourCosine({ values, cols }, first, end) {
  const dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < cols; i++) sum += values[a * cols + i] * values[b * cols + i];
    return sum;
  };
  let total = 0;
  for (let row = first; row + 1 < end; row++)
    total += dot(row, row + 1) / Math.sqrt(dot(row, row) * dot(row + 1, row + 1));
  return end - first > 1 ? total / (end - first - 1) : null;
}

/**
 * The position whose whole vector is nearest to that of `position`: {row, distance}, or null.
 *
 * @param {Matrix} table
 * @param {number} position
 */
export function nearestRow({ values, rows, cols }, position) {
  let best = null;
  for (let row = 0; row < rows; row++) {
    if (row === position) continue;
    let sum = 0;
    for (let i = 0; i < cols; i++) sum += (values[row * cols + i] - values[position * cols + i]) ** 2;
    if (!best || sum < best.distance ** 2) best = { row, distance: Math.sqrt(sum) };
  }
  return best;
}

/**
 * Dot products of all positions; for rotary, one query's score with one key, each rotated as at its
 * position.
 *
 * @param {string} encoding
 * @param {Matrix} table
 * @param {ProbeHead} head
 */
export function scoresByPosition(encoding, table, head) {
  if (encoding !== "rotary") return dotProducts(table, table);
  const { rows, cols } = table;
  const everywhere = (vector) => {
    const values = new Float64Array(rows * cols);
    for (let row = 0; row < rows; row++) values.set(vector.values, row * cols);
    return rotateRows(matrixOf(values, rows, cols), (row) => row);
  };
  const scores = dotProducts(everywhere(rowsOf(head.queries, 0, 1)), everywhere(rowsOf(head.keys, 1, 1)));
  return scaled(scores, 1 / Math.sqrt(cols));
}

/**
 * The least and the largest of the scores at one offset, over all positions; null if there is none.
 *
 * @param {Matrix} scores
 * @param {number} offset
 */
export function rangeAt({ values, rows }, offset) {
  let range = null;
  for (let row = Math.max(0, -offset); row < rows && row + offset < rows; row++) {
    const score = values[row * rows + row + offset];
    range = range ? [Math.min(range[0], score), Math.max(range[1], score)] : [score, score];
  }
  return range;
}
