// Errors for the person at the page: one line that says what was given, what was expected and how to
// mend it. The messages are those of Python (viz_transformer/errors.py and vocabulary/words.py).

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

const ESCAPED = new Map([
  ["\\", "\\\\"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** What Python's repr gives for a value of JSON. */
export function repr(value: unknown): string {
  if (typeof value === "string") return reprText(value);
  if (typeof value === "number") return reprNumber(value);
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "object") {
    const pairs = Object.entries(value).map(([key, each]) => `${repr(key)}: ${repr(each)}`);
    return `{${pairs.join(", ")}}`;
  }
  return String(value);
}

function reprText(text: string) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = (character: string) => {
    if (character === quote) return `\\${quote}`;
    const known = ESCAPED.get(character);
    if (known) return known;
    // Python shows what is neither a separator but the space, nor invisible.
    if (character === " " || !/^[\p{C}\p{Z}]$/u.test(character)) return character;
    const hex = character.codePointAt(0)!.toString(16);
    if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
    return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  };
  return quote + Array.from(text, escaped).join("") + quote;
}

function reprNumber(value: number) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  // JSON writes 1.0 as 1, so a whole number is shown as one.
  return String(value).replace(/e([+-])(\d)$/, "e$10$2");
}
