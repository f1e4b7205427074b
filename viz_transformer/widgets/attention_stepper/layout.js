// What each step of the stepper shows, and how large: pictures of matrices and where they stand.

import { lastScores } from "./derivation.js";

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

/** The matrices that a step shows: a product {a, b, bias, c}, or {rows}, the last being its result. */
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

/** The matrix that a step makes. */
export function resultOf(layer, step) {
  const plan = planOf(layer, step);
  return plan.c ?? (step === "x" ? "all" : plan.rows.at(-1));
}

/** The cell of a step that is explained when nothing is pointed at. */
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

/** What choosing a cell of the step's own result follows: the traits to set. */
export function followedBy(layer, { name, row, col }) {
  if (name === "all") return { query: row, column: col };
  if (name === "seen" || name === "k" || name === "v") return { key: row, column: col };
  if (name === "k_t") return { key: col, column: row };
  if (name === "heads") return { head: row, column: col };
  if (name === "concat") return { head: Math.floor(col / layer.d_head), column: col % layer.d_head };
  if (["q", "x", "output", "result"].includes(name)) return { column: col };
  return { key: col };
}

/** Whether a matrix is shown as numbers. */
export function inNumbers({ rows, cols }, part) {
  if (part === "a") return cols <= 6 && rows <= MOST_NUMBERS.rows;
  if (part === "row") return true; // one number a word
  return cols <= MOST_NUMBERS.cols && rows <= MOST_NUMBERS.rows;
}

/** Whether a layer is so small that its numbers can be written large. */
export function isSmall(layer) {
  return layer.d_model <= 6 && layer.keys.length <= 6;
}

/**
 * The widths of a product's pictures at a width of the page, in pixels: of the cells at the left,
 * and of those above and of the result, which stand in the same columns. `fits`: whether these have
 * room for numbers. `perWord`: the cells at the left, or else the columns, stand beneath words.
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

/** The width of each of `cols` cells in some room. */
export function cellWidth(room, cols, { least = 3, most = MOST_CELL } = {}) {
  return Math.max(least, Math.min(most, Math.floor(room / cols)));
}

/** How many digits behind the point a number has room for. */
export function digitsIn(cell, limit) {
  return cell < 39 || (limit >= 10 && cell < 52) ? 1 : 2;
}

/** How high a row of a sheet is: the sheet takes about `height`, whatever it holds. */
export function sheetRow(rows, height) {
  return rows === 1 ? STEPPER_ROW : Math.min(STEPPER_ROW, height / rows);
}
