// What the models behind calls on plain text share; viz_transformer/text_model.py and writing_model.py
// do the same.

import { beamSearch } from "./decoding/beam.js";
import { logSumExp } from "./decoding/distribution.js";
import { sample } from "./decoding/sampling.js";
import { UserError } from "./errors.js";

/** @typedef {object | null} Interventions what to switch off or replace in the model */

export class TextModel {
  /**
   * @param {any} model of one of the three families
   * @param {import("./vocabulary.js").Vocabulary} vocabulary the one that it was trained with
   */
  constructor(model, vocabulary) {
    this.model = model;
    this.vocabulary = vocabulary;
  }

  get config() {
    return this.model.config;
  }

  /** The ids of a text of the target language, given as text or as tokens. */
  idsOf(text) {
    return typeof text === "string" ? this.vocabulary.encode(text, "target") : this.vocabulary.idsOf(text);
  }

  checkLength(ids, what) {
    const most = this.config.max_length;
    if (ids.length <= most) return;
    // Beside the words there is one special token.
    throw new UserError(
      `the ${what} has ${ids.length - 1} words, and this model reads at most ${most - 1}; shorten it, or ` +
        "split it in two",
    );
  }
}

/** A model that writes word by word. `given(text)` is what it reads before, `mostWords` how much it may write. */
export class WritingModel extends TextModel {
  /**
   * The whole beam search.
   *
   * @param {{ beamWidth?: number, lengthPenalty?: number, interventions?: Interventions, attention?: boolean }} options
   */
  decode(text = "", options = {}) {
    const given = this.given(text);
    return beamSearch(this.model, given, this.vocabulary, { ...options, maxLength: this.mostWords(given) });
  }

  /**
   * A text that is drawn word by word.
   *
   * @param {{ temperature?: number, topK?: number | null, topP?: number | null, seed?: number }} options
   */
  sample(text = "", options = {}) {
    const given = this.given(text);
    return sample(this.model, given, this.vocabulary, { ...options, maxLength: this.mostWords(given) });
  }

  /** @param {string} _text @returns {number[]} */
  given(_text) {
    throw new Error("a family says what its models are given");
  }

  /** @param {number[]} _given @returns {number | null} null: as many as decoding allows */
  mostWords(_given) {
    return null;
  }
}

/**
 * The log-probability of one id at each position, in double precision: a word that is all but certain
 * still shows how certain.
 *
 * @param {import("./matrix.js").Matrix} logits [position, vocab]
 * @param {number[]} ids one for each position
 */
export function logProbsOf(logits, ids) {
  return Float64Array.from(ids, (id, position) => {
    const row = rowOf(logits, position); // [vocab]
    return row[id] - logSumExp(row);
  });
}

/** One row of a matrix, as a view of it. */
export function rowOf({ cols, data }, row) {
  return data.subarray(row * cols, (row + 1) * cols);
}

/** Tokens and their probabilities, likeliest first, of equal ones the lower id. */
export function likeliestFirst(probabilities, tokens) {
  const order = Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a]);
  return new Map(order.map((id) => [tokens[id], probabilities[id]]));
}
