// The answers of the translation lab: a text's translation and its trace, or what is wrong with the text
// and what to type instead. widgets/translation_lab/live.py answers the same requests in the kernel.

import { NotInPage, SeveralSentencesError, UnknownWordError, UserError } from "../errors.ts";
import { joinTokens } from "../spelling.ts";
import type { Translator } from "../translator.ts";
import type { Vocabulary } from "../vocabulary.ts";
import { rawTrace } from "./bytes.ts";

const MOST_SUGGESTIONS = 3;

export function answerTranslationLab(
  { "": translator }: Record<string, Translator>,
  { text }: { text: string },
) {
  try {
    const { ids, tokens, score } = translator.decode(text).hypotheses[0];
    const translation = { text: translator.vocabulary.decode(ids), tokens, score };
    const trace = translator.trace(text, tokens);
    const { sourceTokens: source, outputTokens: target } = trace;
    const written = { text, source, target, next: translator.likelyWords(text, tokens) };
    return { translation, trace: rawTrace(trace), written };
  } catch (error) {
    if (!(error instanceof UserError) || error instanceof NotInPage) throw error;
    return { problem: error.message, suggestions: suggestedTexts(translator.vocabulary, text, error) };
  }
}

/**
 * What to offer instead of a text, as [what a button says, the text it types]: words that could stand in
 * place of the first unknown one, or each of several sentences.
 */
function suggestedTexts(vocabulary: Vocabulary, text: string, error: UserError): [string, string][] {
  if (error instanceof SeveralSentencesError)
    return error.sentences.slice(0, MOST_SUGGESTIONS).map((sentence) => [sentence, sentence]);
  if (!(error instanceof UnknownWordError)) return [];
  const words = vocabulary.wordsOf(text);
  const at = words.indexOf(error.words[0]);
  return error.suggestions[error.words[0]]
    .slice(0, MOST_SUGGESTIONS)
    .map((near) => [near, joinTokens(words.with(at, near))]);
}
