// Where a number comes from: its terms, and the rows and columns that they stand in.

import { formatNumber } from "../text.ts";
import { type Choice, type ComputedHead, type Layer, matrixNamed, rootName } from "./arithmetic.ts";

/** A place in one of the matrices that computeHead returns. */
export interface Cell {
  name: string;
  row: number;
  col: number;
}

/** Places that a cell is computed from; a null row or column is all of it. */
export interface Source {
  name: string;
  row: number | null;
  col: number | null;
}

/**
 * A piece of a formula: its kind and its text. "a" and "b" are the terms (marked in the two
 * pictures), "bias" a bias, "is" the number itself, "op" what stands between, "more" the terms left out.
 */
export type Part = readonly [kind: string, text: string];

/** What a formula is written from. */
interface Worked {
  layer: Layer;
  worked: ComputedHead;
  chosen: Choice;
  /** Whether every term of a long sum is written. */
  whole: boolean;
}

/** The parts of a formula, from kinds and texts in turn. */
export const parts = (...told: string[]): Part[] =>
  told.flatMap((text, at) => (at % 2 ? [[told[at - 1]!, text] as const] : []));

const FEW_TERMS = 9; // of a longer sum only the largest terms are shown
const LARGEST = 5;

/** The products: what is multiplied to make each, and the bias that is added. */
const PRODUCTS: Record<string, readonly [a: string, b: string, bias: string | null]> = {
  q: ["x", "w_q", "b_q"],
  k: ["seen", "w_k", "b_k"],
  v: ["seen", "w_v", "b_v"],
  scores: ["q", "k_t", null],
  output: ["weights", "v", null],
  result: ["concat", "w_o", "b_o"],
};

const COMPUTED_WITH: Record<string, string> = {
  all: "x",
  seen: "x",
  allowed: "masked",
  exponentials: "weights",
  heads: "output",
};

const isTurned = (layer: Layer) => layer.steps.includes("turned_q");

/** What is multiplied to make a matrix that is a product, and the bias that is added. */
export const productOf = (layer: Layer, name: string) =>
  name === "scores" && isTurned(layer) ? (["turned_q", "k_t", null] as const) : PRODUCTS[name];

/** The keys that the query is compared with. */
const comparedKeys = (layer: Layer) => (isTurned(layer) ? "turned_k" : "k");

/** The step that computes a matrix, or null for one that is given. */
export function stepOf(layer: Layer, name: string): string | null {
  const step = name === "k_t" ? comparedKeys(layer) : (COMPUTED_WITH[name] ?? name);
  return layer.steps.includes(step) ? step : null;
}

/** The places that a cell is computed from. */
export function sourcesOf(layer: Layer, { name, row, col }: Cell): Source[] {
  const product = productOf(layer, name);
  if (product) {
    const [a, b, bias] = product;
    const sources: Source[] = [
      { name: a, row, col: null },
      { name: b, row: null, col },
    ];
    return biasOf(layer, bias) ? [...sources, { name: biasOf(layer, bias) as string, row: 0, col }] : sources;
  }
  const at = (source: string) => ({ name: source, row, col });
  switch (name) {
    case "k_t":
      return sourcesOf(layer, { name: comparedKeys(layer), row: col, col: row });
    case "turned_q":
      return [at("q"), { name: "q", row, col: layer.partner?.[col] ?? col }, at("cos"), at("sin")];
    case "turned_k":
      return [at("k"), { name: "k", row, col: layer.partner?.[col] ?? col }];
    case "scaled":
      return [at("scores")];
    case "masked":
      return [at("scaled"), at("allowed")];
    case "exponentials":
      return [at(lastScores(layer))];
    case "weights":
      return [at("exponentials"), { name: "exponentials", row: null, col: null }];
    case "concat":
      return [{ name: "heads", row: Math.floor(col / layer.d_head), col: col % layer.d_head }];
    default:
      return [];
  }
}

/** A product's bias, where the layer has it. */
export function biasOf(layer: Layer, bias: string | null): string | null {
  return bias && layer[bias as "b_q"] ? bias : null;
}

/** The scores as they go into the softmax. */
export function lastScores(layer: Layer): string {
  return layer.steps.includes("masked") ? "masked" : "scaled";
}

const NOTHING_ALLOWED = parts("is", "0.00", "op", ", because no key may be attended to");

const value = ({ worked }: Worked, name: string, row: number, col: number) =>
  matrixNamed(worked, name).at(row, col);

/** How each number that is not a product's is written. */
const FORMULAS: Record<string, (state: Worked, cell: Cell) => Part[]> = {
  k_t: ({ layer, worked, chosen, whole }, { row, col }) =>
    formulaOf(layer, worked, chosen, { name: comparedKeys(layer), row: col, col: row }, whole),
  turned_q: (state, cell) => turnFormula(state, cell, "q", state.chosen.query),
  turned_k: (state, cell) => turnFormula(state, cell, "k", cell.row),
  scaled: (state, { row, col }) => [
    ["a", inDigits(value(state, "scores", row, col))],
    ...divisions(state.layer, state.chosen),
    ...equals(value(state, "scaled", row, col)),
  ],
  masked: (state, { row, col }) =>
    value(state, "allowed", 0, col) === 1
      ? parts("a", inDigits(value(state, "masked", row, col)), "op", ", because it may attend: it stays")
      : parts("a", inDigits(value(state, "scaled", 0, col)), "op", ", but it may not attend: ", "is", "−∞"),
  exponentials: (state, { row, col }) =>
    state.worked.top === -Infinity
      ? NOTHING_ALLOWED
      : [
          ["op", "e to the power of "],
          ["a", inDigits(value(state, lastScores(state.layer), 0, col))],
          ["op", " − "],
          ["b", bracketed(state.worked.top)],
          ...equals(value(state, "exponentials", row, col)),
        ],
  weights(state, { row, col }) {
    if (!state.worked.sum) return NOTHING_ALLOWED;
    const each = Array.from(matrixNamed(state.worked, "exponentials").values);
    const sum = sumOf(each, state.whole, (i) => [["b", inDigits(each[i] ?? 0)]]);
    return [
      ["a", inDigits(each[col] ?? 0)],
      ["op", " ÷ ("],
      ...sum,
      ["op", ")"],
      ...equals(value(state, "weights", row, col)),
    ];
  },
  concat: (state, { row, col }) => {
    const [head, at] = [Math.floor(col / state.layer.d_head), col % state.layer.d_head];
    return parts("op", `number ${at} of head ${head}: `, "is", inDigits(value(state, "concat", row, col)));
  },
  allowed: (state, { row, col }) =>
    parts("op", value(state, "allowed", row, col) ? "1: it may attend" : "0: it may not attend"),
};

/** A number written out on one line, as its parts. */
export function formulaOf(
  layer: Layer,
  worked: ComputedHead,
  chosen: Choice,
  cell: Cell,
  whole = false,
): Part[] {
  const state = { layer, worked, chosen, whole };
  if (productOf(layer, cell.name)) return productFormula(state, cell);
  const formula = FORMULAS[cell.name];
  return formula ? formula(state, cell) : [["is", inDigits(value(state, cell.name, cell.row, cell.col))]];
}

function productFormula(state: Worked, { name, row, col }: Cell): Part[] {
  const [a, b, bias] = productOf(state.layer, name) ?? ["x", "x", null];
  const [left, right] = [matrixNamed(state.worked, a), matrixNamed(state.worked, b)];
  const term = (i: number) => [left.at(row, i), right.at(i, col)] as const;
  const sizes = Array.from({ length: left.cols }, (_, i) => term(i)[0] * term(i)[1]);
  const sum = sumOf(sizes, state.whole, (i, first) =>
    parts("a", bracketed(term(i)[0], first), "op", "·", "b", bracketed(term(i)[1])),
  );
  const added = biasOf(state.layer, bias);
  const more = added ? parts("op", " + ", "bias", bracketed(value(state, added, 0, col))) : [];
  return [...sum, ...more, ...equals(value(state, name, row, col))];
}

/** A number that is turned: itself and its partner, each by what its position says. */
function turnFormula(state: Worked, { name, row, col }: Cell, from: string, position: number): Part[] {
  const { cos, sin, partner, d_head } = state.layer;
  const angle = (values: Float32Array | null) => bracketed(values?.[position * d_head + col] ?? 0);
  return [
    ...parts("a", bracketed(value(state, from, row, col), true), "op", "·", "b", angle(cos)),
    ...parts("op", " + ", "a", bracketed(value(state, from, row, partner?.[col] ?? col))),
    ...parts("op", "·", "b", angle(sin)),
    ...equals(value(state, name, row, col)),
  ];
}

const equals = (result: number) => parts("op", " = ", "is", inDigits(result));

function divisions(layer: Layer, { scale, temperature }: Choice): Part[] {
  const root = scale ? parts("op", " ÷ ", "b", rootName(layer)) : [];
  return temperature === 1 ? root : [...root, ...parts("op", " ÷ ", "b", inDigits(temperature))];
}

/** The terms of a sum with a plus between them; of a long sum the largest, and how many others are not 0. */
function sumOf(sizes: number[], whole: boolean, write: (i: number, first: boolean) => Part[]): Part[] {
  const size = (i: number) => Math.abs(sizes[i] ?? 0);
  const indices = sizes.map((_, i) => i);
  const cut = !whole && indices.length > FEW_TERMS;
  const bySize = indices.filter(size).sort((i, j) => size(j) - size(i) || i - j);
  const shown = cut && bySize.length ? bySize.slice(0, LARGEST).sort((i, j) => i - j) : indices;
  const plus: Part = ["op", " + "];
  const sum = shown.flatMap((i, at) => [...(at ? [plus] : []), ...write(i, at === 0)]);
  const left = bySize.length - shown.length;
  return cut && left > 0 ? [...sum, plus, ["more", `… ${left} smaller …`]] : sum;
}

/** A number to two decimals. */
export function inDigits(number: number): string {
  return formatNumber(number, 2);
}

/** A number inside a formula: in brackets if its minus sign would follow another sign. */
function bracketed(number: number, first = false): string {
  const text = inDigits(number);
  return text.startsWith("−") && !first ? `(${text})` : text;
}

/** A number to six significant digits, to compare with. */
export function sixDigits(number: number): string {
  return Number.isFinite(number) ? String(Number(number.toPrecision(6))) : number > 0 ? "inf" : "-inf";
}

/** A cell's name in the code. */
export function cellInCode(layer: Layer, chosen: Choice, { name, row, col }: Cell): string {
  const named: Record<string, string> = {
    x: `x[${chosen.query}, ${col}]`,
    all: `x[${row}, ${col}]`,
    seen: `${layer.memory ? "memory" : "x"}[${row}, ${col}]`,
    w_q: `W_Q[${row}, ${col}]`,
    w_k: `W_K[${row}, ${col}]`,
    w_v: `W_V[${row}, ${col}]`,
    w_o: `W_O[${row}, ${col}]`,
    b_q: `b_Q[${col}]`,
    b_k: `b_K[${col}]`,
    b_v: `b_V[${col}]`,
    b_o: `b_O[${col}]`,
    k: `k[${row}, ${col}]`,
    v: `v[${row}, ${col}]`,
    turned_k: `turned_k[${row}, ${col}]`,
    cos: `cos[${chosen.query}, ${col}]`,
    sin: `sin[${chosen.query}, ${col}]`,
    k_t: `${comparedKeys(layer)}[${col}, ${row}]`,
    allowed: `mask[${chosen.query}, ${col}]`,
    exponentials: `e[${col}]`,
    heads: `outputs_of_all_heads[${row}][${col}]`,
  };
  return named[name] ?? `${name}[${col}]`;
}
