// A model's parameters, taken one by one from its weights by torch's names, each with its shape checked.

import { UserError } from "./errors.ts";
import { makeMatrix, type Linear, type Matrix, type Norm } from "./matrix.ts";
import type { Tensor } from "./safetensors.ts";

/** What is read of config.json: the fields of ModelConfig in viz_transformer/config. */
export interface Config {
  family: "encoder-decoder" | "encoder" | "decoder";
  vocab_size: number;
  target_vocab_size: number | null;
  n_encoder_layers: number;
  n_decoder_layers: number;
  d_model: number;
  n_heads: number;
  d_ff: number;
  max_length: number;
  pad_id: number;
  start_id?: number | null;
  n_classes?: number | null;
  n_segments?: number;
  tie_embeddings: boolean;
  scale_embeddings: boolean;
  embedding_norm: boolean;
  predicts_words: boolean;
  output_bias: boolean;
  bias: boolean;
  norm: "pre" | "post";
  layer_norm_eps: number;
  activation: string;
  positional: string;
  scoring: "scaled_dot" | "dot" | "additive";
}

export type Weights = Map<string, Tensor>;

/** The numbers of a parameter, by its name in torch's state_dict, if it has the shape that the configuration asks for. */
export function readParameter(weights: Weights, name: string, shape: number[]): Float32Array {
  const found = weights.get(name);
  if (!found || String(found.shape) !== String(shape)) {
    throw new UserError(
      `the weights do not fit the configuration: ${name} is ${found ? written(found.shape) : "missing"}, ` +
        `expected ${written(shape)}; model.safetensors and config.json must come from one training`,
    );
  }
  return found.data;
}

export function readMatrix(weights: Weights, name: string, rows: number, cols: number): Matrix {
  return makeMatrix(rows, cols, readParameter(weights, name, [rows, cols]));
}

export function readLinear(weights: Weights, name: string, nIn: number, nOut: number, bias = true): Linear {
  return {
    weight: readMatrix(weights, `${name}.weight`, nOut, nIn),
    bias: bias ? readParameter(weights, `${name}.bias`, [nOut]) : null,
  };
}

export function readNorm(weights: Weights, name: string, config: Config): Norm {
  return {
    weight: readParameter(weights, `${name}.weight`, [config.d_model]),
    bias: readParameter(weights, `${name}.bias`, [config.d_model]),
    eps: config.layer_norm_eps,
  };
}

function written(shape: number[]) {
  return `[${shape.join(", ")}]`;
}
