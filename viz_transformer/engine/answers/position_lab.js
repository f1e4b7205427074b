// The position lab's answers: how far each word's vector moves when the words are read in another
// order, and the translation. labs/position_lab.py gives the same.

import { rowOf } from "../text_model_base.js";

/**
 * `moved` is |output in the new order − output as written| / |output as written|, for each word in
 * the order of the original sentence.
 *
 * @param {Record<string, any>} models the translator, under the name ""
 * @param {{ words: string[], order: number[], positions_on: boolean }} request
 */
export function answerPositionLab({ "": translator }, { words, order, positions_on }) {
  const interventions = { positions: positions_on };
  const written = words.join(" ");
  const shuffled = order.map((word) => words[word]).join(" ");
  const before = translator.encode(written, interventions); // [source, d_model]
  const after = translator.encode(shuffled, interventions); // [source, d_model]
  const translate = (text) => {
    const [best] = translator.decode(text, { interventions }).hypotheses;
    return translator.vocabulary.decode(best.ids);
  };
  return {
    moved: words.map((_, word) => movedShare(rowOf(before, word), rowOf(after, order.indexOf(word)))),
    translation: translate(shuffled),
    as_written: translate(written),
  };
}

/** The length of the difference of two vectors, in lengths of the first. */
function movedShare(before, after) {
  return Math.hypot(...after.map((value, i) => value - before[i])) / Math.hypot(...before);
}
