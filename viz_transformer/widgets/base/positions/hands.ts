// Pairs of columns of a table of positions, seen as the hands of clocks: how fast they turn, where they point,
// and when they point alike. In double precision, as viz_transformer/analysis/positions.py; a test compares them.

import { numbersOf } from "../bytes.ts";
import { indices } from "../scales.ts";
/** Nearer than this, two positions look alike to a pair of dimensions; Python has the same number. */
export const ALIKE = 0.3;

/** Numbers in C order, [position, dimension]. */
export interface Table {
  values: ArrayLike<number>;
  rows: number;
  cols: number;
  /** Of waves that turn more slowly or faster than the paper's, what stands in the place of its 10,000. */
  base?: number | null;
}

/** The base of the paper. */
export const PAPERS_BASE = 10000;

/** A table from its bytes, float32. */
export function readTable(bytes: DataView, rows: number, cols: number): Table {
  return { values: numbersOf(bytes, Float32Array), rows, cols };
}

/** The angular frequency of a pair of dimensions, in radians a token. */
export const angularFrequency = (pair: number, width: number, base?: number | null) =>
  (base ?? PAPERS_BASE) ** (-(2 * pair) / width);

/** The wavelength of a pair of dimensions, in tokens. */
export const wavelength = (pair: number, width: number, base?: number | null) =>
  (2 * Math.PI) / angularFrequency(pair, width, base);

export const pairsOf = ({ cols }: Table) => Math.floor(cols / 2);

/** Where a hand points, [to the right, up]: its second number, a cosine in sinusoids, and its first, a sine. */
export function handOf({ values, cols }: Table, pair: number, position: number): [right: number, up: number] {
  const at = position * cols + 2 * pair;
  return [values[at + 1], values[at]];
}

/** The largest absolute value; 1 for zeros, so that it can be divided by. */
export const limitOf = ({ values }: Pick<Table, "values">): number =>
  Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;

/** The length of a pair's longest hand; 1 where all are zero, so that it can be divided by. */
export function reachOf(table: Table, pair: number): number {
  let most = 0;
  for (let row = 0; row < table.rows; row++) most = Math.max(most, Math.hypot(...handOf(table, pair, row)));
  return most || 1;
}

/** The other positions whose two numbers in a pair lie nearer to those of `position` than ALIKE. */
export function lookAlikes(table: Table, position: number, pair: number): number[] {
  const [x, y] = handOf(table, pair, position);
  return indices(table.rows).filter((row) => {
    const [right, up] = handOf(table, pair, row);
    return row !== position && Math.hypot(right - x, up - y) < ALIKE;
  });
}

/**
 * The position that a hand is at when it is dragged to a point: of a wave, what less than half a turn more or less
 * makes of the position before; else the one whose hand ends nearest to the point.
 */
export function positionTowards(
  table: Table,
  pair: number,
  before: number,
  [right, up]: readonly [number, number],
  isWave: boolean,
): number {
  if (isWave) {
    const speed = angularFrequency(pair, table.cols, table.base);
    const turn = Math.atan2(up, right) - before * speed;
    const nearest = turn - 2 * Math.PI * Math.round(turn / (2 * Math.PI));
    return Math.min(table.rows - 1, Math.max(0, Math.round(before + nearest / speed)));
  }
  const away = Array.from({ length: table.rows }, (_, row) => {
    const [x, y] = handOf(table, pair, row);
    return Math.hypot(x - right, y - up);
  });
  return away.indexOf(Math.min(...away));
}

/** The pairs that are drawn where there is room for `count` hands: the fastest, the slowest, the chosen, and between. */
export function shownPairs(pairs: number, count: number, chosen: number): number[] {
  const most = Math.max(2, Math.min(count, pairs));
  const even = Array.from({ length: most }, (_, at) => Math.round((at * (pairs - 1)) / (most - 1)));
  const inner = even.slice(1, -1);
  const nearest = inner.reduce((best, each) => (near(each, chosen) < near(best, chosen) ? each : best), NaN);
  const shown = even.includes(chosen) ? even : even.map((each) => (each === nearest ? chosen : each));
  return [...new Set(shown.includes(chosen) ? shown : [...shown, chosen])].sort((a, b) => a - b);
}

const near = (pair: number, chosen: number) => (Number.isNaN(pair) ? Infinity : Math.abs(pair - chosen));
