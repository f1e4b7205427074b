// The encoder and decoder stacks.

import { keysValuesOf } from "./attention.js";
import { readLayer, runLayer } from "./layers.js";
import { layerNorm } from "./matrix.js";
import { readNorm } from "./parameters.js";
import { firstOf } from "./remembered.js";

/**
 * @typedef {import("./matrix.js").Matrix} Matrix
 * @typedef {import("./attention.js").KeysValues} KeysValues
 *
 * @typedef {object} Stack
 * @property {"encoder" | "decoder"} kind of its self-attention
 * @property {import("./layers.js").Layer[]} layers
 * @property {import("./matrix.js").Norm | null} norm
 */

/**
 * @param {import("./parameters.js").Config} config
 * @param {import("./parameters.js").Weights} weights
 * @param {"encoder" | "decoder"} kind
 * @returns {Stack}
 */
export function readStack(config, weights, kind) {
  const hasCross = kind === "decoder" && config.family === "encoder-decoder";
  return {
    kind,
    layers: Array.from({ length: config[`n_${kind}_layers`] }, (_, index) =>
      readLayer(config, weights, `${kind}.layers.${index}`, hasCross),
    ),
    // Pre-norm layers add to x without ever normalising it, so the stack does it once at its end.
    norm: config.norm === "pre" ? readNorm(weights, `${kind}.norm`, config) : null,
  };
}

/**
 * Run vectors through all layers. What a layer made of a whole sentence is remembered.
 *
 * @param {Stack} stack
 * @param {Matrix} x [position, d_model]
 * @param {object} inputs
 * @param {number[]} inputs.positions of each row of the vectors
 * @param {Uint8Array[]} inputs.masks of the self-attention, [query, key] for each group of queries
 * @param {Required<import("./interventions.js").Interventions>} inputs.interventions
 * @param {number} [inputs.step] in decoding, the position that is written
 * @param {((fresh: KeysValues) => KeysValues[])[]} [inputs.among] of each layer, where these vectors are
 *   not a whole sentence: puts their keys and values among the others
 * @param {KeysValues[]} [inputs.sources] what each layer's cross-attention looks at
 * @param {Uint8Array} [inputs.sourceMask] [query, source]
 * @returns {{ x: Matrix, layers: import("./layers.js").LayerOutput[] }} the last layer's vectors,
 *   normalised if they have not been yet, and what each layer returned
 */
export function runStack(stack, x, { step, among, sources, sourceMask, ...shared }) {
  const layers = stack.layers.map((layer, index) => {
    const inputs = {
      ...shared,
      kind: stack.kind,
      index,
      step: step ?? null,
      among: among?.[index] ?? null,
      source: sources?.[index] ?? null,
      sourceMask: sourceMask ?? null,
    };
    const run = () => runLayer(layer, x, inputs);
    const output = among ? run() : firstOf(x, layer, inputs.source, inWords(inputs), run);
    x = output.x;
    return output;
  });
  return { x: stack.norm && shared.interventions.layerNorm ? layerNorm(x, stack.norm) : x, layers };
}

/** All that a layer's output depends on, but for its vectors and its source. */
function inWords({ kind, index, masks, sourceMask, interventions }) {
  const heads = interventions.heads.filter((change) => change.layer === index && reads(kind, change.kind));
  return JSON.stringify([{ ...interventions, heads }, String(masks), String(sourceMask)]);
}

/** Whether a layer of one kind has attention of another. */
function reads(kind, other) {
  return other === kind || (kind === "decoder" && other === "cross");
}

/**
 * The keys and values that each layer's cross-attention makes of the encoder's output.
 *
 * @param {Stack} decoder
 * @param {Matrix} memory [source, d_model]
 * @returns {KeysValues[]}
 */
export function readMemory(decoder, memory) {
  return firstOf(memory, decoder, null, "", () =>
    decoder.layers.map((layer) => keysValuesOf(layer.crossAttention, memory)),
  );
}
