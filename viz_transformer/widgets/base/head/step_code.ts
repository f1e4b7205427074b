// The line of NumPy that computes each step from the numbers that the view shows.
//
// The names in the lines are: x and memory, the vectors; W_Q, W_K, W_V and their biases b_…, those of
// one head; W_O and b_O; mask; cos, sin and partner of rotary positions; and what earlier lines computed. A test runs them on the numbers shown
// beside them.

import type { Choice, ComputedHead, Layer } from "./arithmetic.ts";
import { lastScores, productOf } from "./derivation.ts";

/** What is no step of its own stands in another step's line. */
const LINE_OF: Record<string, string> = { heads: "output" };

type State = { layer: Layer; worked: ComputedHead; chosen: Choice };

const LINES: Record<string, (state: State) => string> = {
  q: ({ layer, chosen }) => `q = x[${chosen.query}] @ W_Q${bias(layer, "q")}`,
  k: ({ layer }) => `k = ${attended(layer)} @ W_K${bias(layer, "k")}`,
  v: ({ layer }) => `v = ${attended(layer)} @ W_V${bias(layer, "v")}`,
  turned_q: ({ chosen: { query } }) => `turned_q = q * cos[${query}] + q[partner] * sin[${query}]`,
  turned_k: () => "turned_k = k * cos + k[:, partner] * sin",
  k_t: (state) => (isTurned(state) ? LINES.turned_k!(state) : LINES.k!(state)),
  scores: (state) => (isTurned(state) ? "scores = turned_q @ turned_k.T" : "scores = q @ k.T"),
  scaled: (state) => `scaled = scores${divisors(state)}`,
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

const isTurned = ({ layer }: State) => productOf(layer, "scores")?.[0] === "turned_q";

function bias(layer: Layer, name: "q" | "k" | "v" | "o"): string {
  return layer[`b_${name}`] ? ` + b_${name.toUpperCase()}` : "";
}

/** The vectors that keys and values are made of. */
function attended(layer: Layer): string {
  return layer.memory ? "memory" : "x";
}

function divisors({ layer, chosen: { scale, temperature } }: State): string {
  const root = layer.divisor == null ? "np.sqrt(d_k)" : String(layer.divisor);
  return `${scale ? ` / ${root}` : ""}${temperature === 1 ? "" : ` / ${temperature}`}`;
}
