// The encoder and decoder stacks.

import { type KeysValues, keysValuesOf } from "./attention.ts";
import { type Layer, type LayerInputs, type LayerOutput, readLayer, runLayer } from "./layers.ts";
import { layerNorm, type Matrix, type Norm } from "./matrix.ts";
import { type Config, readNorm, type Weights } from "./parameters.ts";
import { firstOf } from "./reuse.ts";

export interface Stack {
  /** Of its self-attention. */
  kind: "encoder" | "decoder";
  layers: Layer[];
  norm: Norm | null;
}

export function readStack(config: Config, weights: Weights, kind: "encoder" | "decoder"): Stack {
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
 * Run vectors through all layers. What a layer made of a whole sentence is remembered. `among` and `sources`
 * have what `LayerInputs` has for each layer. The last layer's vectors come out normalised.
 */
export function runStack(
  stack: Stack,
  x: Matrix,
  {
    step,
    among,
    sources,
    sourceMask,
    ...shared
  }: {
    step?: number;
    among?: ((fresh: KeysValues) => KeysValues[])[];
    sources?: KeysValues[] | null;
    sourceMask?: Uint8Array | null;
  } & Pick<LayerInputs, "positions" | "masks" | "interventions">,
): { x: Matrix; layers: LayerOutput[] } {
  const layers = stack.layers.map((layer, index) => {
    const inputs: LayerInputs = {
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
function inWords({ kind, index, masks, sourceMask, interventions }: LayerInputs) {
  const heads = interventions.heads.filter(
    (change) =>
      change.layer === index && (change.kind === kind || (kind === "decoder" && change.kind === "cross")),
  );
  return JSON.stringify([{ ...interventions, heads }, String(masks), String(sourceMask)]);
}

/** The keys and values that each layer's cross-attention makes of the encoder's output, [source, d_model]. */
export function readMemory(decoder: Stack, memory: Matrix): KeysValues[] {
  return firstOf(memory, decoder, null, "", () =>
    decoder.layers.map((layer) => keysValuesOf(layer.crossAttention!, memory)),
  );
}
