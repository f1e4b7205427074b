// Scaled dot-product and multi-head attention.
//
// Letters in the shapes: `query` and `key` count positions, `d_model` is the width of a position's
// vector, `d_head` = d_model / n_heads the width of one head. The heads of a matrix stand side by side.
// Queries come in groups that share their keys: a whole sentence is one group, and in decoding each
// text under way is a group of one, its newest word.

import { patternWeights, type AttentionChanges } from "./interventions.ts";
import { linear, makeMatrix, rowsFrom, stackRows, type Linear, type Matrix } from "./matrix.ts";
import { readLinear, type Config, type Weights } from "./parameters.ts";
import { makeRotary, turnByPosition, type Rotary } from "./positions.ts";
import { additiveScores, dotScores, maskedSoftmax, readAdditive, type Additive } from "./scoring.ts";

/** One attention layer's parameters */
export interface MultiHead {
  nHeads: number;
  dHead: number;
  /** The queries' projection; W^Q is [W_1^Q … W_h^Q]. */
  wQ: Linear;
  wK: Linear;
  wV: Linear;
  /** The projection of what all heads say. */
  wO: Linear;
  scoring: "scaled_dot" | "dot" | "additive";
  additive: Additive | null;
  rotary: Rotary | null;
}

/** What queries look at, in every head of a layer */
export interface KeysValues {
  /** [key, head · d_head] */
  keys: Matrix;
  /** [key, head · d_head] */
  values: Matrix;
}

/**
 * Read the parameters of one attention layer. Cross-attention is never rotary: how far apart a source and a
 * target word stand says nothing.
 */
export function readAttention(config: Config, weights: Weights, name: string, isCross = false): MultiHead {
  const dHead = config.d_model / config.n_heads;
  const projection = (part: string) =>
    readLinear(weights, `${name}.${part}`, config.d_model, config.d_model, config.bias);
  return {
    nHeads: config.n_heads,
    dHead,
    wQ: projection("w_q"),
    wK: projection("w_k"),
    wV: projection("w_v"),
    wO: projection("w_o"),
    scoring: config.scoring,
    additive:
      config.scoring === "additive" ? readAdditive(weights, `${name}.score`, config.n_heads, dHead) : null,
    rotary: config.positional === "rotary" && !isCross ? makeRotary(config.max_length, dHead) : null,
  };
}

/**
 * Attention: softmax(score(Q, K)) V, and with the scaled dot product softmax(Q Kᵀ / √d_head) V. Queries
 * [query, head · d_head] under a mask [query, key] give the output [query, head · d_head] and the weights
 * [head, query, key]. Each row of weights sums to 1; the row of a query that may attend to nothing is all
 * zeros, and so is its output.
 *
 * The dot products of longer vectors are larger (their variance is d_head), and a softmax of large
 * numbers puts all its weight on one key: hence the √d_head.
 *
 * Source: Vaswani et al. 2017, section 3.2.1, equation 1.
 */
export function attend(
  layer: MultiHead,
  query: Matrix,
  { keys, values }: KeysValues,
  mask: Uint8Array,
  changes: AttentionChanges,
): { output: Matrix; weights: Float32Array } {
  const weights = scoresOf(layer, query, keys, changes.scale); // [head, query, key]
  maskedSoftmax(weights, mask, keys.rows, changes.temperature);
  const size = query.rows * keys.rows;
  for (const change of changes.heads) {
    if (!change.pattern) continue;
    weights.set(patternWeights(change, mask, query.rows, keys.rows, changes.step), change.head * size);
  }
  const output = weighValues(weights, values, layer.nHeads, query.rows); // [query, head · d_head]
  for (const change of changes.heads) scaleHead(output, change.head, layer.dHead, change.factor);
  return { output, weights };
}

function scoresOf(layer: MultiHead, query: Matrix, keys: Matrix, scale: boolean) {
  if (layer.scoring === "additive") return additiveScores(query, keys, layer.nHeads, layer.additive!);
  const isScaled = layer.scoring === "scaled_dot" && scale;
  return dotScores(query, keys, layer.nHeads, isScaled ? 1 / Math.sqrt(layer.dHead) : 1);
}

/** In each head, add up the values of all keys, each times its weight: weights V. */
function weighValues(weights: Float32Array, values: Matrix, nHeads: number, nQueries: number) {
  const output = makeMatrix(nQueries, values.cols); // [query, head · d_head]
  const [nKeys, dHead] = [values.rows, values.cols / nHeads];
  for (let head = 0; head < nHeads; head++) {
    for (let query = 0; query < nQueries; query++) {
      const first = (head * nQueries + query) * nKeys;
      for (let col = head * dHead; col < (head + 1) * dHead; col++) {
        let sum = 0;
        for (let key = 0; key < nKeys; key++)
          sum += weights[first + key] * values.data[key * values.cols + col];
        output.data[query * values.cols + col] = sum;
      }
    }
  }
  return output;
}

function scaleHead(output: Matrix, head: number, dHead: number, factor = 1) {
  if (factor === 1) return;
  for (let row = 0; row < output.rows; row++) {
    const first = row * output.cols + head * dHead;
    for (let i = first; i < first + dHead; i++) output.data[i] *= factor;
  }
}

/**
 * Project vectors [query, d_model] to the queries of every head, [query, head · d_head], turned by
 * `positions` where these are given.
 */
export function queriesOf(layer: MultiHead, x: Matrix, positions: number[] | null = null): Matrix {
  return turned(layer, linear(x, layer.wQ), positions);
}

/** Project vectors [key, d_model] to the keys and values of every head. */
export function keysValuesOf(layer: MultiHead, x: Matrix, positions: number[] | null = null): KeysValues {
  return { keys: turned(layer, linear(x, layer.wK), positions), values: linear(x, layer.wV) };
}

/**
 * The keys and values of a text with those of its next word below them. `fresh` holds those of every text
 * under way, and `row` is this text's.
 *
 * The matrices themselves are never changed: texts that share a beginning share theirs.
 */
export function extendKeysValues(before: KeysValues, fresh: KeysValues, row: number): KeysValues {
  return {
    keys: stackRows(before.keys, rowsFrom(fresh.keys, row)),
    values: stackRows(before.values, rowsFrom(fresh.values, row)),
  };
}

/**
 * Look from every position of one sequence at every position of another, in several heads. The queries
 * [query, d_model] of all groups stand one below another, and each group has its own keys and its own mask
 * [query, key]. What comes out is the output [query, d_model], and the weights of each group, [head, query,
 * key].
 *
 *     head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
 *     MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O
 *
 * Source: Vaswani et al. 2017, section 3.2.2.
 */
export function multiHeadAttention(
  layer: MultiHead,
  queryInput: Matrix,
  groups: KeysValues[],
  masks: Uint8Array[],
  changes: AttentionChanges,
  positions: number[] | null = null,
): { output: Matrix; weights: Float32Array[] } {
  const query = queriesOf(layer, queryInput, positions); // [query, head · d_head]
  const heads = makeMatrix(query.rows, query.cols); // [query, head · d_head]
  const nQueries = query.rows / groups.length; // of a group
  const weights = groups.map((keysValues, group) => {
    const first = group * nQueries;
    const attended = attend(layer, rowsFrom(query, first, nQueries), keysValues, masks[group], changes);
    heads.data.set(attended.output.data, first * heads.cols);
    return attended.weights;
  });
  return { output: linear(heads, layer.wO), weights };
}

function turned(layer: MultiHead, x: Matrix, positions: number[] | null) {
  return layer.rotary && positions ? turnByPosition(x, layer.rotary, positions, layer.dHead) : x;
}
