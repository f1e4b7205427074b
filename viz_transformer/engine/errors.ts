// Errors for the person at the page: one line that says what was given, what was expected and how to
// mend it. The messages are those of Python (viz_transformer/errors.py and vocabulary/words.py).

import { repr } from "./repr.ts";

/** An input that cannot be used; the message says how to mend it. */
export class UserError extends Error {
  name = "UserError";
}

/** Something that the page cannot do and Python can: the next that is asked may know the answer. */
export class NotInPage extends UserError {
  name = "NotInPage";
}

/** A text holds words that the vocabulary does not know. */
export class UnknownWordError extends UserError {
  name = "UnknownWordError";
  words: string[];
  suggestions: Record<string, string[]>;

  /** `suggestions` has for each unknown word the nearest known ones; `nOthers` are not named. */
  constructor(suggestions: Map<string, string[]>, language: string, nOthers = 0) {
    const hints = [...suggestions].map(
      ([word, near]) =>
        `unknown ${language} word ${quoted(word)}${near.length ? ` (did you mean ${listed(near, "or")}?)` : ""}`,
    );
    if (nOthers) hints.push(`and ${nOthers} more unknown words`);
    super(hints.join("; "));
    this.words = [...suggestions.keys()];
    this.suggestions = Object.fromEntries(suggestions);
  }
}

/** A text holds several sentences, and the model reads one at a time. */
export class SeveralSentencesError extends UserError {
  name = "SeveralSentencesError";
  sentences: string[];

  constructor(sentences: string[]) {
    const named = listed(
      sentences.slice(0, 2).map((sentence) => shortened(sentence, 60)),
      "and",
    );
    const given =
      sentences.length > 2
        ? `the text holds ${sentences.length} sentences, the first of them ${named}`
        : `${named} are two sentences`;
    super(`${given}, and one is expected; translate them one at a time`);
    this.sentences = sentences;
  }
}

/** Words as a message lists them: 'a', 'b' or 'c'. */
export function listed(words: string[], conjunction: string) {
  const shown = words.map((word) => quoted(word));
  const last = shown.pop();
  return shown.length ? `${shown.join(", ")} ${conjunction} ${last}` : last;
}

/** Text in quotation marks, cut where it is longer than `most` letters. */
export function quoted(text: string, most = 60) {
  return repr(Array.from(text).length <= most ? text : `${shortened(text, most)}…`);
}

/** The first characters of a text; an emoji counts as one. */
export function shortened(text: string, most: number) {
  return Array.from(text).slice(0, most).join("");
}
