// The arithmetic of the stepper: from x and the matrices to every number of one query of one head.
//
// viz_transformer/trace/steps.py computes the same in numpy; a test compares the two.

import { decodeWeights } from "../base/js/weights.js";

const MATRICES = ["x", "memory", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"];

/** A matrix: `rows` × `cols` numbers, `at(row, col)`. */
export function matrixOf(rows, cols, values) {
  return { rows, cols, values, at: (row, col) => values[row * cols + col] };
}

/** The layer as Python sent it, with its bytes as numbers; an array that it has not is null. */
export function unpackSteps(data) {
  const numbers = Object.fromEntries(
    MATRICES.map((name) => [name, data[name] ? decodeWeights(data[name], "float32") : null]),
  );
  const { mask } = data;
  return {
    ...data,
    ...numbers,
    seen: numbers.memory ?? numbers.x,
    mask: mask ? new Uint8Array(mask.buffer, mask.byteOffset, mask.byteLength) : null,
    d_out: numbers.w_o ? numbers.w_o.length / (data.heads * data.d_head) : 0,
  };
}

/** One head's [d_model, d_head] part of W_Q, W_K or W_V ("q", "k", "v"). */
export function weightOf(layer, name, head) {
  const size = layer.d_model * layer.d_head;
  const part = layer[`w_${name}`].subarray(head * size, (head + 1) * size);
  return matrixOf(layer.d_model, layer.d_head, part);
}

/** One head's bias of q, k or v, or null. */
export function biasOf(layer, name, head) {
  return layer[`b_${name}`]?.subarray(head * layer.d_head, (head + 1) * layer.d_head) ?? null;
}

/** The product of two matrices, with a bias added to every row. */
export function product(a, b, bias = null) {
  const values = new Float64Array(a.rows * b.cols);
  for (let row = 0; row < a.rows; row++) {
    for (let col = 0; col < b.cols; col++) {
      let sum = 0;
      for (let i = 0; i < a.cols; i++) sum += a.values[row * a.cols + i] * b.values[i * b.cols + col];
      values[row * b.cols + col] = sum + (bias ? bias[col] : 0);
    }
  }
  return matrixOf(a.rows, b.cols, values);
}

export function transposed(a) {
  const values = new Float64Array(a.values.length);
  for (let row = 0; row < a.rows; row++) {
    for (let col = 0; col < a.cols; col++) values[col * a.rows + row] = a.values[row * a.cols + col];
  }
  return matrixOf(a.cols, a.rows, values);
}

/** Weights of a row of scores: {exponentials, weights, top}; all zeros where nothing may be looked at. */
export function softmaxRow(scores) {
  const top = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  // The largest is taken off first: the weights stay the same, and e to it cannot overflow.
  const exponentials = Array.from(scores, (score) => (top > -Infinity ? Math.exp(score - top) : 0));
  const sum = exponentials.reduce((total, each) => total + each, 0);
  return { top, sum, exponentials, weights: exponentials.map((each) => (sum ? each / sum : 0)) };
}

/** What the scores are divided by. */
export function divisorOf(layer, { scale, temperature }) {
  return (scale ? Math.sqrt(layer.d_head) : 1) * temperature;
}

/** Whether a query may look at a key. */
export function mayLook(layer, query, key, masked) {
  return !masked || !layer.mask || layer.mask[query * layer.keys.length + key] === 1;
}

/** Every matrix on the way of one query through one head; `chosen` is {head, query, scale, mask, temperature}. */
export function workThrough(layer, chosen) {
  const own = attendHead(layer, chosen);
  if (!layer.w_o) return own;
  const heads = new Float64Array(layer.heads * layer.d_head);
  for (let head = 0; head < layer.heads; head++) {
    const { output } = head === chosen.head ? own : attendHead(layer, { ...chosen, head });
    heads.set(output.values, head * layer.d_head);
  }
  const concat = matrixOf(1, heads.length, heads);
  const w_o = matrixOf(heads.length, layer.d_out, layer.w_o);
  const b_o = layer.b_o && matrixOf(1, layer.d_out, layer.b_o);
  return {
    ...own,
    w_o,
    b_o,
    concat,
    heads: matrixOf(layer.heads, layer.d_head, heads),
    result: product(concat, w_o, layer.b_o),
  };
}

function attendHead(layer, chosen) {
  const { head, query, mask } = chosen;
  const n = layer.keys.length;
  const all = matrixOf(layer.queries.length, layer.d_model, layer.x);
  const x = matrixOf(1, layer.d_model, layer.x.subarray(query * layer.d_model, (query + 1) * layer.d_model));
  const seen = matrixOf(n, layer.d_model, layer.seen);
  const [w_q, w_k, w_v] = ["q", "k", "v"].map((name) => weightOf(layer, name, head));
  const q = product(x, w_q, biasOf(layer, "q", head));
  const k = product(seen, w_k, biasOf(layer, "k", head));
  const v = product(seen, w_v, biasOf(layer, "v", head));
  const k_t = transposed(k);
  const scores = product(q, k_t);
  const divisor = divisorOf(layer, chosen);
  const scaled = matrixOf(
    1,
    n,
    scores.values.map((score) => score / divisor),
  );
  const allowed = matrixOf(
    1,
    n,
    Float64Array.from({ length: n }, (_, key) => Number(mayLook(layer, query, key, mask))),
  );
  const masked = matrixOf(
    1,
    n,
    scaled.values.map((score, key) => (allowed.values[key] ? score : -Infinity)),
  );
  const soft = softmaxRow(masked.values);
  const weights = matrixOf(1, n, Float64Array.from(soft.weights));
  const [b_q, b_k, b_v] = ["q", "k", "v"].map((name) => {
    const bias = biasOf(layer, name, head);
    return bias && matrixOf(1, layer.d_head, bias);
  });
  return {
    b_q,
    b_k,
    b_v,
    all,
    x,
    seen,
    w_q,
    w_k,
    w_v,
    q,
    k,
    v,
    k_t,
    scores,
    divisor,
    scaled,
    allowed,
    masked,
    exponentials: matrixOf(1, n, Float64Array.from(soft.exponentials)),
    top: soft.top,
    sum: soft.sum,
    weights,
    output: product(weights, v),
  };
}

/** The index of the largest of a row's numbers that is finite, or 0. */
export function largest(values) {
  let best = 0;
  values.forEach((value, index) => {
    if (value > values[best] || !Number.isFinite(values[best])) best = Number.isFinite(value) ? index : best;
  });
  return best;
}
