// Embeddings: ids to vectors, the sum of a word's and its position's.

import type { Interventions } from "./interventions.ts";
import { countTo, layerNorm, makeMatrix, type Matrix, type Norm, rowOf } from "./matrix.ts";
import { type Config, readMatrix, readNorm, type Weights } from "./parameters.ts";
import { embeddingScale, makePositions } from "./positions.ts";
import { newestOf } from "./reuse.ts";

export interface Embedding {
  /** [vocab, d_model] */
  words: Matrix;
  /** [max_length, d_model] */
  positions: Matrix | null;
  /** That all words are in, [d_model]. */
  segment: Float32Array | null;
  norm: Norm | null;
  scale: number;
}

/**
 * The embedding of a model that is an encoder or a decoder alone.
 *
 * Source: Devlin et al. 2019, section 3 and figure 2; without segments Vaswani et al. 2017, sections
 * 3.4 and 3.5.
 */
export function readEmbedding(config: Config, weights: Weights): Embedding {
  const nSegments = config.n_segments;
  const segments = nSegments
    ? readMatrix(weights, "embedding.segments.weight", nSegments, config.d_model)
    : null;
  return {
    words: readMatrix(weights, "embedding.words.weight", config.vocab_size, config.d_model),
    positions: makePositions(config, weights, "embedding.positions"),
    segment: segments && rowOf(segments, 0),
    norm: config.embedding_norm ? readNorm(weights, "embedding.norm", config) : null,
    scale: embeddingScale(config),
  };
}

/**
 * The embedding of one side of an encoder–decoder.
 *
 * Tied (Vaswani et al. 2017, section 3.4), one matrix serves source, target and output; with a
 * vocabulary of the target's own, one serves target and output.
 */
export function readSideEmbedding(config: Config, weights: Weights, side: "source" | "target"): Embedding {
  const hasOwn = side === "target" && (config.target_vocab_size !== null || !config.tie_embeddings);
  const nWords = side === "target" ? outputVocabSize(config) : config.vocab_size;
  return {
    words: readMatrix(weights, `${hasOwn ? "target" : "source"}_embedding.weight`, nWords, config.d_model),
    positions: makePositions(config, weights, `${side}_positions`),
    segment: null,
    norm: null,
    scale: embeddingScale(config),
  };
}

/** Number of tokens that a model may write: the target's where it has its own. */
export function outputVocabSize(config: Config) {
  return config.target_vocab_size ?? config.vocab_size;
}

/** A whole sentence as vectors; of the newest sentence they are remembered. */
export function embedSentence(
  embedding: Embedding,
  ids: ArrayLike<number>,
  interventions: Required<Interventions>,
) {
  const positions = countTo(ids.length);
  const of = JSON.stringify([Array.from(ids), interventions.positions]);
  const x = newestOf(embedding, of, () => embed(embedding, ids, positions, interventions));
  return { x, positions };
}

/** Turn ids into vectors [position, d_model]: word plus position. */
export function embed(
  embedding: Embedding,
  ids: ArrayLike<number>,
  positions: number[],
  interventions: Required<Interventions>,
): Matrix {
  const { words, scale, segment, norm } = embedding;
  const table = interventions.positions ? embedding.positions : null;
  const width = words.cols;
  const x = makeMatrix(ids.length, width);
  for (let row = 0; row < ids.length; row++) {
    for (let i = 0; i < width; i++) {
      let sum = words.data[ids[row] * width + i] * scale;
      if (table) sum += table.data[positions[row] * width + i];
      if (segment) sum += segment[i] * scale;
      x.data[row * width + i] = sum;
    }
  }
  return norm ? layerNorm(x, norm) : x;
}
