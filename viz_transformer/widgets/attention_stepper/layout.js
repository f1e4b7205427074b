// The layout of each step: which matrices it shows, where they stand, and how large.

import { visible } from "../base/js/text.js";
import { lastScores } from "./derivation.js";
import { isPerKey, rowNamesOf, symbolOf } from "./matrix_names.js";

/** @typedef {import("../base/js/colour.js").Theme} Theme */
/** @typedef {import("./attention_math.js").Layer} Layer */
/** @typedef {import("./attention_math.js").Choice} Choice */
/** @typedef {import("./attention_math.js").ComputedHead} ComputedHead */
/** @typedef {import("./derivation.js").Cell} Cell */

/**
 * The names of the matrices that a step shows: a product `a` · `b` + `bias` = `c`, or `rows` beneath
 * each other, the last being the result.
 *
 * @typedef {{ a?: string, b?: string, bias?: string | null, c?: string, rows?: string[] }} Plan
 */

const MOST_NUMBERS = { rows: 8, cols: 16 }; // a larger matrix is a sheet of colours
export const STEPPER_ROW = 27; // pixels a row of numbers takes, its seam included
const MOST_CELL = 84;
const LEAST_CELL = 33; // of a number

const PRODUCT_STEPS = {
  q: ["x", "w_q", "b_q", "q"],
  k: ["seen", "w_k", "b_k", "k"],
  v: ["seen", "w_v", "b_v", "v"],
  scores: ["q", "k_t", null, "scores"],
  output: ["weights", "v", null, "output"],
  result: ["concat", "w_o", "b_o", "result"],
};

/**
 * The matrices that a step shows.
 *
 * @param {Layer} layer
 * @param {string} step
 * @returns {Plan}
 */
export function planOf(layer, step) {
  const product = PRODUCT_STEPS[step];
  if (product) {
    const [a, b, bias, c] = product;
    return { a, b, bias: bias && layer[bias] ? bias : null, c };
  }
  if (step === "x") return { rows: layer.memory ? ["all", "seen"] : ["all"] };
  if (step === "scaled") return { rows: ["scores", "scaled"] };
  if (step === "masked") return { rows: ["scaled", "allowed", "masked"] };
  if (step === "weights") return { rows: [lastScores(layer), "exponentials", "weights"] };
  return { rows: ["heads", "concat"] };
}

/**
 * The matrix that a step computes.
 *
 * @param {Layer} layer
 * @param {string} step
 * @returns {string}
 */
export function resultOf(layer, step) {
  const plan = planOf(layer, step);
  return plan.c ?? (step === "x" ? "all" : plan.rows.at(-1));
}

/**
 * The cell of a step that is explained when nothing is pointed at.
 *
 * @param {Layer} layer
 * @param {ComputedHead} worked
 * @param {Choice} chosen
 * @param {string} step
 * @param {number} best the key with the largest weight
 * @returns {Cell}
 */
export function followedCell(layer, worked, { head, query, key, column }, step, best) {
  const name = resultOf(layer, step);
  const { cols } = worked[name];
  const word = key ?? best;
  const place = column !== null && column < (step === "concat" ? layer.d_head : cols) ? column : 0;
  if (step === "x") return { name, row: query, col: place };
  if (step === "k" || step === "v") return { name, row: word, col: place };
  if (step === "concat") return { name, row: 0, col: head * layer.d_head + place };
  return { name, row: 0, col: ["q", "output", "result"].includes(step) ? place : word };
}

/**
 * The traits to set when a cell of the step's own result is clicked: what is followed from then on.
 *
 * @param {Layer} layer
 * @param {Cell} cell
 * @returns {{ query?: number, head?: number, key?: number, column?: number }}
 */
export function traitsFollowing(layer, { name, row, col }) {
  if (name === "all") return { query: row, column: col };
  if (name === "seen" || name === "k" || name === "v") return { key: row, column: col };
  if (name === "k_t") return { key: col, column: row };
  if (name === "heads") return { head: row, column: col };
  if (name === "concat") return { head: Math.floor(col / layer.d_head), column: col % layer.d_head };
  if (["q", "x", "output", "result"].includes(name)) return { column: col };
  return { key: col };
}

/**
 * Whether a matrix is shown as numbers.
 *
 * @param {{ rows: number, cols: number }} matrix
 * @param {string} part "a", "b", "bias" and "c" of a product, or "row": one number a word
 * @returns {boolean}
 */
export function inNumbers({ rows, cols }, part) {
  if (part === "a") return cols <= 6 && rows <= MOST_NUMBERS.rows;
  if (part === "row") return true;
  return cols <= MOST_NUMBERS.cols && rows <= MOST_NUMBERS.rows;
}

/**
 * Whether a layer is so small that its numbers can be written large.
 *
 * @param {Layer} layer
 * @returns {boolean}
 */
export function isSmall(layer) {
  return layer.d_model <= 6 && layer.keys.length <= 6;
}

/**
 * The widths of the cells of a product's pictures, in pixels: `cellA` of those at the left, `cell` of
 * those above and of the result, which stand in the same columns. `fits`: whether `cell` has room for
 * numbers. `perWord`: the cells of `a`, or the columns of `b`, stand beneath words.
 *
 * @param {{ rows: number, cols: number }} a
 * @param {{ rows: number, cols: number }} b
 * @param {{ width: number, namesA: number, names: number, small: boolean, perWord?: "a" | "b" | null }} page
 * @returns {{ cellA: number, cell: number, fits: boolean }}
 */
export function productSizes(a, b, { width, namesA, names, small, perWord = null }) {
  const wide = width >= 1000;
  const numberA = small ? (perWord === "a" ? 100 : 76) : wide ? 52 : 44;
  const cellA = inNumbers(a, "a") ? numberA : Math.max(1, Math.min(12, (wide ? 210 : 120) / a.cols));
  const room = width - namesA - a.cols * cellA - names - 40;
  if (perWord === "b")
    return { cellA, cell: cellWidth(room, b.cols, { least: 47, most: small ? 104 : undefined }), fits: true };
  const fits = b.cols <= MOST_NUMBERS.cols && room / b.cols >= LEAST_CELL;
  return {
    cellA,
    cell: cellWidth(room, b.cols, { least: fits ? LEAST_CELL : 3, most: small ? 104 : undefined }),
    fits,
  };
}

/**
 * The width of each of `cols` cells in some room, in pixels.
 *
 * @param {number} room
 * @param {number} cols
 * @param {{ least?: number, most?: number }} [limits]
 * @returns {number}
 */
export function cellWidth(room, cols, { least = 3, most = MOST_CELL } = {}) {
  return Math.max(least, Math.min(most, Math.floor(room / cols)));
}

/**
 * How many decimals a cell has room for.
 *
 * @param {number} cell its width in pixels
 * @param {number} limit the largest size of a number
 * @returns {number}
 */
export function digitsIn(cell, limit) {
  return cell < 39 || (limit >= 10 && cell < 52) ? 1 : 2;
}

/**
 * The height of a row of a sheet: the sheet takes about `height`, whatever it holds.
 *
 * @param {number} rows
 * @param {number} height
 * @returns {number}
 */
export function sheetRow(rows, height) {
  return rows === 1 ? STEPPER_ROW : Math.min(STEPPER_ROW, height / rows);
}

/**
 * The sizes of the pictures of one step, in pixels: of the names beside `a` and beside the others, of
 * a cell by name and part, and of a row of `b` and of the others. `fits`: whether numbers have room.
 *
 * @typedef {object} StageSizes
 * @property {number} names
 * @property {number} [namesA]
 * @property {(name: string, part?: string) => number} cellOf
 * @property {boolean} fits
 * @property {boolean} large whether the numbers are written large
 * @property {number} rowB
 * @property {number} rowC
 */

/**
 * The sizes of a step's pictures at a width of the page.
 *
 * @param {import("./stage.js").Snapshot} snapshot
 * @param {number} width
 * @param {Theme} theme
 * @returns {StageSizes}
 */
export function stageSizes(snapshot, width, theme) {
  const plan = planOf(snapshot.layer, snapshot.step);
  return plan.c
    ? sizesOfProduct(plan, snapshot, width, theme)
    : sizesOfRows(plan.rows, snapshot, width, theme);
}

function sizesOfRows(rows, snapshot, width, theme) {
  const { layer, worked } = snapshot;
  const perKey = isPerKey(rows[0]);
  const large = isSmall(layer) || (perKey && width - 190 >= 70 * layer.keys.length);
  const names = widthOfNames(rows, snapshot, large, theme);
  const room = width - names - 20;
  const cellOf = (name) =>
    cellWidth(room, worked[name].cols, { least: perKey ? 47 : 1, most: large ? 110 : undefined });
  const fits = perKey || cellOf(rows[0]) >= LEAST_CELL;
  const count = rows.reduce((sum, name) => sum + worked[name].rows, 0);
  const rowC = fits ? STEPPER_ROW : Math.max(14, sheetRow(count, 200)); // a name needs 14
  return { names, cellOf, large, fits, rowB: STEPPER_ROW, rowC };
}

function sizesOfProduct(plan, snapshot, width, theme) {
  const { layer, worked } = snapshot;
  const [a, b, c] = [worked[plan.a], worked[plan.b], worked[plan.c]];
  const large = isSmall(layer);
  const namesA = widthOfNames([plan.a], snapshot, large, theme);
  const names = widthOfNames([plan.b, plan.c], snapshot, large, theme);
  const perWord = plan.a === "weights" ? "a" : plan.b === "k_t" ? "b" : null;
  const { cell, cellA, fits } = productSizes(a, b, { width, namesA, names, small: large, perWord });
  return {
    names,
    namesA,
    cellOf: (_, part) => (part === "a" ? cellA : cell),
    fits,
    large,
    rowB: sheetRow(b.rows, c.rows > 6 ? 80 : 92),
    rowC: inNumbers(c, "c") && fits ? STEPPER_ROW : sheetRow(c.rows, 200),
  };
}

/** How wide the names of some matrices' rows are. */
function widthOfNames(matrices, snapshot, large, theme) {
  const widths = matrices
    .flatMap((name) => rowNamesOf(snapshot, name) ?? [symbolOf(snapshot.layer, name)])
    .map((name) => theme.measure(visible(name).slice(0, 40), large ? 17 : 13, false));
  return Math.min(large ? 190 : 150, Math.max(40, Math.ceil(Math.max(...widths)) + 20));
}
