// Where the matrices of a step stand, as large as the stage lets them be.
//
// A product stands as it is done by hand: what is multiplied at the left and above, the result where
// their rows and columns meet.

import { matrixNamed } from "./arithmetic.ts";
import { colNamesOf, isPerKey, type Plan, planOf, rowNamesOf, type Snapshot, symbolOf } from "./plan.ts";
import { formatNumber, visible } from "../text.ts";

const GAP = 20; // between a product's parts
const LEAST_NUMBER = 38; // pixels of a cell that has room for a number, at a unit of 16
const ROOMY_NUMBER = 44; // so that numbers are read at a glance
const MOST_CELLS = 400; // of a matrix in numbers: more are a sheet of colours
const HIGHEST = 120; // pixels of a cell

/** A matrix in its place: all in pixels of the stage. */
export interface Place {
  name: string;
  /** Of a product, "row" of those beneath each other. */
  part: "a" | "b" | "bias" | "c" | "row";
  /** Of its first cell. */
  left: number;
  top: number;
  cell: number;
  row: number;
  rows: number;
  cols: number;
  /** Room at the left for the rows' names, which are null where a row is only a number. */
  names: number;
  rowNames: string[] | null;
  /** The columns' names, above the first row. */
  colNames: string[] | null;
  /** Whether its numbers are written, with so many decimals and at so many pixels. */
  digits: number | null;
  size: number;
  /** Pixels of its names. */
  text: number;
  caption: string | null;
}

interface Room {
  width: number;
  height: number;
  /** Pixels of the text. */
  unit: number;
  /** The width of a text in units. */
  measure: (text: string) => number;
}

/** The places of a step's matrices. */
export function placesOf(snapshot: Snapshot, room: Room): Place[] {
  const plan = planOf(snapshot.layer, snapshot.step);
  return plan.rows ? rowsOf(plan.rows, snapshot, room) : productOf(plan, snapshot, room);
}

/** The height that places need. */
export function heightOf(places: readonly Place[]): number {
  return Math.max(...places.map((place) => place.top + place.rows * place.row));
}

function rowsOf(names: string[], snapshot: Snapshot, room: Room): Place[] {
  const { unit, width } = room;
  const matrices = names.map((name) => matrixNamed(snapshot.worked, name));
  const nameWidth = widthOfNames(names, snapshot, room);
  const perKey = isPerKey(names[0] ?? "");
  const headed = perKey ? 1.6 * unit : 0;
  const caption = perKey ? 0 : 1.5 * unit;
  const all = matrices.reduce((sum, matrix) => sum + matrix.rows, 0);
  const free = room.height - headed - names.length * caption - (names.length - 1) * 8;
  const widest = Math.min(2 * HIGHEST, (width - nameWidth) / Math.max(...matrices.map(({ cols }) => cols)));
  const highest = Math.min(1.5 * HIGHEST, perKey ? 1.5 * HIGHEST : Math.max(3.5 * unit, widest));
  const row = Math.max(perKey ? 2 * unit : 4, Math.min(highest, free / all));
  let top = headed;
  return names.map((name, at) => {
    const { rows, cols } = matrices[at] ?? { rows: 0, cols: 1 };
    const cell = Math.min(2 * HIGHEST, (width - nameWidth) / cols);
    top += caption;
    const place = fill({ name, part: "row", left: nameWidth, top, cell, row }, snapshot, room);
    place.names = nameWidth;
    if (perKey && at) place.colNames = null; // the words that the columns stand for are named once
    if (!caption) place.caption = null;
    top += rows * row + 8;
    return place;
  });
}

/** A product: `a` at the left of `c`, `b` above it, a bias between `b` and `c`. */
function productOf(plan: Plan, snapshot: Snapshot, room: Room): Place[] {
  const { unit, width, height, measure } = room;
  const [a, b, c] = [plan.a, plan.b, plan.c].map((name) => matrixNamed(snapshot.worked, name));
  if (!a || !b || !c) return [];
  const nameWidth = rowNamesOf(snapshot, plan.a) ? widthOfNames([plan.a], snapshot, room) : 0;
  const { cellA, cellC } = widthsOf(plan, snapshot, room, width - nameWidth - GAP);
  const caption = 1.5 * unit;
  const head = (name: string) => (colNamesOf(snapshot.layer, name) ? 1.5 * unit : 0);
  const rowC = Math.max(4, Math.min(3.2 * unit, Math.max(2 * unit, 0.13 * height), (0.45 * height) / c.rows));
  const bias = plan.bias ? rowC : 0;
  const above = caption + head(plan.b);
  const between = 12 + Math.max(caption + head(plan.a), caption);
  const free = height - above - between - bias - (bias && 8) - c.rows * rowC;
  const rowB = Math.min(HIGHEST, Math.max(free, 6 * unit) / b.rows);
  const left = nameWidth + a.cols * cellA + GAP;
  const bottom = above + b.rows * rowB + (bias ? 8 : 0);
  const top = bottom + bias + between;
  const parts = [
    fill({ name: plan.b, part: "b", left, top: above, cell: cellC, row: rowB }, snapshot, room),
    fill({ name: plan.a, part: "a", left: nameWidth, top, cell: cellA, row: rowC }, snapshot, room),
    fill({ name: plan.c, part: "c", left, top, cell: cellC, row: rowC }, snapshot, room),
  ];
  if (plan.bias)
    parts.push(
      fill({ name: plan.bias, part: "bias", left, top: bottom, cell: cellC, row: rowC }, snapshot, room),
    );
  for (const place of parts) {
    place.names = place.part === "a" ? nameWidth : place.left;
    const fits = (name: string) => measure(visible(name)) * place.text <= place.cell - 4;
    if (place.part === "a" && !place.colNames?.every(fits)) place.colNames = null; // the rows of `b` name them
    if (place.part === "c") [place.rowNames, place.colNames] = [null, null];
    if (place.part === "bias") place.caption = null;
    const caption = (place.caption ?? "").split(" · ");
    if (place.part === "a" && measure(place.caption ?? "") * place.text > left - nameWidth - 4)
      place.caption = caption[0]!; // else it would run into that of the result
  }
  return parts;
}

/** The widths of a product's cells: those at the left, and those of the columns that `b` and `c` share. */
function widthsOf(plan: Plan, snapshot: Snapshot, { unit, measure }: Room, width: number) {
  const [a, c] = [matrixNamed(snapshot.worked, plan.a), matrixNamed(snapshot.worked, plan.c)];
  const number = (LEAST_NUMBER * unit) / 16;
  const word = Math.max(...snapshot.layer.keys.map((key) => (measure(visible(key)) + 0.8) * unit));
  const leastC = colNamesOf(snapshot.layer, plan.b) ? Math.max(number, word) : number;
  const leastA = colNamesOf(snapshot.layer, plan.a) ? Math.max(number, word) : number;
  const most = 2 * HIGHEST;
  if (a.cols * number + c.cols * leastC <= width) {
    const even = width / (a.cols + c.cols);
    const cellC = Math.min(most, Math.max(leastC, even));
    return {
      cellC,
      cellA: Math.max(number, Math.min(most, (width - c.cols * cellC) / a.cols, Math.max(leastA, even))),
    };
  }
  // Not all numbers have room: then those of the result come first.
  const ofC = Math.max(leastC, (ROOMY_NUMBER * unit) / 16);
  const cellA = Math.min(
    (0.3 * width) / a.cols,
    Math.max((width - c.cols * ofC) / a.cols, (0.17 * width) / a.cols),
  );
  return { cellA, cellC: Math.min(most, (width - a.cols * cellA) / c.cols) };
}

/** What follows from a matrix and the size of its cells. */
function fill(
  at: Pick<Place, "name" | "part" | "left" | "top" | "cell" | "row">,
  snapshot: Snapshot,
  { unit, measure }: Room,
): Place {
  const matrix = matrixNamed(snapshot.worked, at.name);
  const finite = Array.from(matrix.values).filter(Number.isFinite);
  const widest = (digits: number) => {
    const texts = [Math.min(0, ...finite), Math.max(0, ...finite)].map((each) => formatNumber(each, digits));
    return Math.max(...texts.map(measure)) * 1.06; // figures of one width are a little wider
  };
  const isPlain = at.name === "allowed";
  const fits = (digits: number, size: number) =>
    widest(digits) * size * unit + 4 <= at.cell && 1.25 * size * unit <= at.row;
  const few = matrix.rows * matrix.cols <= MOST_CELLS && at.cell >= (LEAST_NUMBER * unit) / 16 - 0.5;
  const digits = few ? ([isPlain ? 0 : 2, 1].find((each) => fits(each, 0.85)) ?? null) : null;
  const size =
    digits === null
      ? 0.85
      : ([1.6, 1].find((each) => 1.6 * each * unit <= at.row && fits(digits, each * 1.2)) ?? 0.85);
  return {
    ...at,
    rows: matrix.rows,
    cols: matrix.cols,
    names: 0,
    rowNames: at.row >= 0.9 * unit ? (rowNamesOf(snapshot, at.name) ?? singleName(snapshot, at)) : null,
    colNames: colNamesOf(snapshot.layer, at.name),
    digits,
    size: size * unit,
    text: 0.85 * unit,
    caption: `${symbolOf(snapshot.layer, at.name)} · ${matrix.rows} × ${matrix.cols}`,
  };
}

/** One row beneath others is named by its matrix. */
function singleName(
  { layer, worked }: Snapshot,
  { name, part }: Pick<Place, "name" | "part">,
): string[] | null {
  const named = part === "bias" || (part === "row" && isPerKey(name));
  return named && matrixNamed(worked, name).rows === 1 ? [symbolOf(layer, name)] : null;
}

function widthOfNames(names: string[], snapshot: Snapshot, { width, unit, measure }: Room): number {
  const texts = names.flatMap((name) => rowNamesOf(snapshot, name) ?? [symbolOf(snapshot.layer, name)]);
  const widest = Math.max(...texts.map((text) => measure(visible(text))));
  return Math.min(0.25 * width, 12 + widest * unit);
}
