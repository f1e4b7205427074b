// Scaled dot-product and multi-head attention.
//
// Letters in the shapes: `query` and `key` count positions, `d_model` is the width of a position's
// vector, `d_head` = d_model / n_heads the width of one head. The heads of a matrix stand side by side.
// Queries come in groups that share their keys: a whole sentence is one group, and in decoding each
// text under way is a group of one, its newest word.

import { patternWeights } from "./interventions.js";
import { linear, makeMatrix, rowsFrom, stackRows } from "./matrix.js";
import { readLinear } from "./parameters.js";
import { makeRotary, turnByPosition } from "./positions.js";
import { additiveScores, dotScores, maskedSoftmax, readAdditive } from "./scoring.js";

/**
 * @typedef {import("./matrix.js").Matrix} Matrix
 * @typedef {import("./interventions.js").AttentionChanges} AttentionChanges
 *
 * @typedef {object} MultiHead one attention layer's parameters
 * @property {number} nHeads
 * @property {number} dHead
 * @property {import("./matrix.js").Linear} wQ the queries' projection; W^Q is [W_1^Q … W_h^Q]
 * @property {import("./matrix.js").Linear} wK
 * @property {import("./matrix.js").Linear} wV
 * @property {import("./matrix.js").Linear} wO the projection of what all heads say
 * @property {"scaled_dot" | "dot" | "additive"} scoring
 * @property {import("./scoring.js").Additive | null} additive
 * @property {import("./positions.js").Rotary | null} rotary
 *
 * @typedef {object} KeysValues what queries look at, in every head of a layer
 * @property {Matrix} keys [key, head · d_head]
 * @property {Matrix} values [key, head · d_head]
 */

/**
 * Read the parameters of one attention layer.
 *
 * @param {import("./parameters.js").Config} config
 * @param {import("./parameters.js").Weights} weights
 * @param {string} name of the layer in the weights
 * @param {boolean} isCross never rotary: how far apart a source and a target word stand says nothing
 * @returns {MultiHead}
 */
export function readAttention(config, weights, name, isCross = false) {
  const dHead = config.d_model / config.n_heads;
  const projection = (part) =>
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
 * Attention: softmax(score(Q, K)) V, and with the scaled dot product softmax(Q Kᵀ / √d_head) V.
 *
 * The dot products of longer vectors are larger (their variance is d_head), and a softmax of large
 * numbers puts all its weight on one key: hence the √d_head.
 *
 * Source: Vaswani et al. 2017, section 3.2.1, equation 1.
 *
 * @param {MultiHead} layer
 * @param {Matrix} query [query, head · d_head]
 * @param {KeysValues} keysValues
 * @param {Uint8Array} mask [query, key], 1 = may attend
 * @param {AttentionChanges} changes
 * @returns {{ output: Matrix, weights: Float32Array }} the output [query, head · d_head], and the
 *   weights [head, query, key]. Each row of weights sums to 1; the row of a query that may attend to
 *   nothing is all zeros, and so is its output.
 */
export function attend(layer, query, { keys, values }, mask, changes) {
  const weights = scoresOf(layer, query, keys, changes.scale); // [head, query, key]
  maskedSoftmax(weights, mask, keys.rows, changes.temperature);
  const size = query.rows * keys.rows;
  for (const change of changes.heads) {
    if (change.pattern === null) continue;
    weights.set(patternWeights(change, mask, query.rows, keys.rows, changes.step), change.head * size);
  }
  const output = weighValues(weights, values, layer.nHeads, query.rows); // [query, head · d_head]
  for (const change of changes.heads) scaleHead(output, change.head, layer.dHead, change.factor);
  return { output, weights };
}

function scoresOf(layer, query, keys, scale) {
  if (layer.scoring === "additive") return additiveScores(query, keys, layer.nHeads, layer.additive);
  const isScaled = layer.scoring === "scaled_dot" && scale;
  return dotScores(query, keys, layer.nHeads, isScaled ? 1 / Math.sqrt(layer.dHead) : 1);
}

/** In each head, add up the values of all keys, each times its weight: weights V. */
function weighValues(weights, values, nHeads, nQueries) {
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

function scaleHead(output, head, dHead, factor) {
  if (factor === 1) return;
  for (let row = 0; row < output.rows; row++) {
    const first = row * output.cols + head * dHead;
    for (let i = first; i < first + dHead; i++) output.data[i] *= factor;
  }
}

/**
 * Project vectors to the queries of every head.
 *
 * @param {MultiHead} layer
 * @param {Matrix} x [query, d_model]
 * @param {number[] | null} positions of each row, if queries and keys are turned by them
 * @returns {Matrix} [query, head · d_head]
 */
export function queriesOf(layer, x, positions = null) {
  return turned(layer, linear(x, layer.wQ), positions);
}

/**
 * Project vectors to the keys and values of every head.
 *
 * @param {MultiHead} layer
 * @param {Matrix} x [key, d_model]
 * @param {number[] | null} positions of each row, if queries and keys are turned by them
 * @returns {KeysValues}
 */
export function keysValuesOf(layer, x, positions = null) {
  return { keys: turned(layer, linear(x, layer.wK), positions), values: linear(x, layer.wV) };
}

/**
 * The keys and values of a text with those of its next word below them.
 *
 * The matrices themselves are never changed: texts that share a beginning share theirs.
 *
 * @param {KeysValues} before
 * @param {KeysValues} fresh those of the next word of every text under way
 * @param {number} row of this text
 * @returns {KeysValues}
 */
export function extendKeysValues(before, fresh, row) {
  return {
    keys: stackRows(before.keys, rowsFrom(fresh.keys, row)),
    values: stackRows(before.values, rowsFrom(fresh.values, row)),
  };
}

/**
 * Look from every position of one sequence at every position of another, in several heads.
 *
 *     head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
 *     MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O
 *
 * Source: Vaswani et al. 2017, section 3.2.2.
 *
 * @param {MultiHead} layer
 * @param {Matrix} queryInput [query, d_model], the queries of all groups
 * @param {KeysValues[]} groups what each group of queries looks at
 * @param {Uint8Array[]} masks of each group, [query, key]
 * @param {AttentionChanges} changes
 * @param {number[] | null} positions of each query, if queries and keys are turned by them
 * @returns {{ output: Matrix, weights: Float32Array[] }} the output [query, d_model], and the weights
 *   of each group, [head, query, key]
 */
export function multiHeadAttention(layer, queryInput, groups, masks, changes, positions = null) {
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

function turned(layer, x, positions) {
  return layer.rotary && positions ? turnByPosition(x, layer.rotary, positions, layer.dHead) : x;
}
