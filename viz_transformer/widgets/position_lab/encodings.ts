// Positional encodings: their tables, and what tells one position from another.
//
// All in double precision, as viz_transformer/analysis/positions.py; a test compares the two.

import { decodeWeights } from "../base/bytes.ts";
import { angularFrequency } from "../base/positions/hands.ts";
import { at, dot, dotProducts, type Matrix, matrixOf, rowsOf, scaled } from "./matrix.ts";
import type { Traits as Declared } from "./traits.ts";

/** A sentence and a head. */
export interface ProbeHead {
  words: Matrix;
  mixing: Matrix;
  queries: Matrix;
  keys: Matrix;
}

/** What Python sends. */
export type Data = Record<"learned" | "words" | "mixing" | "queries" | "keys", DataView> & {
  n_positions: number;
  d_model: number;
  /** How many of the learned table's first positions were trained. */
  trained: number;
  n_words: number;
  live_encoding: string;
  language: string;
  language_tag?: string;
};

export interface Traits extends Declared {
  orders: number[][];
  data: Data;
}

/** PE(position, 2i) = sin(position / 10000^(2i / d)), PE(position, 2i + 1) = cos of the same. */
export function sinusoids(rows: number, cols: number): Matrix {
  const values = Float64Array.from({ length: rows * cols }, (_, i) => {
    const [row, col] = [Math.floor(i / cols), i % cols];
    const angle = row * angularFrequency(Math.floor(col / 2), cols);
    return col % 2 ? Math.cos(angle) : Math.sin(angle);
  });
  return matrixOf(values, rows, cols);
}

/** What Python sent, as matrices: a table for each encoding, and the head. */
export function unpackPositions(data: Data): { tables: Record<string, Matrix>; head: ProbeHead } {
  const { n_positions: rows, d_model: cols, n_words: count } = data;
  const matrix = (bytes: DataView, height: number) =>
    matrixOf(Float64Array.from(decodeWeights(bytes, "float32")), height, cols);
  const waves = sinusoids(rows, cols);
  return {
    tables: {
      sinusoidal: waves,
      rotary: waves, // which rotate by the angles whose sines and cosines are these
      learned: matrix(data.learned, rows),
      none: matrixOf(new Float64Array(rows * cols), rows, cols),
    },
    head: {
      words: matrix(data.words, count),
      mixing: matrix(data.mixing, cols),
      queries: matrix(data.queries, count),
      keys: matrix(data.keys, count),
    },
  };
}

/** Whether an encoding's columns are sines and cosines. */
export const isWave = (encoding: string) => encoding === "sinusoidal" || encoding === "rotary";

/** Rotary positions: rows whose pairs (x_2i, x_2i+1) are rotated by position · angular frequency. */
export function rotateRows(matrix: Matrix, positionOf: (row: number) => number): Matrix {
  const values = matrix.values.map((value, i) => {
    const [row, col] = [Math.floor(i / matrix.cols), i % matrix.cols];
    const angle = positionOf(row) * angularFrequency(Math.floor(col / 2), matrix.cols);
    const other = col % 2 ? at(matrix, row, col - 1) : -at(matrix, row, col + 1);
    return value * Math.cos(angle) + other * Math.sin(angle);
  });
  return matrixOf(values, matrix.rows, matrix.cols);
}

/** The mean cosine similarity of neighbouring rows from `first` up to `end`; null if there are none. */
export function neighbourCosine(table: Matrix, first: number, end: number): number | null {
  let total = 0;
  for (let row = first; row + 1 < end; row++)
    total +=
      dot(table, row, table, row + 1) /
      Math.sqrt(dot(table, row, table, row) * dot(table, row + 1, table, row + 1));
  return end - first > 1 ? total / (end - first - 1) : null;
}

export type Nearest = { row: number; distance: number } | null;

/** The position whose whole vector is nearest to that of `position`; null if there is no other. */
export function nearestRow(table: Matrix, position: number): Nearest {
  let best: Nearest = null;
  for (let row = 0; row < table.rows; row++) {
    if (row === position) continue;
    let sum = 0;
    for (let i = 0; i < table.cols; i++) sum += (at(table, row, i) - at(table, position, i)) ** 2;
    if (!best || sum < best.distance ** 2) best = { row, distance: Math.sqrt(sum) };
  }
  return best;
}

/**
 * Dot products of all positions; for rotary, one query's score with one key, each rotated as at its position.
 */
export function scoresByPosition(encoding: string, table: Matrix, head: ProbeHead): Matrix {
  if (encoding !== "rotary") return dotProducts(table, table);
  const { rows, cols } = table;
  const everywhere = (vector: Matrix) => {
    const values = new Float64Array(rows * cols);
    for (let row = 0; row < rows; row++) values.set(vector.values, row * cols);
    return rotateRows(matrixOf(values, rows, cols), (row) => row);
  };
  const scores = dotProducts(everywhere(rowsOf(head.queries, 0, 1)), everywhere(rowsOf(head.keys, 1, 1)));
  return scaled(scores, 1 / Math.sqrt(cols));
}

/** The least and the largest of the scores at one offset, over all positions; null if there is none. */
export function rangeAt(scores: Matrix, offset: number): [least: number, most: number] | null {
  let range: [number, number] | null = null;
  for (let row = Math.max(0, -offset); row < scores.rows && row + offset < scores.rows; row++) {
    const score = at(scores, row, row + offset);
    range = range ? [Math.min(range[0], score), Math.max(range[1], score)] : [score, score];
  }
  return range;
}
