// What the models behind calls on plain text share; viz_transformer/text_model.py and writing_model.py
// do the same.

import { type BeamOptions, beamSearch } from "./decoding/beam.ts";
import { logSumExp } from "./decoding/candidates.ts";
import { sample, type SampleOptions } from "./decoding/sampling.ts";
import { UserError } from "./errors.ts";
import { type Matrix, rowOf } from "./matrix.ts";
import type { Model } from "./model.ts";
import type { Vocabulary } from "./vocabulary.ts";

export class TextModel {
  model: Model;
  vocabulary: Vocabulary;

  constructor(model: Model, vocabulary: Vocabulary) {
    this.model = model;
    this.vocabulary = vocabulary;
  }

  get config() {
    return this.model.config;
  }

  /** The ids of a text of the target language, given as text or as tokens. */
  idsOf(text: string | string[]) {
    return typeof text === "string" ? this.vocabulary.encode(text, "target") : this.vocabulary.idsOf(text);
  }

  checkLength(ids: ArrayLike<number>, what: string) {
    const most = this.config.max_length;
    if (ids.length <= most) return;
    // Beside the words there is one special token.
    throw new UserError(
      `the ${what} has ${ids.length - 1} words, and this model reads at most ${most - 1}; shorten it, or ` +
        "split it in two",
    );
  }
}

/** A model that writes word by word. `given(text)` is what it reads before. */
export abstract class WritingModel extends TextModel {
  decode(text = "", options: Omit<BeamOptions, "maxLength"> = {}) {
    const given = this.given(text);
    return beamSearch(this.model, given, this.vocabulary, { ...options, maxLength: this.mostWords(given) });
  }

  sample(text = "", options: Omit<SampleOptions, "maxLength"> = {}) {
    const given = this.given(text);
    return sample(this.model, given, this.vocabulary, { ...options, maxLength: this.mostWords(given) });
  }

  abstract given(text: string): number[];

  /** How many words it may write; null: as many as decoding allows. */
  mostWords(_given: number[]): number | null {
    return null;
  }
}

/**
 * The log-probability of one id at each position, in double precision: a word that is all but certain still
 * shows how certain.
 */
export function logProbsOf(logits: Matrix, ids: number[]) {
  return Float64Array.from(ids, (id, position) => {
    const row = rowOf(logits, position); // [vocab]
    return row[id] - logSumExp(row);
  });
}

/** Tokens and their probabilities, likeliest first, of equal ones the lower id. */
export function likeliestFirst(probabilities: Float64Array, tokens: string[]) {
  const order = Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a]);
  return new Map(order.map((id) => [tokens[id], probabilities[id]]));
}
