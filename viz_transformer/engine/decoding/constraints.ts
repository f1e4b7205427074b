// What decoding begins with and may write; viz_transformer/decoding/constraints.py does the same.

import type { Interventions } from "../interventions.ts";
import type { Model } from "../model.ts";
import { openSteps } from "../steps.ts";
import type { Vocabulary } from "../vocabulary.ts";

export interface TextOptions {
  /** Most words; by default twice as many as were given and ten more. */
  maxLength?: number | null;
  interventions?: Interventions | null;
  /** Whether to record what every head looked at. */
  attention?: boolean;
}

export type OpenText = ReturnType<typeof openText>;

/**
 * One text about to be written: `given` are the ids of a source with `<eos>` at its end, or for a decoder alone
 * those of the text that is continued.
 */
export function openText(
  model: Model,
  given: number[],
  vocabulary: Vocabulary,
  { maxLength, interventions = null, attention = false }: TextOptions,
) {
  const continues = model.config.family === "decoder";
  const read = continues ? { prompt: given } : { source: given };
  // A text that does not continue its source begins with <sos>.
  const room = model.config.max_length - (continues ? given.length : 1);
  const named = vocabulary.tokensOf(given);
  return {
    config: model.config,
    steps: openSteps(model, read, { interventions, attention }),
    firstId: continues ? given[given.length - 1] : vocabulary.sosId,
    constraints: new Constraints(vocabulary, maxLength ?? Math.min(2 * given.length + 10, room)),
    sourceTokens: continues ? [] : named,
    promptTokens: continues ? named : [vocabulary.tokens[vocabulary.sosId]],
  };
}

/** What may be written: never `<pad>` or `<sos>`, and after the most words there may be only `<eos>`. */
class Constraints {
  vocabulary: Vocabulary;
  maxLength: number;

  constructor(vocabulary: Vocabulary, maxLength: number) {
    this.vocabulary = vocabulary;
    this.maxLength = maxLength;
  }

  /** Logits [vocab] in which what may not be written after `step` words is -Infinity. */
  forbid(logits: Float32Array, step: number) {
    const { padId, sosId, eosId } = this.vocabulary;
    if (step >= this.maxLength) {
      return logits.map((logit, id) => (id === eosId ? logit : -Infinity)); // [vocab]
    }
    const allowed = logits.slice(); // [vocab]
    allowed[padId] = allowed[sosId] = -Infinity;
    return allowed;
  }

  /** Why a word may not be written after `step` words; null if it may. */
  whyForbidden(id: number, step: number) {
    const { padId, sosId, eosId, tokens } = this.vocabulary;
    if (id === padId || id === sosId) return `${tokens[id]} is never written`;
    if (id !== eosId && step >= this.maxLength) return `the text has ${step} words, the most there may be`;
    return null;
  }
}

/** Whether a value is a whole number of at least `least`. */
export function isWhole(value: number, least: number) {
  return Number.isInteger(value) && value >= least;
}
