// Encoder and decoder layers: attention gathers from other positions, then a network acts on each.
//
// A layer takes vectors [position, d_model] and returns new ones of the same shape along with the
// attention weights that it used, so nothing needs to be recorded on the side. It reads a whole
// sequence, or in decoding the newest word of each text under way. A decoder's layer looks at the
// source too; in a decoder alone there is none, and its layers are the encoder's behind a causal mask.

import { ACTIVATIONS } from "./activations.js";
import { keysValuesOf, multiHeadAttention, readAttention } from "./attention.js";
import { attentionChanges } from "./interventions.js";
import { addMatrices, layerNorm, linear } from "./matrix.js";
import { readLinear, readNorm } from "./parameters.js";

/**
 * @typedef {import("./matrix.js").Matrix} Matrix
 * @typedef {import("./attention.js").KeysValues} KeysValues
 *
 * @typedef {object} FeedForward
 * @property {import("./matrix.js").Linear} w1
 * @property {import("./matrix.js").Linear} w2
 * @property {string} activation
 *
 * @typedef {object} Residual
 * @property {boolean} isPreNorm
 * @property {import("./matrix.js").Norm} norm
 *
 * @typedef {object} Layer
 * @property {import("./attention.js").MultiHead} selfAttention
 * @property {Residual} selfAttentionResidual
 * @property {import("./attention.js").MultiHead | null} crossAttention
 * @property {Residual | null} crossAttentionResidual
 * @property {FeedForward} feedForward
 * @property {Residual} feedForwardResidual
 *
 * @typedef {object} LayerInputs what a layer reads beside its vectors
 * @property {string} kind of its self-attention
 * @property {number} index of the layer, counted from 0
 * @property {number[]} positions of each row of the vectors
 * @property {Uint8Array[]} masks of the self-attention, [query, key] for each group of queries
 * @property {Required<import("./interventions.js").Interventions>} interventions
 * @property {number | null} step in decoding, the position that is written; null for whole sentences
 * @property {((fresh: KeysValues) => KeysValues[]) | null} among puts the keys and values of these
 *   vectors among those that each group of queries looks at; null where there are no others
 * @property {KeysValues | null} source what the cross-attention looks at
 * @property {Uint8Array | null} sourceMask [query, source]
 *
 * @typedef {object} LayerOutput
 * @property {Matrix} x [position, d_model]
 * @property {KeysValues[]} keysValues of its self-attention, for each group of queries
 * @property {Float32Array[]} selfWeights [head, query, key] for each group of queries
 * @property {Float32Array | null} crossWeights [head, query, source]
 * @property {Matrix} selfInput that the self-attention read, [position, d_model]
 * @property {Matrix | null} crossInput that the cross-attention's queries were made of
 */

/**
 * @param {import("./parameters.js").Config} config
 * @param {import("./parameters.js").Weights} weights
 * @param {string} name of the layer in the weights
 * @param {boolean} hasCross whether it looks at a source
 * @returns {Layer}
 */
export function readLayer(config, weights, name, hasCross) {
  const residual = (part) => ({
    isPreNorm: config.norm === "pre",
    norm: readNorm(weights, `${name}.${part}_residual.norm`, config),
  });
  return {
    selfAttention: readAttention(config, weights, `${name}.self_attention`),
    selfAttentionResidual: residual("self_attention"),
    crossAttention: hasCross ? readAttention(config, weights, `${name}.cross_attention`, true) : null,
    crossAttentionResidual: hasCross ? residual("cross_attention") : null,
    feedForward: {
      w1: readLinear(weights, `${name}.feed_forward.w_1`, config.d_model, config.d_ff),
      w2: readLinear(weights, `${name}.feed_forward.w_2`, config.d_ff, config.d_model),
      activation: config.activation,
    },
    feedForwardResidual: residual("feed_forward"),
  };
}

/**
 * Self-attention, cross-attention where there is a source, then the feed-forward network, each with
 * its Add & Norm.
 *
 * @param {Layer} layer
 * @param {Matrix} x [position, d_model]
 * @param {LayerInputs} inputs
 * @returns {LayerOutput}
 */
export function runLayer(layer, x, inputs) {
  const { interventions, among } = inputs;
  const changesOf = (kind) => attentionChanges(interventions, kind, inputs.index, inputs.step);

  const selfInput = branch(layer.selfAttentionResidual, x, interventions);
  const positions = interventions.positions ? inputs.positions : null;
  const fresh = keysValuesOf(layer.selfAttention, selfInput, positions);
  const keysValues = among ? among(fresh) : [fresh];
  const own = multiHeadAttention(
    layer.selfAttention,
    selfInput,
    keysValues,
    inputs.masks,
    changesOf(inputs.kind),
    positions,
  );
  x = merge(layer.selfAttentionResidual, x, own.output, interventions);

  let [crossInput, crossWeights] = [null, null];
  if (layer.crossAttention) {
    crossInput = branch(layer.crossAttentionResidual, x, interventions);
    const [groups, masks] = [[inputs.source], [inputs.sourceMask]]; // all queries look at one source
    const cross = multiHeadAttention(layer.crossAttention, crossInput, groups, masks, changesOf("cross"));
    crossWeights = cross.weights[0];
    x = merge(layer.crossAttentionResidual, x, cross.output, interventions);
  }

  const h = feedForward(layer.feedForward, branch(layer.feedForwardResidual, x, interventions));
  x = merge(layer.feedForwardResidual, x, h, interventions);
  return { x, keysValues, selfWeights: own.weights, crossWeights, selfInput, crossInput };
}

/**
 * The position-wise network: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, or another than max.
 *
 * Source: Vaswani et al. 2017, section 3.3; GELU: Hendrycks and Gimpel 2016.
 *
 * @param {FeedForward} network
 * @param {Matrix} x [position, d_model]
 */
export function feedForward(network, x) {
  const hidden = linear(x, network.w1); // [position, d_ff]
  const activation = ACTIVATIONS[network.activation];
  for (let i = 0; i < hidden.data.length; i++) hidden.data[i] = activation(hidden.data[i]);
  return linear(hidden, network.w2); // [position, d_model]
}

// Add & Norm: the residual connection around a sub-layer, and its LayerNorm.
//
//     post-norm (the paper)    x = LayerNorm(x + sublayer(x))
//     pre-norm                 x = x + sublayer(LayerNorm(x))
//
// Source: Vaswani et al. 2017, sections 3.1 and 5.4; pre-norm: Xiong et al. 2020.

/** What the sub-layer reads. */
export function branch(residual, x, interventions) {
  return residual.isPreNorm && interventions.layerNorm ? layerNorm(x, residual.norm) : x;
}

/** Add the sub-layer's output to what went around it. */
export function merge(residual, x, sublayerOutput, interventions) {
  const sum = interventions.residual ? addMatrices(x, sublayerOutput) : sublayerOutput;
  return residual.isPreNorm || !interventions.layerNorm ? sum : layerNorm(sum, residual.norm);
}
