// The position lab's answers: how far each word's vector moves when the words are read in another
// order, and the translation. widgets/position_lab/live.py gives the same.

import { movedShare, rowOf } from "../matrix.ts";
import type { Translator } from "../translator.ts";

/**
 * `moved` is |output in the new order − output as written| / |output as written|, for each word in
 * the order of the original sentence.
 */
export function answerPositionLab(
  { "": translator }: Record<string, Translator>,
  { words, order, positions_on }: { words: string[]; order: number[]; positions_on: boolean },
) {
  const interventions = { positions: positions_on };
  const written = words.join(" ");
  const shuffled = order.map((word) => words[word]).join(" ");
  const before = translator.encode(written, interventions); // [source, d_model]
  const after = translator.encode(shuffled, interventions); // [source, d_model]
  const translate = (text: string) => {
    const [best] = translator.decode(text, { interventions }).hypotheses;
    return translator.vocabulary.decode(best.ids);
  };
  return {
    moved: words.map((_, word) => movedShare(rowOf(before, word), rowOf(after, order.indexOf(word)))),
    translation: translate(shuffled),
    as_written: translate(written),
  };
}
