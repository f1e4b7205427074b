// The arithmetic of one attention head: from x and the matrices to every number of one query.
//
// viz_transformer/trace/steps.py computes the same in numpy; a test compares the two.

import { decodeWeights } from "../bytes.ts";
import { formatNumber } from "../text.ts";

/** The steps in order; only rotary positions turn, only a mask masks, and a layer without W_O ends earlier. */
const STEPS = [
  ...["x", "q", "turned_q", "k", "turned_k", "v", "scores", "scaled"],
  ...["masked", "weights", "output", "concat", "result"],
];
const ARRAYS = ["x", "memory", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"] as const;
const TURNS = ["cos", "sin"] as const; // of rotary positions, [position, d_head]

type Values = ArrayLike<number> & Iterable<number>;

export interface Matrix {
  rows: number;
  cols: number;
  /** In C order. */
  values: Values;
  at: (row: number, col: number) => number;
}

type Arrays = {
  [name in Exclude<(typeof ARRAYS | typeof TURNS)[number], "x" | "w_q" | "w_k" | "w_v">]: Float32Array | null;
};

interface Names {
  text: string;
  kind: "encoder" | "decoder" | "cross";
  layer: number;
  queries: string[];
  keys: string[];
  /** What a decoder reads where it writes each of `queries`. */
  reads: string[] | null;
  heads: number;
  d_model: number;
  d_head: number;
  /** Whether a norm of the layer has just rescaled x. */
  normed?: boolean;
  /** What the scores are divided by; absent for √d_head. */
  divisor?: number | null;
  /** Of rotary positions, for each number of a vector the index of its partner. */
  partner?: number[] | null;
}

/** A layer as it was sent: its arrays as bytes. */
export type SentLayer = Names & { [name in (typeof ARRAYS)[number] | "mask"]: DataView | null } & {
  [name in (typeof TURNS)[number]]?: DataView | null;
};

/** A layer, its arrays as numbers; an array that it does not have is null. */
export interface Layer extends Arrays, Names {
  steps: string[];
  d_out: number;
  /** [query, d_model]. */
  x: Float32Array;
  /** What keys and values are made of: `memory`, or else `x`. */
  seen: Float32Array;
  /** [head, d_model, d_head]; of keys and values there may be fewer heads, each of which serves several. */
  w_q: Float32Array;
  w_k: Float32Array;
  w_v: Float32Array;
  /** [query, key], 1 where the query may look. */
  mask: Uint8Array | null;
}

/** What the viewer chose; all indices count from 0. */
export interface Choice {
  step: number;
  head: number;
  query: number;
  /** The key that is followed through the steps. */
  key: number | null;
  /** The number of a vector that is followed. */
  column: number | null;
  scale: boolean;
  mask: boolean;
  temperature: number;
}

/** Every matrix on the way of one query through one head, by name; those that the layer lacks are absent. */
export interface ComputedHead {
  matrices: Record<string, Matrix>;
  divisor: number;
  /** The largest score. */
  top: number;
  /** Of the exponentials. */
  sum: number;
}

/** A matrix of `rows` × `cols` numbers. */
export function matrixOf(rows: number, cols: number, values: Values): Matrix {
  return { rows, cols, values, at: (row, col) => values[row * cols + col] ?? 0 };
}

/** The matrix of that name. */
export function matrixNamed({ matrices }: ComputedHead, name: string): Matrix {
  return matrices[name] ?? matrixOf(0, 0, []);
}

/** The layer as it was sent, with its bytes as numbers, and the steps that it has. */
export function unpackSteps(data: SentLayer): Layer {
  const numbers: Record<string, Float32Array | null> = Object.fromEntries(
    [...ARRAYS, ...TURNS].map((name) => [name, data[name] ? decodeWeights(data[name], "float32") : null]),
  );
  const { mask } = data;
  const missing = [
    ...(mask ? [] : ["masked"]),
    ...(numbers.w_o ? [] : ["concat", "result"]),
    ...(numbers.cos ? [] : ["turned_q", "turned_k"]),
  ];
  return {
    ...data,
    ...numbers,
    steps: STEPS.filter((step) => !missing.includes(step)),
    seen: numbers.memory ?? numbers.x,
    mask: mask ? new Uint8Array(mask.buffer, mask.byteOffset, mask.byteLength) : null,
    d_out: numbers.w_o ? numbers.w_o.length / (data.heads * data.d_head) : 0,
  } as unknown as Layer;
}

/** The choices made to fit a layer, as Python fits them. */
export function fitChoice(layer: Layer, chosen: Choice): Choice {
  const inside = (index: number, count: number) => Math.min(Math.max(index ?? 0, 0), count - 1);
  return {
    ...chosen,
    step: inside(chosen.step, layer.steps.length),
    head: inside(chosen.head, layer.heads),
    query: inside(chosen.query, layer.queries.length),
    key: chosen.key === null || chosen.key >= layer.keys.length ? null : chosen.key,
  };
}

/** What the layer's scores are divided by, where they are divided. */
export const rootOf = ({ divisor, d_head }: Layer): number => divisor ?? Math.sqrt(d_head);

/** The same as it is written. */
export const rootName = ({ divisor, d_head }: Layer): string =>
  divisor == null ? `√${d_head}` : formatNumber(divisor, 2);

/** How many heads one head of keys and values serves. */
export const sharing = ({ heads, w_k, d_model, d_head }: Layer): number =>
  heads / (w_k.length / (d_model * d_head));

/** One head's bias of q, k or v ("b_q", …) as a row, or null. */
function headBias(layer: Layer, name: "b_q" | "b_k" | "b_v", head: number): Matrix | null {
  const part = layer[name]?.subarray(head * layer.d_head, (head + 1) * layer.d_head);
  return part ? matrixOf(1, layer.d_head, part) : null;
}

/** The product of two matrices, with a bias added to every row. */
export function matmul(a: Matrix, b: Matrix, bias: Matrix | null = null): Matrix {
  const values = new Float64Array(a.rows * b.cols); // [a.rows, b.cols]
  const [left, right] = [a.values, b.values];
  for (let row = 0; row < a.rows; row++) {
    const start = row * b.cols;
    for (let i = 0; i < a.cols; i++) {
      const factor = left[row * a.cols + i] ?? 0;
      for (let col = 0; col < b.cols; col++) values[start + col]! += factor * (right[i * b.cols + col] ?? 0);
    }
    if (bias) for (let col = 0; col < b.cols; col++) values[start + col]! += bias.at(0, col);
  }
  return matrixOf(a.rows, b.cols, values);
}

function transpose(a: Matrix): Matrix {
  const values = Float64Array.from({ length: a.rows * a.cols }, (_, i) =>
    a.at(i % a.rows, Math.floor(i / a.rows)),
  );
  return matrixOf(a.cols, a.rows, values); // [a.cols, a.rows]
}

/** The softmax of a row of scores; all zeros where every score is −∞. */
export function softmaxRow(scores: Iterable<number>) {
  const row = Array.from(scores);
  const top = row.reduce((most, score) => Math.max(most, score), -Infinity);
  // The largest is taken off first: the weights stay the same, and e to it cannot overflow.
  const exponentials = row.map((score) => (top > -Infinity ? Math.exp(score - top) : 0));
  const sum = exponentials.reduce((total, each) => total + each, 0);
  return { top, sum, exponentials, weights: exponentials.map((each) => (sum ? each / sum : 0)) };
}

/** Every matrix on the way of one query through one head. */
export function computeHead(layer: Layer, chosen: Choice): ComputedHead {
  const worked = attendHead(layer, chosen);
  if (!layer.w_o) return worked;
  const outputs = Array.from({ length: layer.heads }, (_, head) =>
    matrixNamed(head === chosen.head ? worked : attendHead(layer, { ...chosen, head }), "output"),
  );
  const values = Float64Array.from(outputs.flatMap((output) => Array.from(output.values)));
  const concat = matrixOf(1, values.length, values); // [1, head × d_head]
  const w_o = matrixOf(values.length, layer.d_out, layer.w_o);
  const b_o = layer.b_o && matrixOf(1, layer.d_out, layer.b_o);
  const result = matmul(concat, w_o, b_o); // [1, d_out]
  const heads = matrixOf(layer.heads, layer.d_head, values);
  return { ...worked, matrices: { ...worked.matrices, ...(b_o && { b_o }), w_o, concat, heads, result } };
}

/** One head, without the matrix that mixes the heads. */
function attendHead(layer: Layer, chosen: Choice): ComputedHead {
  const { d_model: dModel, d_head: dHead } = layer;
  const { head, query } = chosen;
  const served = Math.floor(head / sharing(layer));
  const part = (all: Float32Array, at = served) =>
    matrixOf(dModel, dHead, all.subarray(at * dModel * dHead, (at + 1) * dModel * dHead));
  const x = matrixOf(1, dModel, layer.x.subarray(query * dModel, (query + 1) * dModel));
  const seen = matrixOf(layer.keys.length, dModel, layer.seen);
  const [w_q, w_k, w_v] = [part(layer.w_q, head), part(layer.w_k), part(layer.w_v)];
  const b_q = headBias(layer, "b_q", head);
  const b_k = headBias(layer, "b_k", served);
  const b_v = headBias(layer, "b_v", served);
  const q = matmul(x, w_q, b_q); // [1, d_head]
  const k = matmul(seen, w_k, b_k); // [key, d_head]
  const v = matmul(seen, w_v, b_v); // [key, d_head]
  const turned = turnedBy(layer, query, q, k);
  const k_t = transpose(turned.turned_k ?? k); // [d_head, key]
  const scores = matmul(turned.turned_q ?? q, k_t); // [1, key]
  const { rows, ...numbers } = attend(layer, chosen, scores);
  const all = matrixOf(layer.queries.length, dModel, layer.x);
  const output = matmul(rows.weights, v); // [1, d_head]
  const biases = { ...(b_q && { b_q }), ...(b_k && { b_k }), ...(b_v && { b_v }) };
  return {
    ...numbers,
    matrices: { all, x, seen, w_q, w_k, w_v, ...biases, q, k, v, ...turned, k_t, scores, ...rows, output },
  };
}

/** A query and the keys turned by their positions; nothing where positions are not rotary. */
function turnedBy({ cos, sin, partner, d_head }: Layer, query: number, q: Matrix, k: Matrix) {
  if (!cos || !sin || !partner) return {};
  const rowsOf = (all: Float32Array, from: number, rows: number) =>
    matrixOf(rows, d_head, all.subarray(from * d_head, (from + rows) * d_head));
  const turn = ({ rows, values }: Matrix, from: number) =>
    matrixOf(
      rows,
      d_head,
      Float64Array.from(values, (value, at) => {
        const col = at % d_head;
        const other = values[at - col + partner[col]!]!;
        return value * cos[from * d_head + at]! + other * sin[from * d_head + at]!;
      }),
    );
  return {
    cos: rowsOf(cos, query, 1),
    sin: rowsOf(sin, query, 1),
    turned_q: turn(q, query),
    turned_k: turn(k, 0),
  } as Record<string, Matrix>;
}

/** From a query's scores to its weights, over all keys. */
function attend(layer: Layer, { query, scale, mask, temperature }: Choice, scores: Matrix) {
  const n = layer.keys.length;
  const row = (values: number[]) => matrixOf(1, n, Float64Array.from(values));
  const divisor = (scale ? rootOf(layer) : 1) * temperature;
  const scaled = Array.from(scores.values, (score) => score / divisor);
  const allowed = scaled.map((_, key) => (!mask || !layer.mask ? 1 : (layer.mask[query * n + key] ?? 0)));
  const masked = scaled.map((score, key) => (allowed[key] ? score : -Infinity));
  const { top, sum, exponentials, weights } = softmaxRow(masked);
  const rows = {
    scaled: row(scaled),
    allowed: row(allowed),
    masked: row(masked),
    exponentials: row(exponentials),
    weights: row(weights),
  };
  return { divisor, top, sum, rows };
}

/** The index of the largest of a row's numbers that is finite, or 0. */
export function argmaxFinite(values: Values): number {
  return Array.from(values).reduce((best, value, i, all) => {
    const most = all[best] ?? -Infinity;
    return Number.isFinite(value) && (value > most || !Number.isFinite(most)) ? i : best;
  }, 0);
}
