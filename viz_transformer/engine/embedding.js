// Embeddings: ids to vectors, the sum of a word's and its position's.

import { layerNorm, makeMatrix } from "./matrix.js";
import { readMatrix, readNorm } from "./parameters.js";
import { embeddingScale, makePositions } from "./positions.js";
import { newestOf } from "./remembered.js";

/**
 * @typedef {object} Embedding
 * @property {import("./matrix.js").Matrix} words [vocab, d_model]
 * @property {import("./matrix.js").Matrix | null} positions [max_length, d_model]
 * @property {Float32Array | null} segment that all words are in, [d_model]
 * @property {import("./matrix.js").Norm | null} norm
 * @property {number} scale
 */

/**
 * The embedding of a model that is an encoder or a decoder alone.
 *
 * Source: Devlin et al. 2019, section 3 and figure 2; without segments Vaswani et al. 2017, sections
 * 3.4 and 3.5.
 *
 * @param {import("./parameters.js").Config} config
 * @param {import("./parameters.js").Weights} weights
 * @returns {Embedding}
 */
export function readEmbedding(config, weights) {
  const nSegments = config.n_segments;
  const segments = nSegments && readMatrix(weights, "embedding.segments.weight", nSegments, config.d_model);
  return {
    words: readMatrix(weights, "embedding.words.weight", config.vocab_size, config.d_model),
    positions: makePositions(config, weights, "embedding.positions"),
    segment: segments ? segments.data.subarray(0, config.d_model) : null,
    norm: config.embedding_norm ? readNorm(weights, "embedding.norm", config) : null,
    scale: embeddingScale(config),
  };
}

/**
 * The embedding of one side of an encoder–decoder.
 *
 * Tied (Vaswani et al. 2017, section 3.4), one matrix serves source, target and output; with a
 * vocabulary of the target's own, one serves target and output.
 *
 * @param {import("./parameters.js").Config} config
 * @param {import("./parameters.js").Weights} weights
 * @param {"source" | "target"} side
 * @returns {Embedding}
 */
export function readSideEmbedding(config, weights, side) {
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
export function outputVocabSize(config) {
  return config.target_vocab_size ?? config.vocab_size;
}

/**
 * A whole sentence as vectors; of the newest sentence they are remembered.
 *
 * @param {Embedding} embedding
 * @param {ArrayLike<number>} ids
 * @param {Required<import("./interventions.js").Interventions>} interventions
 */
export function embedSentence(embedding, ids, interventions) {
  const positions = Array.from(ids, (_, position) => position);
  const of = JSON.stringify([Array.from(ids), interventions.positions]);
  const x = newestOf(embedding, of, () => embed(embedding, ids, positions, interventions));
  return { x, positions };
}

/**
 * Turn ids into vectors: word plus position.
 *
 * @param {Embedding} embedding
 * @param {ArrayLike<number>} ids
 * @param {number[]} positions of each id
 * @param {Required<import("./interventions.js").Interventions>} interventions
 * @returns {import("./matrix.js").Matrix} [position, d_model]
 */
export function embed(embedding, ids, positions, interventions) {
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
