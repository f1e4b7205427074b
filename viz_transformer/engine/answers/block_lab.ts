// The answers of the block lab: how far each word's output moves in each part of a block when the
// vector of one word is turned round. widgets/block_lab/live.py computes the same.

import { keysValuesOf, multiHeadAttention } from "../attention.ts";
import { embed } from "../embedding.ts";
import { attentionChanges, checkedInterventions } from "../interventions.ts";
import { feedForward } from "../layers.ts";
import { countTo, layerNorm, makeMatrix, type Matrix, movedShare, rowOf } from "../matrix.ts";
import { type Model, runEncoder } from "../model.ts";
import type { Models } from "../text_model.ts";
import { bytesOf } from "./bytes.ts";

const NORM_EPSILON = 1e-5; // added to a variance, as in LayerNorm

export function answerBlockLab(
  { "": textModel }: Models,
  { sentence, layer }: { sentence: string; layer: number },
) {
  const { model, vocabulary } = textModel;
  const ids = vocabulary.sourceIds(sentence);
  const x = layerInput(model, ids, layer); // [word, d_model]
  const parts = Object.entries(blockParts(model, layer, ids.length));
  const spread = new Float32Array(parts.length * ids.length ** 2); // [part, changed, word]
  for (const [index, [, part]] of parts.entries()) {
    const before = part(x);
    for (let changed = 0; changed < ids.length; changed++) {
      const after = part(turnedRound(x, changed));
      const moved = ids.map((_, word) => movedShare(rowOf(before, word), rowOf(after, word))); // [word]
      spread.set(moved, (index * ids.length + changed) * ids.length);
    }
  }
  const names = parts.map(([name]) => name);
  return { tokens: vocabulary.tokensOf(ids), parts: names, spread: bytesOf(spread) };
}

/** What a layer of the encoder reads: the output of the layer before it, or the embeddings. */
function layerInput(model: Model, ids: number[], layer: number) {
  const changes = checkedInterventions(null, model.config);
  if (layer) return runEncoder(model, ids, changes).layers[layer - 1].x;
  return embed(model.sourceEmbedding!, ids, countTo(ids.length), changes);
}

/**
 * The parts of a block, each from vectors [word, d_model] to vectors. The last is none of them:
 * LayerNorm over the wrong axis, that of the words.
 */
function blockParts(model: Model, layer: number, length: number): Record<string, (x: Matrix) => Matrix> {
  const block = model.encoder!.layers[layer];
  const changes = attentionChanges(checkedInterventions(null, model.config), "encoder", layer, null);
  const everywhere = new Uint8Array(length * length).fill(1); // every word may look at every word
  const positions = countTo(length);
  return {
    "self-attention": (x) => {
      const looked = [keysValuesOf(block.selfAttention, x, positions)];
      return multiHeadAttention(block.selfAttention, x, looked, [everywhere], changes, positions).output;
    },
    LayerNorm: (x) => layerNorm(x, block.selfAttentionResidual.norm),
    "feed-forward": (x) => feedForward(block.feedForward, x),
    "norm over words": normOverWords,
  };
}

/** The vectors with one of them turned round: x becomes -x. */
function turnedRound(x: Matrix, changed: number) {
  const data = Float32Array.from(x.data);
  for (let i = changed * x.cols; i < (changed + 1) * x.cols; i++) data[i] = -data[i];
  return makeMatrix(x.rows, x.cols, data);
}

/** Bring each feature to mean 0 and variance 1 over the words of the sentence. */
function normOverWords(x: Matrix) {
  const y = makeMatrix(x.rows, x.cols);
  for (let col = 0; col < x.cols; col++) {
    const feature = countTo(x.rows).map((row) => x.data[row * x.cols + col]); // [word]
    const mean = feature.reduce((sum, value) => sum + value, 0) / x.rows;
    const variance = feature.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.rows;
    for (const [row, value] of feature.entries()) {
      y.data[row * x.cols + col] = (value - mean) / Math.sqrt(variance + NORM_EPSILON);
    }
  }
  return y;
}
