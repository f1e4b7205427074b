// The shift experiment: the scores of a sentence at the start of the table, and moved.

import { type ProbeHead, rotateRows } from "./encodings.ts";
import { dotProducts, type Matrix, rmsOf, rowsOf, scaled, sumOf } from "./matrix.ts";

type Named = [name: string, scores: Matrix];

/** What a shift does to a sentence's scores. */
export interface Shifted {
  here: Matrix;
  moved: Matrix;
  difference: Matrix;
  /** Root mean squares: of the difference, of the scores here, and of what changes in PE · PE alone. */
  changed: number;
  size: number;
  bare: number;
  /** The parts of a score, each with its size and its change. */
  rows: [name: string, size: number, changed: number][];
}

/**
 * The scores of the head's sentence from `start` on, and the parts of (W_q (x + p)) · (W_k (y + p')) / √d; none
 * for rotary.
 */
export function sentenceScores(
  encoding: string,
  table: Matrix,
  { words, mixing, queries, keys }: ProbeHead,
  start: number,
): { whole: Matrix; parts: Named[] } {
  if (encoding === "rotary") {
    const [query, key] = [queries, keys].map((vectors) => rotateRows(vectors, (row) => start + row));
    return { whole: scaled(dotProducts(query, key), 1 / Math.sqrt(words.cols)), parts: [] };
  }
  const places = rowsOf(table, start, words.rows);
  const score = (left: Matrix, right: Matrix) => dotProducts(left, dotProducts(right, mixing)); // left · mixing · rightᵀ
  const parts: Named[] = [
    ["word · word", score(words, words)],
    ["word · position", score(words, places)],
    ["position · word", score(places, words)],
    ["position · position", score(places, places)],
  ];
  const whole = parts.map(([, part]) => part).reduce((sum, part) => sumOf(sum, part));
  return { whole, parts };
}

/** PE · PE / √d of the positions from `start` on: positions alone, without projections. */
function positionScores(table: Matrix, count: number, start: number): Matrix {
  const places = rowsOf(table, start, count);
  return scaled(dotProducts(places, places), 1 / Math.sqrt(table.cols));
}

/** The effect of the shift on an encoding's scores: matrices, and their rms part by part. */
export function shiftResult(encoding: string, table: Matrix, head: ProbeHead, shift: number): Shifted {
  const [here, moved] = [0, shift].map((start) => sentenceScores(encoding, table, head, start));
  const bare = [0, shift].map((start) => positionScores(table, head.words.rows, start));
  const change = (before: Matrix, after: Matrix) => sumOf(after, before, -1);
  const row = (name: string, before: Matrix, after: Matrix): Shifted["rows"][number] => [
    name,
    rmsOf(before),
    rmsOf(change(before, after)),
  ];
  const difference = change(here.whole, moved.whole);
  return {
    here: here.whole,
    moved: moved.whole,
    difference,
    changed: rmsOf(difference),
    size: rmsOf(here.whole),
    bare: rmsOf(change(bare[0], bare[1])),
    rows: [
      ...(encoding === "rotary" ? [] : [row("PE · PE alone", bare[0], bare[1])]),
      ...here.parts.map(([name, part], i) => row(name, part, moved.parts[i][1])),
      row("the whole score", here.whole, moved.whole),
    ],
  };
}

/** The order with the word at one place put at another, and those between moved up. */
export function placed(order: readonly number[], from: number, to: number): number[] {
  const next = [...order];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}

/** A random order (Fisher and Yates), never the same as before where there are others. */
export function shuffled(order: readonly number[], random = Math.random): number[] {
  const next = [...order];
  for (let last = next.length - 1; last > 0; last--) {
    const place = Math.floor(random() * (last + 1));
    [next[last], next[place]] = [next[place], next[last]];
  }
  return next.length > 1 && next.every((word, place) => word === order[place]) ? placed(next, 0, 1) : next;
}
