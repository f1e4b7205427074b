// The Transformer of "Attention Is All You Need" (Vaswani et al. 2017) in a page, from ids to logits.
//
// Read this room as a chapter, in this order: `masks`, `scoring` and `attention`; `positions` (word
// order); `layers` and `stacks` (attention and feed-forward networks alternate); `model` (the whole, of
// three families); `steps` (decoding without computing anything twice). `interventions` switches parts
// off. It is the model of viz_transformer/model, in the same words, one sentence at a time.

import {
  embedSentence,
  outputVocabSize,
  readEmbedding,
  readSideEmbedding,
  type Embedding,
} from "./embedding.ts";
import { UserError } from "./errors.ts";
import { checkIds, checkMask } from "./inputs.ts";
import { checkedInterventions, type Interventions } from "./interventions.ts";
import { sourceMask, targetMask } from "./masks.ts";
import type { LayerOutput } from "./layers.ts";
import { concatenated, linear, type Linear, type Matrix } from "./matrix.ts";
import { readMatrix, readParameter, type Config, type Weights } from "./parameters.ts";
import { readMemory, readStack, runStack, type Stack } from "./stacks.ts";
import type { Attention, Kind } from "./trace.ts";
import { attentionInputs, checkWatch, type Watch, type AttentionInputs } from "./watch.ts";

export interface Model {
  config: Config;
  sourceEmbedding: Embedding | null;
  targetEmbedding: Embedding | null;
  encoder: Stack | null;
  decoder: Stack | null;
  /** That scores every word; of an encoder without a masked-language-model head null. */
  output: Linear | null;
}

export /** A mask [query, key] of each kind, 1 = may attend. */
type Masks = Partial<Record<Kind, Uint8Array>>;

export interface ModelOutput {
  /** [target, vocab]; of an encoder with a masked-language-model head [source, vocab], of one without a head null */
  logits: Matrix | null;
  /** The encoder's output [source, d_model]; of a decoder alone null. */
  memory: Matrix | null;
  /** [position, d_model], the last stack's */
  vectors: Matrix;
  /** Every head's weights. */
  attention: Attention;
  watched?: AttentionInputs;
}

/** Make a model of its configuration and weights. */
export function makeModel(config: Config, weights: Weights): Model {
  if (config.n_classes) {
    throw new UserError(
      `n_classes=${config.n_classes}: classification heads are not computed in a page; ask for this ` +
        'model with engine="kernel" in the running notebook',
    );
  }
  const [hasEncoder, hasDecoder] = [config.family !== "decoder", config.family !== "encoder"];
  const embeddingOf = (side: "source" | "target") =>
    hasEncoder && hasDecoder ? readSideEmbedding(config, weights, side) : readEmbedding(config, weights);
  const model = {
    config,
    sourceEmbedding: hasEncoder ? embeddingOf("source") : null,
    targetEmbedding: hasDecoder ? embeddingOf("target") : null,
    encoder: hasEncoder ? readStack(config, weights, "encoder") : null,
    decoder: hasDecoder ? readStack(config, weights, "decoder") : null,
  };
  const { words } = (model.targetEmbedding ?? model.sourceEmbedding)!;
  const scoresWords = hasDecoder || config.predicts_words;
  return { ...model, output: scoresWords ? readOutput(config, weights, words) : null };
}

/** The output layer: every word's vector, which tied embeddings are, and a bias where there is one. */
function readOutput(config: Config, weights: Weights, words: Matrix): Linear {
  const nWords = outputVocabSize(config);
  return {
    weight: config.tie_embeddings ? words : readMatrix(weights, "output.weight", nWords, config.d_model),
    bias: config.output_bias ? readParameter(weights, "output_bias", [nWords]) : null,
  };
}

/**
 * Read a sentence, or a source and its target, and return what the model makes of it. Beside an encoder, a
 * target starts with <sos>. Masks that are given stand in place of the model's own, and of a layer to `watch`
 * the inputs are returned too.
 */
export function forward(
  model: Model,
  { source, target }: { source?: ArrayLike<number>; target?: ArrayLike<number> },
  {
    interventions = null,
    masks = {},
    watch = null,
  }: {
    interventions?: Interventions | null;
    masks?: Masks;
    watch?: Watch | null;
  } = {},
): ModelOutput {
  const changes = checkedInterventions(interventions, model.config);
  if (watch) checkWatch(model.config, watch);
  const attention: Attention = {};
  const encoded = model.encoder && runEncoder(model, source!, changes, masks.encoder);
  const memory = encoded?.x ?? null; // [source, d_model]
  if (encoded) attention.encoder = stackWeights(model, ownWeights(encoded.layers), source!.length);
  const decoded = model.decoder && runDecoder(model, target!, memory, source, changes, masks);
  if (decoded) {
    attention.decoder = stackWeights(model, ownWeights(decoded.layers), target!.length);
    const cross = decoded.layers.map((layer) => layer.crossWeights!);
    if (memory) attention.cross = stackWeights(model, cross, target!.length);
  }
  const vectors = (decoded ?? encoded)!.x; // [position, d_model]
  const logits = model.output && linear(vectors, model.output); // [position, vocab]
  const output = { logits, memory, vectors, attention };
  return watch ? { ...output, watched: watchedInputs(model, { encoded, decoded }, watch) } : output;
}

/** Read a source, with the interventions checked; a mask stands in place of the model's own. */
export function runEncoder(
  model: Model,
  ids: ArrayLike<number>,
  interventions: Required<Interventions>,
  mask?: Uint8Array,
) {
  const { config, sourceEmbedding, encoder } = model;
  checkIds("source_ids", ids, config.vocab_size, config.max_length);
  if (mask) checkMask("encoder", mask, ids.length, ids.length);
  const { x, positions } = embedSentence(sourceEmbedding!, ids, interventions); // [source, d_model]
  const masks = [mask ?? sourceMask(config, ids, interventions)];
  return { ...runStack(encoder!, x, { positions, masks, interventions }), masks };
}

/** Read a target, and beside an encoder look at its memory of the source; masks as in `runEncoder`. */
export function runDecoder(
  model: Model,
  ids: ArrayLike<number>,
  memory: Matrix | null,
  sourceIds: ArrayLike<number> | undefined,
  interventions: Required<Interventions>,
  masks: Masks,
) {
  const { config, targetEmbedding, decoder } = model;
  checkIds("target_ids", ids, outputVocabSize(config), config.max_length);
  if (masks.decoder) checkMask("decoder", masks.decoder, ids.length, ids.length);
  if (masks.cross) checkMask("cross", masks.cross, ids.length, sourceIds!.length);
  const { x, positions } = embedSentence(targetEmbedding!, ids, interventions); // [target, d_model]
  const inputs = {
    positions,
    masks: [masks.decoder ?? targetMask(config, ids, interventions)],
    interventions,
    sources: memory ? readMemory(decoder!, memory) : null,
    sourceMask: memory && (masks.cross ?? sourceMask(config, sourceIds!, interventions, ids.length)),
  };
  return { ...runStack(decoder!, x, inputs), masks: inputs.masks, sourceMask: inputs.sourceMask };
}

type Encoded = ReturnType<typeof runEncoder>;
type Decoded = ReturnType<typeof runDecoder>;

/**
 * The weights of each layer's self-attention, [head, query, key]; a whole sentence is one group of queries.
 */
function ownWeights(layers: LayerOutput[]) {
  return layers.map((layer) => layer.selfWeights[0]);
}

/** The weights [head, query, key] of all layers in one array [layer, head, query, key]. */
function stackWeights(model: Model, layers: Float32Array[], nQueries: number) {
  const nHeads = model.config.n_heads;
  return {
    shape: [layers.length, nHeads, nQueries, layers[0].length / nHeads / nQueries],
    data: concatenated(layers),
  };
}

/** What one layer read; a decoder's cross-attention reads the encoder's output too. */
function watchedInputs(
  model: Model,
  { encoded, decoded }: { encoded: Encoded | null; decoded: Decoded | null },
  { kind, layer }: Watch,
) {
  const parameters = model[kind === "encoder" ? "encoder" : "decoder"]!.layers[layer];
  const { layers, masks } = (kind === "encoder" ? encoded : decoded)!;
  const { selfInput, crossInput } = layers[layer];
  return kind === "cross"
    ? attentionInputs(parameters.crossAttention!, crossInput!, encoded!.x, decoded!.sourceMask!)
    : attentionInputs(parameters.selfAttention, selfInput, selfInput, masks[0]);
}
