// Scoring functions, which compare queries with keys in every head, and the softmax behind them.
//
// The paper compares by the dot product, divided by √d_head; before it, Bahdanau compared by a small
// network. Queries and keys are matrices [position, head · d_head]: the heads stand side by side.

import { readParameter, type Weights } from "./parameters.ts";
import type { Matrix } from "./matrix.ts";

/**
 * Score by the dot product, and multiply it by `scale`: 1/√d_head brings its variance back to 1. [head,
 * query, key]
 *
 * Source: Vaswani et al. 2017, section 3.2.1.
 */
export function dotScores(query: Matrix, key: Matrix, nHeads: number, scale: number): Float32Array {
  const dHead = query.cols / nHeads;
  const [q, k] = [query.data, key.data];
  const scores = new Float32Array(nHeads * query.rows * key.rows); // [head, query, key]
  let at = 0;
  for (let head = 0; head < nHeads; head++) {
    for (let i = 0; i < query.rows; i++) {
      const ofQuery = i * query.cols + head * dHead;
      for (let j = 0; j < key.rows; j++) {
        const ofKey = j * key.cols + head * dHead;
        let sum = 0;
        for (let d = 0; d < dHead; d++) sum += q[ofQuery + d] * k[ofKey + d];
        scores[at++] = sum * scale;
      }
    }
  }
  return scores;
}

/** A network with one hidden layer, its own in every head. */
export interface Additive {
  /** [head, d_a, d_head] */
  wQ: Float32Array;
  /** [head, d_a, d_head] */
  wK: Float32Array;
  /** [head, d_a] */
  v: Float32Array;
}

/** The networks of all heads; a hidden layer is as wide as a head. */
export function readAdditive(weights: Weights, name: string, nHeads: number, dHead: number): Additive {
  return {
    wQ: readParameter(weights, `${name}.w_q`, [nHeads, dHead, dHead]),
    wK: readParameter(weights, `${name}.w_k`, [nHeads, dHead, dHead]),
    v: readParameter(weights, `${name}.v`, [nHeads, dHead]),
  };
}

/**
 * Score by a network: vᵀ tanh(W_q q + W_k k). [head, query, key]
 *
 * Source: Bahdanau et al. 2015, section 3.1 and appendix A.1.2.
 */
export function additiveScores(
  query: Matrix,
  key: Matrix,
  nHeads: number,
  { wQ, wK, v }: Additive,
): Float32Array {
  const dHead = query.cols / nHeads;
  const q = projectHeads(query, wQ, nHeads); // [query, head · d_a]
  const k = projectHeads(key, wK, nHeads); // [key, head · d_a]
  const scores = new Float32Array(nHeads * query.rows * key.rows); // [head, query, key]
  let at = 0;
  for (let head = 0; head < nHeads; head++) {
    for (let i = 0; i < query.rows; i++) {
      const ofQuery = i * query.cols + head * dHead;
      for (let j = 0; j < key.rows; j++) {
        const ofKey = j * key.cols + head * dHead;
        let sum = 0;
        for (let a = 0; a < dHead; a++) sum += v[head * dHead + a] * Math.tanh(q[ofQuery + a] + k[ofKey + a]);
        scores[at++] = sum;
      }
    }
  }
  return scores;
}

/** Multiply each head's part of every row by that head's own matrix [d_a, d_head]. */
function projectHeads(x: Matrix, w: Float32Array, nHeads: number) {
  const dHead = x.cols / nHeads;
  const projected = new Float32Array(x.data.length); // [row, head · d_a]
  for (let i = 0; i < projected.length; i++) {
    const first = i - (i % dHead); // of the head's part of the row
    const row = (i % x.cols) * dHead; // of the head's matrix
    let sum = 0;
    for (let d = 0; d < dHead; d++) sum += w[row + d] * x.data[first + d];
    projected[i] = sum;
  }
  return projected;
}

/**
 * Turn each row of scores, in place, into weights that sum to 1, or to 0 where nothing may be attended. The
 * scores are [head, query, key], and divided by the temperature; all heads have one mask [query, key].
 */
export function maskedSoftmax(scores: Float32Array, mask: Uint8Array, nKeys: number, temperature: number) {
  for (let first = 0; first < scores.length; first += nKeys) {
    const ofMask = first % mask.length;
    let [largest, total] = [-Infinity, 0];
    for (let key = 0; key < nKeys; key++) {
      if (mask[ofMask + key] && scores[first + key] > largest) largest = scores[first + key];
    }
    for (let key = 0; key < nKeys; key++) {
      // Less the largest, no exponential is above 1: e^(s - m) / Σ e^(s - m) = e^s / Σ e^s.
      const share = mask[ofMask + key] ? Math.exp((scores[first + key] - largest) / temperature) : 0;
      scores[first + key] = share;
      total += share;
    }
    if (total === 0) continue; // the row stays zeros, and does not become NaN
    for (let key = 0; key < nKeys; key++) scores[first + key] /= total;
  }
}
