// Attention rollout: which input words a position's vector is made of, after several layers. Python has
// the same in analysis/rollout.py, which says what it leaves out, and a test holds the two equal.

import type { KindWeights } from "./measures.ts";

const RESIDUAL = 0.5; // share of the residual connection, as in the paper

/**
 * A self-attention stack: what each position is made of after each layer.
 *
 * @returns for each layer [position, input position]
 */
export function rolloutOf(attention: KindWeights): Float64Array[] {
  let rolled = identity(attention.rows); // each is made of itself
  return meanHeads(attention).map((layer) => {
    rolled = product(mixing(layer, attention.rows), rolled, attention.rows); // [position, position]
    return rolled;
  });
}

/**
 * Through an encoder, a decoder and cross-attention: which source words each written word is made of.
 *
 * @returns for each decoder layer [target, source]
 */
export function outputRolloutOf({
  encoder,
  decoder,
  cross,
}: {
  encoder: KindWeights;
  decoder: KindWeights;
  cross: KindWeights;
}): Float64Array[] {
  const memory = rolloutOf(encoder).pop()!; // [source, source]
  const [targets, sources] = [cross.rows, cross.cols];
  const own = meanHeads(decoder);
  let source = new Float64Array(targets * sources);
  return meanHeads(cross).map((looks, layer) => {
    // What cross-attention does not bring in (all of it, for a row of zeros) stays as it was.
    const brought = looks.map((weight) => (1 - RESIDUAL) * weight); // [target, source]
    const stayed = product(mixing(own[layer], targets), source, targets); // [target, source]
    const fromMemory = product(brought, memory, targets); // [target, source]
    source = fromMemory.map((share, i) => share + (1 - sumOfRow(brought, sources, i)) * stayed[i]);
    return source;
  });
}

/** The mean of each layer's heads, [query, key]. */
function meanHeads({ layers, heads, rows, cols, weights }: KindWeights) {
  return Array.from({ length: layers }, (_, layer) => {
    const mixed = new Float64Array(rows * cols);
    for (let head = 0; head < heads; head++) {
      const start = (layer * heads + head) * mixed.length;
      for (let i = 0; i < mixed.length; i++) mixed[i] += weights[start + i] / heads;
    }
    return mixed;
  });
}

/** The matrix of one layer; what a row lacks to 1 stays where it was. */
function mixing(attention: Float64Array, n: number) {
  const mixed = attention.map((weight) => (1 - RESIDUAL) * weight); // [position, position]
  for (let row = 0; row < n; row++)
    mixed[row * n + row] += 1 - sumOfRow(attention, n, row * n) * (1 - RESIDUAL);
  return mixed;
}

function sumOfRow(matrix: Float64Array, cols: number, at: number) {
  const start = at - (at % cols);
  let sum = 0;
  for (let i = start; i < start + cols; i++) sum += matrix[i];
  return sum;
}

/** The product of two matrices; `rows` are those of the first. */
function product(one: Float64Array, other: Float64Array, rows: number) {
  const inner = one.length / rows;
  const cols = other.length / inner;
  const result = new Float64Array(rows * cols);
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < inner; i++) {
      const factor = one[row * inner + i];
      if (factor === 0) continue;
      for (let col = 0; col < cols; col++) result[row * cols + col] += factor * other[i * cols + col];
    }
  }
  return result;
}

function identity(n: number) {
  return new Float64Array(n * n).map((_, i) => Number(i % (n + 1) === 0));
}
