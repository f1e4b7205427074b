// The arithmetic of one attention head: from x and the matrices to every number of one query.
//
// viz_transformer/trace/steps.py computes the same in numpy; a test compares the two.

import { decodeWeights } from "../base/js/weights.js";

/** The steps in order; a layer without a mask has no "masked", one without W_O ends earlier. */
const STEPS = ["x", "q", "k", "v", "scores", "scaled", "masked", "weights", "output", "concat", "result"];
const ARRAYS = ["x", "memory", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"];

/**
 * @typedef {{ rows: number, cols: number, values: ArrayLike<number> & Iterable<number>,
 *   at: (row: number, col: number) => number }} Matrix
 */

/**
 * A layer, its arrays as numbers; an array that it does not have is null.
 *
 * @typedef {object} Layer
 * @property {string} text
 * @property {"encoder" | "decoder" | "cross"} kind
 * @property {number} layer
 * @property {string[]} steps
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {string[] | null} reads what a decoder reads where it writes each of `queries`
 * @property {number} heads
 * @property {number} d_model
 * @property {number} d_head
 * @property {number} d_out
 * @property {Float32Array} x [query, d_model]
 * @property {Float32Array | null} memory [key, d_model]
 * @property {Float32Array} seen what keys and values are made of: `memory`, or else `x`
 * @property {Float32Array} w_q [head, d_model, d_head]
 * @property {Float32Array} w_k [head, d_model, d_head]
 * @property {Float32Array} w_v [head, d_model, d_head]
 * @property {Float32Array | null} w_o [head × d_head, d_out]
 * @property {Float32Array | null} b_q [head, d_head]
 * @property {Float32Array | null} b_k [head, d_head]
 * @property {Float32Array | null} b_v [head, d_head]
 * @property {Float32Array | null} b_o [d_out]
 * @property {Uint8Array | null} mask [query, key], 1 where the query may look
 */

/**
 * What the viewer chose; all indices count from 0.
 *
 * @typedef {object} Choice
 * @property {number} [step]
 * @property {number} head
 * @property {number} query
 * @property {number | null} [key] the key that is followed through the steps
 * @property {number | null} [column] the number of a vector that is followed
 * @property {boolean} scale
 * @property {boolean} mask
 * @property {number} temperature
 */

/**
 * Every matrix on the way of one query through one head, and the numbers of its softmax. Without a
 * W_O the last five are missing.
 *
 * @typedef {object} ComputedHead
 * @property {Matrix} all x of all queries
 * @property {Matrix} x
 * @property {Matrix} seen
 * @property {Matrix} w_q
 * @property {Matrix} w_k
 * @property {Matrix} w_v
 * @property {Matrix | null} b_q
 * @property {Matrix | null} b_k
 * @property {Matrix | null} b_v
 * @property {Matrix} q
 * @property {Matrix} k
 * @property {Matrix} v
 * @property {Matrix} k_t
 * @property {Matrix} scores
 * @property {number} divisor
 * @property {Matrix} scaled
 * @property {Matrix} allowed
 * @property {Matrix} masked
 * @property {number} top the largest score
 * @property {Matrix} exponentials
 * @property {number} sum of `exponentials`
 * @property {Matrix} weights
 * @property {Matrix} output
 * @property {Matrix} [heads] the outputs of all heads
 * @property {Matrix} [concat]
 * @property {Matrix} [w_o]
 * @property {Matrix | null} [b_o]
 * @property {Matrix} [result]
 */

/**
 * A matrix: `rows` × `cols` numbers, `at(row, col)`.
 *
 * @param {number} rows
 * @param {number} cols
 * @param {ArrayLike<number> & Iterable<number>} values in C order
 * @returns {Matrix}
 */
export function matrixOf(rows, cols, values) {
  return { rows, cols, values, at: (row, col) => values[row * cols + col] };
}

/**
 * The layer as it was sent, with its bytes as numbers, and the steps that it has.
 *
 * @param {Record<string, any>} data
 * @returns {Layer}
 */
export function unpackSteps(data) {
  const numbers = Object.fromEntries(
    ARRAYS.map((name) => [name, data[name] ? decodeWeights(data[name], "float32") : null]),
  );
  const { mask } = data;
  const missing = [...(mask ? [] : ["masked"]), ...(numbers.w_o ? [] : ["concat", "result"])];
  return /** @type {Layer} */ ({
    ...data,
    ...numbers,
    steps: STEPS.filter((step) => !missing.includes(step)),
    seen: numbers.memory ?? numbers.x,
    mask: mask ? new Uint8Array(mask.buffer, mask.byteOffset, mask.byteLength) : null,
    d_out: numbers.w_o ? numbers.w_o.length / (data.heads * data.d_head) : 0,
  });
}

/** One head's [d_model, d_head] part of W_Q, W_K or W_V ("q", "k", "v"). */
function headWeight(layer, name, head) {
  const size = layer.d_model * layer.d_head;
  const part = layer[`w_${name}`].subarray(head * size, (head + 1) * size);
  return matrixOf(layer.d_model, layer.d_head, part);
}

/**
 * One head's bias of q, k or v, or null.
 *
 * @param {Layer} layer
 * @param {string} name
 * @param {number} head
 * @returns {Float32Array | null}
 */
export function headBias(layer, name, head) {
  return layer[`b_${name}`]?.subarray(head * layer.d_head, (head + 1) * layer.d_head) ?? null;
}

/**
 * The product of two matrices, with a bias added to every row.
 *
 * @param {Matrix} a
 * @param {Matrix} b
 * @param {ArrayLike<number> | null} [bias]
 * @returns {Matrix}
 */
export function matmul(a, b, bias = null) {
  const values = new Float64Array(a.rows * b.cols); // [a.rows, b.cols]
  for (let row = 0; row < a.rows; row++) {
    for (let col = 0; col < b.cols; col++) {
      let sum = 0;
      for (let i = 0; i < a.cols; i++) sum += a.values[row * a.cols + i] * b.values[i * b.cols + col];
      values[row * b.cols + col] = sum + (bias ? bias[col] : 0);
    }
  }
  return matrixOf(a.rows, b.cols, values);
}

/**
 * @param {Matrix} a
 * @returns {Matrix}
 */
export function transpose(a) {
  const values = new Float64Array(a.values.length); // [a.cols, a.rows]
  for (let row = 0; row < a.rows; row++) {
    for (let col = 0; col < a.cols; col++) values[col * a.rows + row] = a.values[row * a.cols + col];
  }
  return matrixOf(a.cols, a.rows, values);
}

/**
 * The softmax of a row of scores; all zeros where every score is −∞.
 *
 * @param {number[] | Float64Array} scores
 * @returns {{ top: number, sum: number, exponentials: number[], weights: number[] }}
 */
export function softmaxRow(scores) {
  let top = -Infinity;
  for (const score of scores) top = Math.max(top, score);
  // The largest is taken off first: the weights stay the same, and e to it cannot overflow.
  const exponentials = Array.from(scores, (score) => (top > -Infinity ? Math.exp(score - top) : 0));
  const sum = exponentials.reduce((total, each) => total + each, 0);
  return { top, sum, exponentials, weights: exponentials.map((each) => (sum ? each / sum : 0)) };
}

/** Whether a query may look at a key. */
function isAllowed(layer, query, key, masked) {
  return !masked || !layer.mask || layer.mask[query * layer.keys.length + key] === 1;
}

/**
 * Every matrix on the way of one query through one head.
 *
 * @param {Layer} layer
 * @param {Choice} chosen
 * @returns {ComputedHead}
 */
export function computeHead(layer, chosen) {
  const worked = attendHead(layer, chosen);
  if (!layer.w_o) return worked;
  const heads = new Float64Array(layer.heads * layer.d_head);
  for (let head = 0; head < layer.heads; head++) {
    const { output } = head === chosen.head ? worked : attendHead(layer, { ...chosen, head });
    heads.set(output.values, head * layer.d_head);
  }
  const concat = matrixOf(1, heads.length, heads); // [1, head × d_head]
  const w_o = matrixOf(heads.length, layer.d_out, layer.w_o);
  const b_o = layer.b_o && matrixOf(1, layer.d_out, layer.b_o);
  return {
    ...worked,
    w_o,
    b_o,
    concat,
    heads: matrixOf(layer.heads, layer.d_head, heads),
    result: matmul(concat, w_o, layer.b_o), // [1, d_out]
  };
}

/** One head, without the matrix that mixes the heads. */
function attendHead(layer, chosen) {
  const { head, query } = chosen;
  const x = matrixOf(1, layer.d_model, layer.x.subarray(query * layer.d_model, (query + 1) * layer.d_model));
  const seen = matrixOf(layer.keys.length, layer.d_model, layer.seen);
  const [w_q, w_k, w_v] = ["q", "k", "v"].map((name) => headWeight(layer, name, head));
  const q = matmul(x, w_q, headBias(layer, "q", head)); // [1, d_head]
  const k = matmul(seen, w_k, headBias(layer, "k", head)); // [key, d_head]
  const v = matmul(seen, w_v, headBias(layer, "v", head)); // [key, d_head]
  const k_t = transpose(k); // [d_head, key]
  const scores = matmul(q, k_t); // [1, key]
  const attention = attend(layer, chosen, scores);
  const [b_q, b_k, b_v] = ["q", "k", "v"].map((name) => {
    const bias = headBias(layer, name, head);
    return bias && matrixOf(1, layer.d_head, bias);
  });
  const all = matrixOf(layer.queries.length, layer.d_model, layer.x);
  const output = matmul(attention.weights, v); // [1, d_head]
  return { b_q, b_k, b_v, all, x, seen, w_q, w_k, w_v, q, k, v, k_t, scores, ...attention, output };
}

/** From a query's scores to its weights, over all keys. */
function attend(layer, { query, scale, mask, temperature }, scores) {
  const n = layer.keys.length;
  const row = (values) => matrixOf(1, n, values);
  const divisor = (scale ? Math.sqrt(layer.d_head) : 1) * temperature;
  const scaled = scores.values.map((score) => score / divisor);
  const allowed = Float64Array.from({ length: n }, (_, key) => Number(isAllowed(layer, query, key, mask)));
  const masked = scaled.map((score, key) => (allowed[key] ? score : -Infinity));
  const { top, sum, exponentials, weights } = softmaxRow(masked);
  return {
    divisor,
    scaled: row(scaled),
    allowed: row(allowed),
    masked: row(masked),
    exponentials: row(Float64Array.from(exponentials)),
    top,
    sum,
    weights: row(Float64Array.from(weights)),
  };
}

/**
 * The index of the largest of a row's numbers that is finite, or 0.
 *
 * @param {ArrayLike<number>} values
 * @returns {number}
 */
export function argmaxFinite(values) {
  let best = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i]) && (values[i] > values[best] || !Number.isFinite(values[best]))) best = i;
  }
  return best;
}
