// The language model: the words that may come next, whole texts and traces.
// viz_transformer/language_model.py does the same.

import { probabilities } from "./decoding/candidates.ts";
import { UserError } from "./errors.ts";
import type { Interventions } from "./interventions.ts";
import { rowOf } from "./matrix.ts";
import { forward } from "./model.ts";
import { isBlank } from "./spelling.ts";
import { likeliestFirst, logProbsOf, WritingModel } from "./text_model_base.ts";
import { Trace } from "./trace.ts";

export class LanguageModel extends WritingModel {
  task = "continue" as const;

  /** The tokens of a whole text: the beginning, and what the model writes. */
  answer(text: string, interventions: Interventions | null = null) {
    const read = this.vocabulary.tokensOf(this.given(text).slice(1));
    return [...read, ...this.decode(text, { interventions }).hypotheses[0].tokens];
  }

  /** Every head's attention while the model reads a whole text, or its tokens. */
  trace(text: string | string[], interventions: Interventions | null = null) {
    return this.judge("", text, interventions).trace;
  }

  /** The trace of a whole text, and how probable each of its words is; the last is `<eos>`. */
  judge(_text: string, answer: string | string[], interventions: Interventions | null = null) {
    const { vocabulary } = this;
    const { read, written } = this.readAndWritten(answer);
    const output = forward(this.model, { target: read }, { interventions });
    const trace = new Trace({
      task: this.task,
      targetTokens: vocabulary.tokensOf(read),
      outputTokens: vocabulary.tokensOf(written),
      attention: output.attention,
    });
    return { trace, logProbs: logProbsOf(output.logits!, written) };
  }

  /** The probability of each token to come next after a beginning, likeliest first; `<eos>` is among them. */
  nextWords(text = "", interventions: Interventions | null = null): Map<string, number> {
    const read = this.given(text);
    const { logits } = forward(this.model, { target: read }, { interventions });
    return likeliestFirst(probabilities(rowOf(logits!, read.length - 1)), this.vocabulary.tokens);
  }

  /** What the model reads of a text that goes on. */
  given(text: string | string[]) {
    return isBlank(text) ? [this.vocabulary.sosId] : this.readAndWritten(text).read;
  }

  mostWords(given: number[]) {
    const room = this.config.max_length - given.length;
    if (room) return room;
    throw new UserError(
      `the text has ${given.length - 1} words, and this model reads no more, so it cannot continue; shorten it`,
    );
  }

  /** What the model reads of a whole text, and what it is to predict. */
  readAndWritten(text: string | string[]) {
    const words = this.idsOf(text);
    const read = [this.vocabulary.sosId, ...words];
    this.checkLength(read, "text");
    return { read, written: [...words, this.vocabulary.eosId] };
  }
}
