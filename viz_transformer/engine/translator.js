// The translator: text in; translations, traces and searches out. viz_transformer/translator.py does the
// same.

import { forward } from "./model.js";
import { WritingModel, logProbsOf } from "./text_model_base.js";
import { Trace } from "./trace.js";

/** @typedef {import("./text_model_base.js").Interventions} Interventions */

export class Translator extends WritingModel {
  task = "translate";

  /** The tokens of a translation. @param {Interventions} interventions */
  answer(text, interventions = null) {
    return this.decode(text, { interventions }).hypotheses[0].tokens;
  }

  /**
   * Every head's attention while the model writes a translation, by default its own.
   *
   * @param {string} text
   * @param {string | string[] | null} target
   * @param {Interventions} interventions
   */
  trace(text, target = null, interventions = null) {
    return this.judge(text, target, interventions).trace;
  }

  /**
   * The trace, and how probable each word of a translation is; the last is `<eos>`.
   *
   * @param {string} text
   * @param {string | string[] | null} target by default the model's own
   * @param {Interventions} interventions
   */
  judge(text, target = null, interventions = null) {
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
    return { trace, logProbs: logProbsOf(output.logits, written) };
  }

  /** The encoder's output vectors [source, d_model]; the last is that of `<eos>`. */
  encode(text, interventions = null) {
    const read = { source: this.given(text), target: [this.vocabulary.sosId] };
    return forward(this.model, read, { interventions }).memory;
  }

  given(text) {
    const ids = this.vocabulary.sourceIds(text);
    this.checkLength(ids, "sentence");
    return ids;
  }
}
