// The architecture's answers: what stands in every box for a sentence. widgets/architecture/live.py computes the same.

import { keysValuesOf, type MultiHead, multiHeadAttention } from "../attention.ts";
import { probabilities, topIds } from "../decoding/candidates.ts";
import { embed, type Embedding } from "../embedding.ts";
import {
  type AttentionChanges,
  attentionChanges,
  checkedInterventions,
  type Interventions,
} from "../interventions.ts";
import { branch, type FeedForward, feedForward, merge } from "../layers.ts";
import { sourceMask, targetMask } from "../masks.ts";
import { concatenated, countTo, layerNorm, linear, makeMatrix, type Matrix, rowOf } from "../matrix.ts";
import type { Config } from "../parameters.ts";
import type { Stack } from "../stacks.ts";
import type { Models } from "../text_model.ts";
import type { Kind } from "../trace.ts";
import { answerAttentionStepper } from "./attention_stepper.ts";
import { bytesOf } from "./bytes.ts";

const LIKELIEST = 5;
const SUBLAYERS = [
  ["self_attention", "selfAttention"],
  ["cross_attention", "crossAttention"],
  ["feed_forward", "feedForward"],
] as const;

/** What is read and kept while a sentence goes through the stacks. */
interface Walk {
  config: Config;
  changes: Required<Interventions>;
  vectors: Record<string, DataView>;
  weights: Record<string, DataView>;
}

/** The encoder's output [source, d_model], and the mask over it [target, source]. */
interface Memory {
  x: Matrix;
  mask: Uint8Array;
}

/**
 * A request with a kind is for the numbers of a layer; `goesOn` says whether a language model continues the
 * text.
 */
export function answerArchitecture(
  models: Models,
  { sentence, kind, layer }: { sentence: string; kind?: Kind; layer?: number },
  { goesOn = true }: { goesOn?: boolean } = {},
) {
  const textModel = models[""];
  if (kind) {
    return answerAttentionStepper(models, { text: sentence, kind, layer: layer! }, { interventions: {} });
  }
  const given = goesOn && textModel.task === "continue" ? textModel.given(sentence).length - 1 : 0;
  const trace =
    goesOn && textModel.task === "continue"
      ? textModel.judge(sentence, textModel.answer(sentence)).trace
      : textModel.trace(sentence);
  const { model, vocabulary } = textModel;
  const changes = checkedInterventions(null, model.config);
  const walk: Walk = { config: model.config, changes, vectors: {}, weights: {} };
  let x: Matrix | null = null;
  let memory: Memory | null = null;
  if (model.encoder) {
    const ids = vocabulary.idsOf(trace.sourceTokens);
    const mask = sourceMask(model.config, ids, changes);
    x = walkStack(walk, model.encoder, model.sourceEmbedding!, { ids, mask, memory });
    memory = { x, mask: new Uint8Array() };
  }
  if (model.decoder) {
    const ids = vocabulary.idsOf(trace.targetTokens);
    const mask = targetMask(model.config, ids, changes);
    if (memory)
      memory.mask = sourceMask(model.config, vocabulary.idsOf(trace.sourceTokens), changes, ids.length);
    x = walkStack(walk, model.decoder, model.targetEmbedding!, { ids, mask, memory });
  }
  return {
    source: trace.sourceTokens ?? null,
    target: trace.targetTokens ?? null,
    written: trace.outputTokens ?? null,
    given,
    vectors: walk.vectors,
    weights: walk.weights,
    likeliest: model.output && likeliest(linear(x!, model.output), vocabulary.tokens),
  };
}

/** Run one stack, and keep what comes out of each box: [position, d_model]. */
function walkStack(
  { config, changes, vectors, weights: kept }: Walk,
  stack: Stack,
  embedding: Embedding,
  { ids, mask, memory }: { ids: number[]; mask: Uint8Array; memory: Memory | null },
) {
  const positions = countTo(ids.length);
  let x = embed(embedding, ids, positions, changes); // [position, d_model]
  const keep = (key: string, matrix: Matrix) => {
    vectors[`${stack.kind}.${key}`] = bytesOf(matrix.data);
  };
  const hasPositionBox = !["rotary", "none"].includes(config.positional);
  keep("embedding", hasPositionBox ? wordsAlone(embedding, ids) : x);
  if (hasPositionBox) keep("positions", x);
  for (const [index, layer] of stack.layers.entries()) {
    for (const [name, field] of SUBLAYERS) {
      const [part, residual] = [layer[field], layer[`${field}Residual`]];
      if (!part || !residual) continue;
      const key = `${index}.${name}`;
      const h = branch(residual, x, changes);
      if (residual.isPreNorm) keep(`${key}_norm`, h);
      const kind = name === "cross_attention" ? "cross" : stack.kind;
      const ofHeads = attentionChanges(changes, kind, index, null);
      const read = kind === "cross" ? memory : null;
      const attended = { h, positions, mask, memory: read, changes: ofHeads };
      const { output, weights } = runSublayer(part, attended);
      if (weights) kept[`${stack.kind}.${key}`] = bytesOf(weights);
      keep(key, output);
      x = merge(residual, x, output, changes);
      keep(`${key}_residual`, x);
    }
  }
  if (stack.norm) x = layerNorm(x, stack.norm);
  if (stack.norm) keep("norm", x);
  return x;
}

/** What a part of a layer reads; only cross-attention has a memory. */
interface Attended {
  h: Matrix;
  positions: number[];
  mask: Uint8Array;
  memory: Memory | null;
  changes: AttentionChanges;
}

/**
 * The output [position, d_model] of one part of a layer, and its weights [head, query, key] if it has any.
 */
function runSublayer(
  part: MultiHead | FeedForward,
  { h, positions, mask, memory, changes }: Attended,
): { output: Matrix; weights: Float32Array | null } {
  if (!("wQ" in part)) return { output: feedForward(part, h), weights: null };
  const places = memory ? null : positions;
  const read = [keysValuesOf(part, memory?.x ?? h, places)];
  const attended = multiHeadAttention(part, h, read, [memory?.mask ?? mask], changes, places);
  return { output: attended.output, weights: attended.weights[0] };
}

function wordsAlone({ words, scale }: Embedding, ids: number[]) {
  const rows = concatenated(ids.map((id) => rowOf(words, id)));
  return makeMatrix(
    ids.length,
    words.cols,
    rows.map((value) => value * scale),
  );
}

function likeliest(logits: Matrix, tokens: string[]) {
  return countTo(logits.rows).map((position) => {
    const row = probabilities(rowOf(logits, position)); // [vocab]
    return topIds(row, Math.min(LIKELIEST, row.length)).map((id) => [tokens[id], row[id]]);
  });
}
