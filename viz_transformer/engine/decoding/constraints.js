// What decoding begins with and may write; viz_transformer/decoding/constraints.py does the same.

import { openSteps } from "../steps.js";

/**
 * One text about to be written.
 *
 * @param {any} model with an encoder, or a decoder alone, which continues what it is given
 * @param {number[]} given ids: a source with `<eos>` at its end, or the text that is continued
 * @param {import("../vocabulary.js").Vocabulary} vocabulary
 * @param {{ maxLength?: number | null, interventions?: object | null, attention?: boolean }} options
 *     `maxLength`: most words; by default twice as many as were given and ten more
 */
export function openText(model, given, vocabulary, { maxLength, interventions = null, attention = false }) {
  const continues = model.config.family === "decoder";
  const read = continues ? { prompt: given } : { source: given };
  // A text that does not continue its source begins with <sos>.
  const room = model.config.max_length - (continues ? given.length : 1);
  const named = vocabulary.tokensOf(given);
  return {
    config: model.config,
    steps: openSteps(model, read, { interventions, attention }),
    firstId: continues ? given.at(-1) : vocabulary.sosId,
    constraints: new Constraints(vocabulary, maxLength ?? Math.min(2 * given.length + 10, room)),
    sourceTokens: continues ? [] : named,
    promptTokens: continues ? named : [vocabulary.tokens[vocabulary.sosId]],
  };
}

/** What may be written: never `<pad>` or `<sos>`, and after the most words there may be only `<eos>`. */
class Constraints {
  constructor(vocabulary, maxLength) {
    this.vocabulary = vocabulary;
    this.maxLength = maxLength;
  }

  /** Logits [vocab] in which what may not be written after `step` words is -Infinity. */
  forbid(logits, step) {
    const { padId, sosId, eosId } = this.vocabulary;
    if (step >= this.maxLength) {
      return logits.map((logit, id) => (id === eosId ? logit : -Infinity)); // [vocab]
    }
    const allowed = logits.slice(); // [vocab]
    allowed[padId] = allowed[sosId] = -Infinity;
    return allowed;
  }

  /** Why a word may not be written after `step` words; null if it may. */
  whyForbidden(id, step) {
    const { padId, sosId, eosId, tokens } = this.vocabulary;
    if (id === padId || id === sosId) return `${tokens[id]} is never written`;
    if (id !== eosId && step >= this.maxLength) return `the text has ${step} words, the most there may be`;
    return null;
  }
}

/** Whether a value is a whole number of at least `least`. */
export function isWhole(value, least) {
  return Number.isInteger(value) && value >= least;
}
