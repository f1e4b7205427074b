// What one attention layer read, and its matrices, for those who work its arithmetic by hand.

import type { MultiHead } from "./attention.ts";
import { repr, UserError } from "./errors.ts";
import { attentionLayers } from "./interventions.ts";
import { countTo, type Linear, makeMatrix, type Matrix, rowsFrom } from "./matrix.ts";
import type { Config } from "./parameters.ts";
import type { Kind } from "./trace.ts";

/** One layer of a kind of attention, counted from 0. */
export interface Watch {
  kind: Kind;
  layer: number;
}

/** Matrices are those of the paper, to the right of a row: q = x W + b */
export interface AttentionInputs {
  /** [query, d_model] */
  queryInput: Matrix;
  /** [key, d_model] */
  keyInput: Matrix;
  /** [query, key], 1 = may attend */
  mask: Uint8Array;
  /** Of each head, [d_model, d_head]; `wK` and `wV` likewise. */
  wQ: Matrix[];
  wK: Matrix[];
  wV: Matrix[];
  /** [head · d_head, d_model] */
  wO: Matrix;
  /** Of each head, [d_head]; `bK` and `bV` likewise. */
  bQ: Float32Array[] | null;
  bK: Float32Array[] | null;
  bV: Float32Array[] | null;
  /** [d_model] */
  bO: Float32Array | null;
  /** Whether the layer divides its scores by √d_head. */
  scale: boolean;
}

/**
 * Check that a model has a layer that can be watched: one that compares by dot products of unturned
 * vectors.
 */
export function checkWatch(config: Config, { kind, layer }: Watch) {
  const layers = attentionLayers(config);
  if (!layers[kind]) {
    throw new UserError(`this model has no ${repr(kind)} attention; it has ${repr(Object.keys(layers))}`);
  }
  if (!Number.isInteger(layer) || layer < 0 || layer >= layers[kind]) {
    throw new UserError(
      `layer=${repr(layer)}, but the ${kind} attention of this model has ${layers[kind]} layers; ` +
        `choose 0 to ${layers[kind] - 1}`,
    );
  }
  if (config.positional === "rotary" && kind !== "cross") {
    throw new UserError(
      "this layer turns its queries and keys by their positions (rotary), a step that " +
        "this view does not show; give a model with sinusoidal, learned or no positions",
    );
  }
  if (config.scoring === "additive") {
    throw new UserError(
      "this layer compares queries and keys by a small network (additive scoring), not by " +
        "dot products; give a model with scoring='scaled_dot' or 'dot'",
    );
  }
}

export function attentionInputs(
  layer: MultiHead,
  queryInput: Matrix,
  keyInput: Matrix,
  mask: Uint8Array,
): AttentionInputs {
  return {
    queryInput,
    keyInput,
    mask,
    wQ: headMatrices(layer, layer.wQ),
    wK: headMatrices(layer, layer.wK),
    wV: headMatrices(layer, layer.wV),
    wO: transposed(layer.wO.weight),
    bQ: headBiases(layer, layer.wQ),
    bK: headBiases(layer, layer.wK),
    bV: headBiases(layer, layer.wV),
    bO: layer.wO.bias,
    scale: layer.scoring === "scaled_dot",
  };
}

function headMatrices({ nHeads, dHead }: MultiHead, { weight }: Linear) {
  return countTo(nHeads).map((head) => transposed(rowsFrom(weight, head * dHead, dHead)));
}

function headBiases({ nHeads, dHead }: MultiHead, { bias }: Linear) {
  if (!bias) return null;
  return countTo(nHeads).map((head) => bias.subarray(head * dHead, (head + 1) * dHead));
}

function transposed({ rows, cols, data }: Matrix) {
  const turned = makeMatrix(cols, rows);
  for (let i = 0; i < data.length; i++) turned.data[(i % cols) * rows + Math.floor(i / cols)] = data[i];
  return turned;
}
