// What each step shows: which matrices, what they are called, and which number of them is followed.

import { type Choice, type ComputedHead, type Layer, matrixNamed } from "./arithmetic.ts";
import { biasOf, type Cell, inDigits, lastScores, productOf, type Source, sourcesOf } from "./derivation.ts";

/**
 * What one frame shows: the layer, every number of the chosen head, and the cell that is explained.
 */
export interface Snapshot {
  layer: Layer;
  worked: ComputedHead;
  chosen: Choice;
  step: string;
  cell: Cell;
}

/** The matrices of a step: a product `a` · `b` + `bias` = `c`, or `rows` beneath each other. */
export interface Plan {
  a: string;
  b: string;
  bias: string | null;
  /** What the step computes. */
  c: string;
  rows: string[] | null;
}

const SYMBOLS: Record<string, string> = {
  all: "x",
  w_q: "W_Q",
  w_k: "W_K",
  w_v: "W_V",
  w_o: "W_O",
  b_q: "b_Q",
  b_k: "b_K",
  b_v: "b_V",
  b_o: "b_O",
  turned_q: "q′",
  turned_k: "k′",
  k_t: "kᵀ",
  allowed: "mask",
  exponentials: "e",
  heads: "outputs",
};
const PER_KEY = ["scores", "scaled", "allowed", "masked", "exponentials", "weights"];

/** The matrices that a step shows. */
export function planOf(layer: Layer, step: string): Plan {
  const product = productOf(layer, step);
  if (product) return { a: product[0], b: product[1], bias: biasOf(layer, product[2]), c: step, rows: null };
  const rowsOf: Record<string, string[]> = {
    x: layer.memory ? ["seen", "all"] : ["all"],
    turned_q: ["q", "cos", "sin", "turned_q"],
    turned_k: ["k", "turned_k"],
    scaled: ["scores", "scaled"],
    masked: ["scaled", "allowed", "masked"],
    weights: [lastScores(layer), "exponentials", "weights"],
  };
  const rows = rowsOf[step] ?? ["heads", "concat"];
  return { a: "", b: "", bias: null, c: rows.at(-1) ?? "", rows };
}

/** A matrix's symbol. */
export function symbolOf(layer: Layer, name: string): string {
  if (name === "k_t" && layer.cos) return "k′ᵀ";
  return name === "seen" ? (layer.memory ? "memory" : "x") : (SYMBOLS[name] ?? name);
}

/** Whether a matrix is one row with a number for each key. */
export function isPerKey(name: string): boolean {
  return PER_KEY.includes(name);
}

/** The names of a matrix's rows, or null where a row is only a number. */
export function rowNamesOf({ layer, worked, chosen }: Snapshot, name: string): string[] | null {
  switch (name) {
    case "exponentials":
      return [worked.sum ? `e^(score − ${inDigits(worked.top)})` : "e^score"];
    case "allowed":
      return ["may look?"];
    case "all":
      return layer.queries.map((word, i) => (layer.reads ? `${layer.reads[i]} → ${word}` : word));
    case "seen":
    case "k":
    case "turned_k":
    case "v":
      return layer.keys;
    case "x":
      return [layer.queries[chosen.query] ?? ""];
    case "heads":
      return Array.from({ length: layer.heads }, (_, head) => `head ${head}`);
    default:
      return null;
  }
}

/** The names of a matrix's columns, or null where a column is only a number. */
export function colNamesOf(layer: Layer, name: string): string[] | null {
  return name === "k_t" || isPerKey(name) ? layer.keys : null;
}

/** The cell of a step that is explained when nothing is pointed at; `best` is the key with the largest weight. */
export function followedCell(
  layer: Layer,
  worked: ComputedHead,
  { head, query, key, column }: Choice,
  step: string,
  best: number,
): Cell {
  const name = planOf(layer, step).c;
  const { cols } = matrixNamed(worked, name);
  const word = key ?? best;
  const place = column !== null && column < (step === "concat" ? layer.d_head : cols) ? column : 0;
  if (step === "x") return { name, row: query, col: place };
  if (["k", "turned_k", "v"].includes(step)) return { name, row: word, col: place };
  if (step === "concat") return { name, row: 0, col: head * layer.d_head + place };
  return { name, row: 0, col: ["q", "turned_q", "output", "result"].includes(step) ? place : word };
}

/** The traits to set when a cell of the step's own result is clicked: what is followed from then on. */
export function traitsFollowing(layer: Layer, { name, row, col }: Cell): Partial<Choice> {
  if (name === "all") return { query: row, column: col };
  if (["seen", "k", "turned_k", "v"].includes(name)) return { key: row, column: col };
  if (name === "k_t") return { key: col, column: row };
  if (name === "heads") return { head: row, column: col };
  if (name === "concat") return { head: Math.floor(col / layer.d_head), column: col % layer.d_head };
  if (["q", "turned_q", "cos", "sin", "x", "output", "result"].includes(name)) return { column: col };
  return { key: col };
}

export type Mark = Source & { role: "a" | "b" | "is" };

/** The marks of a matrix: where the terms of the explained cell stand, and the cell itself. */
export function marksOf(layer: Layer, cell: Cell, name: string): Mark[] {
  const terms = sourcesOf(layer, cell).map((source, i): Mark => ({ ...source, role: i ? "b" : "a" }));
  return [...terms, { ...cell, role: "is" as const }].filter((mark) => mark.name === name);
}

/** A mark's role at a cell, the strongest first: the number itself, then its terms. */
export function roleAt(marks: Mark[], row: number, col: number): string | null {
  const here = marks
    .filter((mark) => (mark.row ?? row) === row && (mark.col ?? col) === col)
    .map(({ role }) => role);
  return (["is", "a", "b"] as const).find((role) => here.includes(role)) ?? null;
}

/** The largest size of finite numbers, at least a little above 0. */
export function limitOf(values: Iterable<number>): number {
  return Array.from(values)
    .filter(Number.isFinite)
    .reduce((limit, value) => Math.max(limit, Math.abs(value)), 1e-9);
}
