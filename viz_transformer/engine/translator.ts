// The translator: text in; translations, traces and searches out. viz_transformer/translator.py does the
// same.

import { probabilities, topIds } from "./decoding/candidates.ts";
import type { Interventions } from "./interventions.ts";
import { rowOf } from "./matrix.ts";
import { forward } from "./model.ts";
import { logProbsOf, WritingModel } from "./text_model_base.ts";
import { Trace } from "./trace.ts";

const LEAST_SHOWN = 0.005; // a smaller probability has no bar

export class Translator extends WritingModel {
  task = "translate" as const;

  answer(text: string, interventions: Interventions | null = null) {
    return this.decode(text, { interventions }).hypotheses[0].tokens;
  }

  /** Every head's attention while the model writes a translation, by default its own. */
  trace(text: string, target: string | string[] | null = null, interventions: Interventions | null = null) {
    return this.judge(text, target, interventions).trace;
  }

  /**
   * The trace, and how probable each word of a translation is; the last is `<eos>`. Without a target it is
   * the model's own.
   */
  judge(text: string, target: string | string[] | null = null, interventions: Interventions | null = null) {
    const { vocabulary } = this;
    const source = this.given(text);
    const words = this.idsOf(target ?? this.answer(text, interventions));
    const read = [vocabulary.sosId, ...words];
    this.checkLength(read, "translation");
    const written = [...words, vocabulary.eosId];
    const output = forward(this.model, { source, target: read }, { interventions });
    const trace = new Trace({
      task: this.task,
      sourceTokens: vocabulary.tokensOf(source),
      targetTokens: vocabulary.tokensOf(read),
      outputTokens: vocabulary.tokensOf(written),
      attention: output.attention,
    });
    return { trace, logProbs: logProbsOf(output.logits!, written) };
  }

  /** The likeliest words at each position of a translation, and how probable each is. */
  likelyWords(text: string, target: string[], n = 3): [string, number][][] {
    const { vocabulary } = this;
    const read = [vocabulary.sosId, ...this.idsOf(target)];
    const { logits } = forward(this.model, { source: this.given(text), target: read }, {});
    return read.map((_, position) => {
      const shares = probabilities(rowOf(logits!, position));
      const shown = topIds(shares, n).filter((id) => shares[id] >= LEAST_SHOWN);
      return shown.map((id) => [vocabulary.tokens[id], shares[id]]);
    });
  }

  /** The encoder's output vectors [source, d_model]; the last is that of `<eos>`. */
  encode(text: string, interventions: Interventions | null = null) {
    const read = { source: this.given(text), target: [this.vocabulary.sosId] };
    return forward(this.model, read, { interventions }).memory!;
  }

  given(text: string) {
    const ids = this.vocabulary.sourceIds(text);
    this.checkLength(ids, "sentence");
    return ids;
  }
}
