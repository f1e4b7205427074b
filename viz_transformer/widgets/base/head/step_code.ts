// The line of NumPy that computes each step from the numbers that the view shows.
//
// The names in the lines are: x and memory, the vectors; W_Q, W_K, W_V and their biases b_…, those of
// one head; W_O and b_O; mask; and what earlier lines computed. A test runs them on the numbers shown
// beside them.

import type { Choice, ComputedHead, Layer } from "./arithmetic.ts";
import { lastScores } from "./derivation.ts";

/** What is no step of its own stands in another step's line. */
const LINE_OF: Record<string, string> = { k_t: "k", heads: "output" };

type State = { layer: Layer; worked: ComputedHead; chosen: Choice };

const LINES: Record<string, (state: State) => string> = {
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

/** The line of code that computes a matrix from these numbers, or null for one that is given. */
export function codeLine(layer: Layer, worked: ComputedHead, chosen: Choice, name: string): string | null {
  return LINES[LINE_OF[name] ?? name]?.({ layer, worked, chosen }) ?? null;
}

function bias(layer: Layer, name: "q" | "k" | "v" | "o"): string {
  return layer[`b_${name}`] ? ` + b_${name.toUpperCase()}` : "";
}

/** The vectors that keys and values are made of. */
function attended(layer: Layer): string {
  return layer.memory ? "memory" : "x";
}

function divisors({ scale, temperature }: Choice): string {
  return `${scale ? " / np.sqrt(d_k)" : ""}${temperature === 1 ? "" : ` / ${temperature}`}`;
}
