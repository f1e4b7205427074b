// The architecture's answers: what stands in every box for a sentence. labs/architecture.py computes the same.

import { keysValuesOf, multiHeadAttention } from "../attention.js";
import { probabilities, topIds } from "../decoding/distribution.js";
import { embed } from "../embedding.js";
import { UserError } from "../errors.js";
import { attentionChanges, checkedInterventions } from "../interventions.js";
import { branch, feedForward, merge } from "../layers.js";
import { sourceMask, targetMask } from "../masks.js";
import { layerNorm, linear, makeMatrix } from "../matrix.js";
import { rowOf } from "../text_model_base.js";
import { answerAttentionStepper } from "./attention_stepper.js";
import { bytesOf } from "./bytes.js";

const LIKELIEST = 5;
const SUBLAYERS = {
  self_attention: "selfAttention",
  cross_attention: "crossAttention",
  feed_forward: "feedForward",
};

/** @typedef {import("../matrix.js").Matrix} Matrix */

/** The scores of some models are no products of queries and keys. */
function refuseOtherScores({ positional, scoring }, kind) {
  if (positional === "rotary" && kind !== "cross")
    throw new UserError(
      "this layer turns its queries and keys by their positions (rotary), a step that " +
        "this view does not show; give a model with sinusoidal, learned or no positions",
    );
  if (scoring === "additive")
    throw new UserError(
      "this layer compares queries and keys by a small network (additive scoring), not by " +
        "dot products; give a model with scoring='scaled_dot' or 'dot'",
    );
}

/**
 * @param {Record<string, any>} models one, under the name ""
 * @param {{ sentence: string, kind?: string, layer?: number }} request with a kind, for the numbers of a layer
 * @param {{ goesOn?: boolean }} context whether a language model continues the text
 */
export function answerArchitecture(models, { sentence, kind, layer }, { goesOn = true } = {}) {
  const textModel = models[""];
  if (kind) {
    refuseOtherScores(textModel.model.config, kind);
    return answerAttentionStepper(models, { text: sentence, kind, layer }, { interventions: {} });
  }
  const trace =
    goesOn && textModel.task === "continue"
      ? textModel.judge(sentence, textModel.answer(sentence)).trace
      : textModel.trace(sentence);
  const { model, vocabulary } = textModel;
  const changes = checkedInterventions(null, model.config);
  const found = { vectors: {}, weights: {} };
  const walk = { config: model.config, changes, found };
  let [x, memory] = [null, null];
  if (model.encoder) {
    const ids = vocabulary.idsOf(trace.sourceTokens);
    const mask = sourceMask(model.config, ids, changes);
    x = walkStack(walk, model.encoder, model.sourceEmbedding, { ids, mask, memory: null });
    memory = { x, ids };
  }
  if (model.decoder) {
    const ids = vocabulary.idsOf(trace.targetTokens);
    const mask = targetMask(model.config, ids, changes);
    const read = memory && { ...memory, mask: sourceMask(model.config, memory.ids, changes, ids.length) };
    x = walkStack(walk, model.decoder, model.targetEmbedding, { ids, mask, memory: read });
  }
  return {
    source: trace.sourceTokens ?? null,
    target: trace.targetTokens ?? null,
    written: trace.outputTokens ?? null,
    vectors: found.vectors,
    weights: found.weights,
    likeliest: model.output && likeliest(linear(x, model.output), vocabulary.tokens),
  };
}

/** Run one stack, and keep what comes out of each box: [position, d_model]. */
function walkStack({ config, changes, found }, stack, embedding, { ids, mask, memory }) {
  const positions = Array.from(ids, (_, position) => position);
  let x = embed(embedding, ids, positions, changes); // [position, d_model]
  const keep = (key, matrix) => {
    found.vectors[`${stack.kind}.${key}`] = bytesOf(matrix.data);
  };
  const hasPositionBox = !["rotary", "none"].includes(config.positional);
  keep("embedding", hasPositionBox ? wordsAlone(embedding, ids) : x);
  if (hasPositionBox) keep("positions", x);
  for (const [index, layer] of stack.layers.entries()) {
    for (const [name, field] of Object.entries(SUBLAYERS)) {
      if (!layer[field]) continue;
      const key = `${index}.${name}`;
      const residual = layer[`${field}Residual`];
      const h = branch(residual, x, changes);
      if (residual.isPreNorm) keep(`${key}_norm`, h);
      const kind = name === "cross_attention" ? "cross" : stack.kind;
      const attended = { h, positions, mask, memory, changes: attentionChanges(changes, kind, index, null) };
      const { output, weights } = runSublayer(layer[field], name, attended);
      if (weights) found.weights[`${stack.kind}.${key}`] = bytesOf(weights);
      keep(key, output);
      x = merge(residual, x, output, changes);
      keep(`${key}_residual`, x);
    }
  }
  if (stack.norm) x = layerNorm(x, stack.norm);
  if (stack.norm) keep("norm", x);
  return x;
}

/** The output [position, d_model] of one part of a layer, and its weights [head, query, key] if it has any. */
function runSublayer(part, name, { h, positions, mask, memory, changes }) {
  if (name === "feed_forward") return { output: feedForward(part, h), weights: null };
  const crosses = name === "cross_attention";
  const places = crosses ? null : positions;
  const read = [keysValuesOf(part, crosses ? memory.x : h, places)];
  const attended = multiHeadAttention(part, h, read, [crosses ? memory.mask : mask], changes, places);
  return { output: attended.output, weights: attended.weights[0] };
}

/** The words' vectors before anything is added to them. */
function wordsAlone({ words, scale }, ids) {
  const x = makeMatrix(ids.length, words.cols);
  for (const [row, id] of Array.from(ids).entries()) {
    const from = words.data.subarray(id * words.cols, (id + 1) * words.cols);
    for (const [i, value] of from.entries()) x.data[row * words.cols + i] = value * scale;
  }
  return x;
}

/** The likeliest tokens of each position, with their probabilities. */
function likeliest(logits, tokens) {
  return Array.from({ length: logits.rows }, (_, position) => {
    const row = probabilities(rowOf(logits, position)); // [vocab]
    return topIds(row, Math.min(LIKELIEST, row.length)).map((id) => [tokens[id], row[id]]);
  });
}
