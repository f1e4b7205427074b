// Encoder and decoder layers: attention gathers from other positions, then a network acts on each.
//
// A layer takes vectors [position, d_model] and returns new ones of the same shape along with the
// attention weights that it used, so nothing needs to be recorded on the side. It reads a whole
// sequence, or in decoding the newest word of each text under way. A decoder's layer looks at the
// source too; in a decoder alone there is none, and its layers are the encoder's behind a causal mask.

import {
  type KeysValues,
  keysValuesOf,
  type MultiHead,
  multiHeadAttention,
  readAttention,
} from "./attention.ts";
import { attentionChanges, type Interventions } from "./interventions.ts";
import { addMatrices, layerNorm, linear, type Linear, type Matrix, type Norm } from "./matrix.ts";
import { type Config, readLinear, readNorm, type Weights } from "./parameters.ts";
import type { Kind } from "./trace.ts";

export interface FeedForward {
  w1: Linear;
  w2: Linear;
  activation: string;
}

export interface Residual {
  isPreNorm: boolean;
  norm: Norm;
}

export interface Layer {
  selfAttention: MultiHead;
  selfAttentionResidual: Residual;
  crossAttention: MultiHead | null;
  crossAttentionResidual: Residual | null;
  feedForward: FeedForward;
  feedForwardResidual: Residual;
}

/** What a layer reads beside its vectors */
export interface LayerInputs {
  /** Of its self-attention. */
  kind: Kind;
  /** Of the layer, counted from 0. */
  index: number;
  /** Of each row of the vectors. */
  positions: number[];
  /** Of the self-attention, [query, key] for each group of queries. */
  masks: Uint8Array[];
  interventions: Required<Interventions>;
  /** In decoding, the position that is written; null for whole sentences. */
  step: number | null;
  /**
   * Puts the keys and values of these vectors among those that each group of queries looks at; null where
   * there are no others.
   */
  among: ((fresh: KeysValues) => KeysValues[]) | null;
  /** What the cross-attention looks at. */
  source: KeysValues | null;
  /** [query, source] */
  sourceMask: Uint8Array | null;
}

export interface LayerOutput {
  /** [position, d_model] */
  x: Matrix;
  /** Of its self-attention, for each group of queries. */
  keysValues: KeysValues[];
  /** [head, query, key] for each group of queries */
  selfWeights: Float32Array[];
  /** [head, query, source] */
  crossWeights: Float32Array | null;
  /** That the self-attention read, [position, d_model]. */
  selfInput: Matrix;
  /** That the cross-attention's queries were made of. */
  crossInput: Matrix | null;
}

/** Read the layer of a name in the weights; `hasCross` says whether it looks at a source. */
export function readLayer(config: Config, weights: Weights, name: string, hasCross: boolean): Layer {
  const residual = (part: string) => ({
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
 * Self-attention, cross-attention where there is a source, then the feed-forward network, each with its Add &
 * Norm.
 */
export function runLayer(layer: Layer, x: Matrix, inputs: LayerInputs): LayerOutput {
  const { interventions, among } = inputs;
  const changesOf = (kind: Kind) => attentionChanges(interventions, kind, inputs.index, inputs.step);

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

  let crossInput: Matrix | null = null;
  let crossWeights: Float32Array | null = null;
  if (layer.crossAttention && layer.crossAttentionResidual) {
    crossInput = branch(layer.crossAttentionResidual, x, interventions);
    const [groups, masks] = [[inputs.source!], [inputs.sourceMask!]]; // all queries look at one source
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
 */
export function feedForward(network: FeedForward, x: Matrix) {
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
export function branch(residual: Residual, x: Matrix, interventions: Required<Interventions>) {
  return residual.isPreNorm && interventions.layerNorm ? layerNorm(x, residual.norm) : x;
}

/** Add the sub-layer's output to what went around it. */
export function merge(
  residual: Residual,
  x: Matrix,
  sublayerOutput: Matrix,
  interventions: Required<Interventions>,
) {
  const sum = interventions.residual ? addMatrices(x, sublayerOutput) : sublayerOutput;
  return residual.isPreNorm || !interventions.layerNorm ? sum : layerNorm(sum, residual.norm);
}

export const ACTIVATIONS: Record<string, (x: number) => number> = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x / 2) * (1 + errorFunction(x / Math.SQRT2)),
  gelu_tanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/**
 * erf(x), to 1.5e-7: as near as a float32 comes.
 *
 * Source: Abramowitz and Stegun 1964, "Handbook of Mathematical Functions", formula 7.1.26.
 */
function errorFunction(x: number) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const polynomial =
    ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - polynomial * Math.exp(-x * x));
}
