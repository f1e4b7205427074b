// The masked language model: the words that fit a gap, from what stands on both sides of it.
// viz_transformer/masked_model.py does the same.

import { probabilities, topIds } from "./decoding/candidates.ts";
import { repr, shortened, UserError } from "./errors.ts";
import type { Interventions } from "./interventions.ts";
import { type Matrix, rowOf } from "./matrix.ts";
import { forward, type ModelOutput } from "./model.ts";
import { isBlank } from "./spelling.ts";
import { likeliestFirst, logProbsOf, TextModel } from "./text_model_base.ts";
import { Trace } from "./trace.ts";
import { MASK } from "./vocabulary.ts";

const GAP = /\[\?\]|<mask>|\[mask\]|_{2,}/gi;

export class MaskedModel extends TextModel {
  task = "fill" as const;

  /**
   * The probability of each word to stand in a text's gap, likeliest first. Of tokens, `<mask>` is the gap.
   */
  fill(text: string | string[], interventions: Interventions | null = null): Map<string, number> {
    const { ids, gap } = this.withGap(text);
    const ranked = likeliestFirst(
      probabilities(rowOf(this.logits(ids, interventions), gap)),
      this.vocabulary.tokens,
    );
    const words = new Set(this.vocabulary.words("target"));
    return new Map([...ranked].filter(([token]) => words.has(token)));
  }

  /** The tokens of the text with the likeliest word in its gap. */
  answer(text: string | string[], interventions: Interventions | null = null) {
    const { ids, gap } = this.withGap(text);
    const [best] = topIds(rowOf(this.logits(ids, interventions), gap), 1);
    return this.vocabulary.tokensOf([...ids.slice(0, gap), best, ...ids.slice(gap + 1, -1)]);
  }

  /** Every head's attention while the model reads a text, with gaps or without. */
  trace(text: string | string[], interventions: Interventions | null = null) {
    const ids = this.idsRead(text);
    return this.traced(ids, forward(this.model, { source: ids }, { interventions }));
  }

  /** The trace of a text with a gap, and the log-probability of an answer's word in it. */
  judge(text: string, answer: string | string[], interventions: Interventions | null = null) {
    const { ids, gap } = this.withGap(text);
    const word = this.wordIn(answer, ids, gap);
    const output = forward(this.model, { source: ids }, { interventions });
    const row = rowOf(this.wordsAlone(output.logits), gap); // [vocab]
    const logProbs = logProbsOf({ rows: 1, cols: row.length, data: row }, [word]);
    return { trace: this.traced(ids, output), logProbs };
  }

  traced(ids: number[], { attention }: ModelOutput) {
    return new Trace({ task: this.task, sourceTokens: this.vocabulary.tokensOf(ids), attention });
  }

  logits(ids: number[], interventions: Interventions | null) {
    return this.wordsAlone(forward(this.model, { source: ids }, { interventions }).logits);
  }

  /** Logits [position, vocab] without what is no word: its logit is -Infinity. */
  wordsAlone(logits: Matrix | null): Matrix {
    const { padId, sosId, eosId, maskId } = this.vocabulary;
    const data = logits!.data.slice(); // [position, vocab]
    for (let row = 0; row < logits!.rows; row++) {
      for (const id of [padId, sosId, eosId, maskId]) data[row * logits!.cols + id!] = -Infinity;
    }
    return { ...logits!, data };
  }

  /** What the model reads of a text or its tokens: the ids, gaps masked, then `<eos>`. */
  idsRead(text: string | string[]) {
    if (isBlank(typeof text === "string" ? text : text.join(""))) {
      throw new UserError("the text is empty; type a sentence with a gap, such as 'el [?] negro'");
    }
    const ids = this.idsOf(typeof text === "string" ? text.replace(GAP, ` ${MASK} `) : text);
    ids.push(this.vocabulary.eosId);
    this.checkLength(ids, "text");
    return ids;
  }

  /** What the model reads of a text with one gap, and where the gap is. */
  withGap(text: string | string[]) {
    const ids = this.idsRead(text);
    const nGaps = ids.filter((id) => id === this.vocabulary.maskId).length;
    if (nGaps !== 1) {
      throw new UserError(
        `${shortened(repr(text), 60)} has ${nGaps || "no"} gap${nGaps > 1 ? "s" : ""}, and one is needed; ` +
          "write it as [?], such as 'el [?] negro'",
      );
    }
    if (ids.length === 2) {
      throw new UserError(
        `${shortened(repr(text), 60)} has only a gap; put words around it, such as 'el [?] negro'`,
      );
    }
    return { ids, gap: ids.indexOf(this.vocabulary.maskId!) };
  }

  wordIn(answer: string | string[], ids: number[], gap: number) {
    const filled = this.idsRead(answer);
    const differing = filled.map((id, i) => (id === ids[i] ? -1 : i)).filter((i) => i >= 0);
    if (filled.length === ids.length && differing.length === 1 && differing[0] === gap) return filled[gap];
    const shown = typeof answer === "string" ? answer : answer.join(" ");
    throw new UserError(`${shortened(repr(shown), 60)} is not the text with the gap; change only the gap`);
  }
}
