// The shift experiment: the scores of a sentence at the start of the table, and moved.

import { rotateRows } from "./encodings.js";
import { differenceOf, dotProducts, matrixOf, rmsOf, rowsOf, scaled } from "./matrix.js";

/**
 * @import { Matrix } from "./matrix.js"
 * @import { ProbeHead } from "./encodings.js"
 */

/**
 * The scores of the head's sentence from `start` on: {whole, parts}.
 *
 * `parts` are those of (W_q (x + p)) · (W_k (y + p')) / √d, as [name, matrix]; none for rotary.
 *
 * @param {string} encoding
 * @param {Matrix} table
 * @param {ProbeHead} head
 * @param {number} start
 */
export function sentenceScores(encoding, table, head, start) {
  const { words, mixing, queries, keys } = head;
  if (encoding === "rotary") {
    const rotated = [queries, keys].map((vectors) => rotateRows(vectors, (row) => start + row));
    return { whole: scaled(dotProducts(rotated[0], rotated[1]), 1 / Math.sqrt(words.cols)), parts: [] };
  }
  const places = rowsOf(table, start, words.rows);
  const score = (left, right) => dotProducts(left, dotProducts(right, mixing)); // left · mixing · rightᵀ
  /** @type {[name: string, scores: Matrix][]} */
  const parts = [
    ["word · word", score(words, words)],
    ["word · position", score(words, places)],
    ["position · word", score(places, words)],
    ["position · position", score(places, places)],
  ];
  const sum = parts[0][1].values.map((_, i) => parts.reduce((total, [, part]) => total + part.values[i], 0));
  return { whole: matrixOf(sum, words.rows, words.rows), parts };
}

/**
 * PE · PE / √d of the positions from `start` on: positions alone, without projections.
 *
 * @param {Matrix} table
 * @param {number} count
 * @param {number} start
 */
export function positionScores(table, count, start) {
  const places = rowsOf(table, start, count);
  return scaled(dotProducts(places, places), 1 / Math.sqrt(table.cols));
}

/**
 * The effect of the shift on an encoding's scores: matrices, and their rms part by part.
 *
 * @param {string} encoding
 * @param {Matrix} table
 * @param {ProbeHead} head
 * @param {number} shift
 */
export function shiftResult(encoding, table, head, shift) {
  const [here, moved] = [0, shift].map((start) => sentenceScores(encoding, table, head, start));
  const difference = differenceOf(moved.whole, here.whole);
  const bare = [0, shift].map((start) => positionScores(table, head.words.rows, start));
  const row = (name, before, after) => [name, rmsOf(before), rmsOf(differenceOf(after, before))];
  return {
    here: here.whole,
    moved: moved.whole,
    difference,
    changed: rmsOf(difference),
    size: rmsOf(here.whole),
    bare: rmsOf(differenceOf(bare[1], bare[0])),
    rows: [
      ...(encoding === "rotary" ? [] : [row("PE · PE alone", ...bare)]),
      ...here.parts.map(([name, part], index) => row(name, part, moved.parts[index][1])),
      row("the whole score", here.whole, moved.whole),
    ],
  };
}
