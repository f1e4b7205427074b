// The names of matrices, of their rows and of their columns.

import { inDigits } from "./derivation.js";

/** @typedef {import("./attention_math.js").Layer} Layer */

const SYMBOLS = {
  all: "x",
  w_q: "W_Q",
  w_k: "W_K",
  w_v: "W_V",
  w_o: "W_O",
  b_q: "b_Q",
  b_k: "b_K",
  b_v: "b_V",
  b_o: "b_O",
  k_t: "kᵀ",
  allowed: "mask",
  exponentials: "e",
  heads: "outputs",
};
const PER_KEY = ["scores", "scaled", "allowed", "masked", "exponentials", "weights"];

/**
 * A matrix's symbol.
 *
 * @param {Layer} layer
 * @param {string} name
 * @returns {string}
 */
export function symbolOf(layer, name) {
  return name === "seen" ? (layer.memory ? "memory" : "x") : (SYMBOLS[name] ?? name);
}

/**
 * Whether a matrix is one row with a number for each key.
 *
 * @param {string} name
 * @returns {boolean}
 */
export function isPerKey(name) {
  return PER_KEY.includes(name);
}

/**
 * The names of a matrix's rows, or null where a row is only a number.
 *
 * @param {import("./stage.js").Snapshot} snapshot
 * @param {string} name
 * @returns {string[] | null}
 */
export function rowNamesOf({ layer, worked, chosen }, name) {
  switch (name) {
    case "exponentials":
      return [worked.sum ? `e^(score − ${inDigits(worked.top)})` : "e^score"];
    case "allowed":
      return ["may look?"];
    case "all":
      return layer.queries.map((word, i) => (layer.reads ? `${layer.reads[i]} → ${word}` : word));
    case "seen":
    case "k":
    case "v":
      return layer.keys;
    case "x":
      return [layer.queries[chosen.query]];
    case "heads":
      return Array.from({ length: layer.heads }, (_, head) => `head ${head}`);
    default:
      return null;
  }
}

/**
 * The names of a matrix's columns, or null where a column is only a number.
 *
 * @param {Layer} layer
 * @param {string} name
 * @returns {string[] | null}
 */
export function colNamesOf(layer, name) {
  return name === "k_t" || isPerKey(name) ? layer.keys : null;
}
