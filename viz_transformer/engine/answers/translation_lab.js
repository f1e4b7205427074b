// The answers of the translation lab: a text's translation and its trace, or what is wrong with the text
// and what to type instead. labs/translation_lab.py answers the same requests in the kernel.

import { NotInPage, SeveralSentencesError, UnknownWordError, UserError } from "../errors.js";
import { joinTokens } from "../marks.js";
import { rawTrace } from "./raw_trace.js";

const MOST_SUGGESTIONS = 3;

/**
 * @param {Record<string, import("../translator.js").Translator>} models
 * @param {{text: string}} request
 */
export function answerTranslationLab({ "": translator }, { text }) {
  try {
    const { ids, tokens, score } = translator.decode(text).hypotheses[0];
    const translation = { text: translator.vocabulary.decode(ids), tokens, score };
    return { translation, trace: rawTrace(translator.trace(text, tokens)) };
  } catch (error) {
    if (!(error instanceof UserError) || error instanceof NotInPage) throw error;
    return { problem: error.message, suggestions: suggestedTexts(translator.vocabulary, text, error) };
  }
}

/**
 * What to offer instead of a text, as [what a button says, the text it types]: words that could stand in
 * place of the first unknown one, or each of several sentences.
 *
 * @returns {[string, string][]}
 */
function suggestedTexts(vocabulary, text, error) {
  if (error instanceof SeveralSentencesError)
    return error.sentences.slice(0, MOST_SUGGESTIONS).map((sentence) => [sentence, sentence]);
  if (!(error instanceof UnknownWordError)) return [];
  const words = vocabulary.wordsOf(text);
  const at = words.indexOf(error.words[0]);
  return error.suggestions[error.words[0]]
    .slice(0, MOST_SUGGESTIONS)
    .map((near) => [near, joinTokens(words.with(at, near))]);
}
