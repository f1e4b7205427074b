// The Transformer of "Attention Is All You Need" (Vaswani et al. 2017) in a page, from ids to logits.
//
// Read this room as a chapter, in this order: `masks`, `scoring` and `attention`; `positions` (word
// order); `layers` and `stacks` (attention and feed-forward networks alternate); `model` (the whole, of
// three families); `steps` (decoding without computing anything twice). `interventions` switches parts
// off. It is the model of viz_transformer/model, in the same words, one sentence at a time.

import { embedSentence, outputVocabSize, readEmbedding, readSideEmbedding } from "./embedding.js";
import { UserError } from "./errors.js";
import { checkIds, checkMask } from "./inputs.js";
import { checkedInterventions } from "./interventions.js";
import { sourceMask, targetMask } from "./masks.js";
import { linear } from "./matrix.js";
import { readMatrix, readParameter } from "./parameters.js";
import { readMemory, readStack, runStack } from "./stacks.js";
import { attentionInputs, checkWatch } from "./watch.js";

/**
 * @typedef {import("./matrix.js").Matrix} Matrix
 * @typedef {import("./embedding.js").Embedding} Embedding
 * @typedef {import("./stacks.js").Stack} Stack
 * @typedef {import("./interventions.js").Interventions} Interventions
 *
 * @typedef {object} Model
 * @property {import("./parameters.js").Config} config
 * @property {Embedding | null} sourceEmbedding
 * @property {Embedding | null} targetEmbedding
 * @property {Stack | null} encoder
 * @property {Stack | null} decoder
 * @property {import("./matrix.js").Linear | null} output that scores every word; of an encoder without a
 *   masked-word head null
 *
 * @typedef {object} AttentionWeights
 * @property {number[]} shape [layer, head, query, key]
 * @property {Float32Array} data
 *
 * @typedef {Partial<Record<"encoder" | "decoder" | "cross", AttentionWeights>>} Attention
 *
 * @typedef {object} ModelOutput
 * @property {Matrix | null} logits [target, vocab]; of an encoder with a masked-word head [source, vocab],
 *   of one without a head null
 * @property {Matrix | null} memory the encoder's output [source, d_model]; of a decoder alone null
 * @property {Matrix} vectors [position, d_model], the last stack's
 * @property {Attention} attention every head's weights
 * @property {import("./watch.js").AttentionInputs} [watched]
 */

/**
 * Make a model of its configuration and weights.
 *
 * @param {import("./parameters.js").Config} config
 * @param {import("./parameters.js").Weights} weights by torch's names, such as `readSafetensors` reads
 * @returns {Model}
 */
export function makeModel(config, weights) {
  if (config.n_classes) {
    throw new UserError(
      `n_classes=${config.n_classes}: classification heads are not computed in a page; ask for this ` +
        'model with engine="kernel" in the running notebook',
    );
  }
  const [hasEncoder, hasDecoder] = [config.family !== "decoder", config.family !== "encoder"];
  const embeddingOf = (side) =>
    hasEncoder && hasDecoder ? readSideEmbedding(config, weights, side) : readEmbedding(config, weights);
  const model = {
    config,
    sourceEmbedding: hasEncoder ? embeddingOf("source") : null,
    targetEmbedding: hasDecoder ? embeddingOf("target") : null,
    encoder: hasEncoder ? readStack(config, weights, "encoder") : null,
    decoder: hasDecoder ? readStack(config, weights, "decoder") : null,
  };
  const { words } = model.targetEmbedding ?? model.sourceEmbedding;
  const scoresWords = hasDecoder || config.predicts_words;
  return { ...model, output: scoresWords ? readOutput(config, weights, words) : null };
}

/** The output layer: every word's vector, which tied embeddings are, and a bias where there is one. */
function readOutput(config, weights, words) {
  const nWords = outputVocabSize(config);
  return {
    weight: config.tie_embeddings ? words : readMatrix(weights, "output.weight", nWords, config.d_model),
    bias: config.output_bias ? readParameter(weights, "output_bias", [nWords]) : null,
  };
}

/**
 * Read a sentence, or a source and its target, and return what the model makes of it.
 *
 * @param {Model} model
 * @param {object} ids
 * @param {ArrayLike<number>} [ids.source] where there is an encoder
 * @param {ArrayLike<number>} [ids.target] where there is a decoder; beside an encoder it starts with <sos>
 * @param {object} [options]
 * @param {Interventions | null} [options.interventions] what to switch off or replace
 * @param {Partial<Record<"encoder" | "decoder" | "cross", Uint8Array>>} [options.masks] [query, key] in place
 *   of the model's own, 1 = may attend
 * @param {{ kind: string, layer: number }} [options.watch] a layer whose inputs are wanted
 * @returns {ModelOutput}
 */
export function forward(model, { source, target }, { interventions = null, masks = {}, watch = null } = {}) {
  const changes = checkedInterventions(interventions, model.config);
  if (watch) checkWatch(model.config, watch);
  const attention = {};
  const stacks = {}; // what each stack returned
  let memory = null;
  if (model.encoder) {
    stacks.encoder = runEncoder(model, source, changes, masks.encoder);
    memory = stacks.encoder.x; // [source, d_model]
    attention.encoder = stackWeights(model, ownWeights(stacks.encoder), source.length);
  }
  if (model.decoder) {
    stacks.decoder = runDecoder(model, target, memory, source, changes, masks);
    attention.decoder = stackWeights(model, ownWeights(stacks.decoder), target.length);
    const cross = stacks.decoder.layers.map((layer) => layer.crossWeights);
    if (memory) attention.cross = stackWeights(model, cross, target.length);
  }
  const vectors = (stacks.decoder ?? stacks.encoder).x; // [position, d_model]
  const logits = model.output && linear(vectors, model.output); // [position, vocab]
  const output = { logits, memory, vectors, attention };
  return watch ? { ...output, watched: watchedInputs(model, stacks, memory, watch) } : output;
}

/**
 * Read a source.
 *
 * @param {Model} model with an encoder
 * @param {ArrayLike<number>} ids
 * @param {Required<Interventions>} interventions checked
 * @param {Uint8Array} [mask] in place of the model's own
 */
export function runEncoder(model, ids, interventions, mask) {
  const { config, sourceEmbedding, encoder } = model;
  checkIds("source_ids", ids, config.vocab_size, config.max_length);
  if (mask) checkMask("encoder", mask, ids.length, ids.length);
  const { x, positions } = embedSentence(sourceEmbedding, ids, interventions); // [source, d_model]
  const masks = [mask ?? sourceMask(config, ids, interventions)];
  return { ...runStack(encoder, x, { positions, masks, interventions }), masks };
}

/**
 * Read a target, and beside an encoder look at its memory of the source.
 *
 * @param {Model} model with a decoder
 * @param {ArrayLike<number>} ids
 * @param {Matrix | null} memory [source, d_model]
 * @param {ArrayLike<number> | undefined} sourceIds
 * @param {Required<Interventions>} interventions checked
 * @param {Partial<Record<"decoder" | "cross", Uint8Array>>} masks in place of the model's own
 */
export function runDecoder(model, ids, memory, sourceIds, interventions, masks) {
  const { config, targetEmbedding, decoder } = model;
  checkIds("target_ids", ids, outputVocabSize(config), config.max_length);
  if (masks.decoder) checkMask("decoder", masks.decoder, ids.length, ids.length);
  if (masks.cross) checkMask("cross", masks.cross, ids.length, sourceIds.length);
  const { x, positions } = embedSentence(targetEmbedding, ids, interventions); // [target, d_model]
  const inputs = {
    positions,
    masks: [masks.decoder ?? targetMask(config, ids, interventions)],
    interventions,
    sources: memory ? readMemory(decoder, memory) : null,
    sourceMask: memory && (masks.cross ?? sourceMask(config, sourceIds, interventions, ids.length)),
  };
  return { ...runStack(decoder, x, inputs), masks: inputs.masks, sourceMask: inputs.sourceMask };
}

/** The weights of each layer's self-attention, [head, query, key]; a whole sentence is one group of queries. */
function ownWeights(stack) {
  return stack.layers.map((layer) => layer.selfWeights[0]);
}

/** The weights [head, query, key] of all layers in one array [layer, head, query, key]. */
function stackWeights(model, layers, nQueries) {
  const [nHeads, size] = [model.config.n_heads, layers[0].length];
  const data = new Float32Array(layers.length * size);
  for (const [index, weights] of layers.entries()) data.set(weights, index * size);
  return { shape: [layers.length, nHeads, nQueries, size / nHeads / nQueries], data };
}

function watchedInputs(model, stacks, memory, { kind, layer }) {
  const name = kind === "encoder" ? "encoder" : "decoder";
  const parameters = model[name].layers[layer];
  const { layers, masks, sourceMask: crossMask } = stacks[name];
  const { selfInput, crossInput } = layers[layer];
  return kind === "cross"
    ? attentionInputs(parameters.crossAttention, crossInput, memory, crossMask)
    : attentionInputs(parameters.selfAttention, selfInput, selfInput, masks[0]);
}
