// The line of NumPy that computes each step from the numbers that the view shows.
//
// The names in the lines are: x and memory, the vectors; W_Q, W_K, W_V and their biases b_…, those of
// one head; W_O and b_O; mask; and what earlier lines computed. A test runs them on the numbers shown
// beside them.

import { lastScores } from "./derivation.js";

/** @import { Choice, ComputedHead, Layer } from "./attention_math.js" */

/** What is no step of its own stands in another step's line. */
const LINE_OF = { k_t: "k", heads: "output" };

/** @type {Record<string, (state: {layer: Layer, worked: ComputedHead, chosen: Choice}) => string>} */
const LINES = {
  q: ({ layer, chosen }) => `q = x[${chosen.query}] @ W_Q${bias(layer, "q")}`,
  k: ({ layer }) => `k = ${attended(layer)} @ W_K${bias(layer, "k")}`,
  v: ({ layer }) => `v = ${attended(layer)} @ W_V${bias(layer, "v")}`,
  scores: () => "scores = q @ k.T",
  scaled: ({ chosen }) => `scaled = scores${divisors(chosen)}`,
  masked: ({ chosen }) =>
    chosen.mask ? `masked = np.where(mask[${chosen.query}], scaled, -np.inf)` : "masked = scaled",
  exponentials({ layer, worked }) {
    const scores = lastScores(layer);
    return worked.sum ? `e = np.exp(${scores} - ${scores}.max())` : "e = np.zeros(len(k))";
  },
  weights: ({ worked }) => (worked.sum ? "weights = e / e.sum()" : "weights = e"),
  output: () => "output = weights @ v",
  concat: () => "concat = np.concatenate(outputs_of_all_heads)",
  result: ({ layer }) => `result = concat @ W_O${bias(layer, "o")}`,
};

/**
 * The line of code that computes a matrix from these numbers, or null for one that is given.
 *
 * @param {Layer} layer
 * @param {ComputedHead} worked
 * @param {Choice} chosen
 * @param {string} name
 * @returns {string | null}
 */
export function codeLine(layer, worked, chosen, name) {
  return LINES[LINE_OF[name] ?? name]?.({ layer, worked, chosen }) ?? null;
}

function bias(layer, name) {
  return layer[`b_${name}`] ? ` + b_${name.toUpperCase()}` : "";
}

/** The vectors that keys and values are made of. */
function attended(layer) {
  return layer.memory ? "memory" : "x";
}

function divisors({ scale, temperature }) {
  return `${scale ? " / np.sqrt(d_k)" : ""}${temperature === 1 ? "" : ` / ${temperature}`}`;
}
