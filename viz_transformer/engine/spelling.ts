// Spelling: text split into words and marks, and the known word that a typed one stands for.
// viz_transformer/vocabulary/spelling.py does the same. Its regular expressions are Python's, whose
// letters, digits and white space are Unicode's; in JavaScript \b, \w and \s are not quite those.

/** Marks with no space after them, and marks with none before them. */
export const OPENING_MARKS = "¿¡“«(";
export const CLOSING_MARKS = ".,;:!?…”»)";

/** Each is a token of its own, wherever it stands. */
export const MARKS = new Set(`${OPENING_MARKS}${CLOSING_MARKS}"`);

const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const WORD = "[\\p{L}\\p{N}_]";
/** A letter, a number that is no digit, or the underscore: Python's [^\W\d]. */
const LETTER = "[\\p{L}\\p{Nl}\\p{No}_]";
const ANY_MARK = [...MARKS].join("");
const TOKENS = new RegExp(`[${ANY_MARK}]|(?:(?!${SPACE})[^${ANY_MARK}])+`, "gu");
const CONTRACTIONS = [
  ["\\bwon't\\b", "will not"],
  ["\\bcan't\\b", "can not"],
  ["n't\\b", " not"],
  ["\\bi'm\\b", "i am"],
  ["'re\\b", " are"],
  ["\\b(it|he|she|that|what|where|who)'s\\b", "$1 is"],
].map(([pattern, spelledOut]) => ({ pattern: new RegExp(bounded(pattern), "giu"), spelledOut }));
const SENTENCE_ENDS = new RegExp(
  // "..." ends no sentence.
  `(?<=[.!?])(?<!\\.\\.)["”»)]*${SPACE}+` +
    // No space was typed; neither "3.5" nor "e.g." has two letters.
    `|(?<=${LETTER}{2}[.!?])(?=${LETTER}{2})` +
    "|(?<=[!?])(?=[¿¡])",
  "u",
);

/** A pattern whose word boundaries know every letter: JavaScript's \b knows the English ones. */
function bounded(pattern: string) {
  return pattern.replace(/^\\b/, `(?<!${WORD})`).replace(/\\b$/, `(?!${WORD})`);
}

/** Whether nothing but white space is in a text. */
export function isBlank(text: string | string[]) {
  return new RegExp(`^${SPACE}*$`, "u").test(String(text));
}

/** Text split into words and punctuation marks as they are typed, contractions spelled out. */
export function splitText(text: string) {
  // Half of a surrogate pair is not a character, and Python reads it so too.
  text = text.replace(/\p{Cs}/gu, "\ufffd").replaceAll("’", "'");
  for (const { pattern, spelledOut } of CONTRACTIONS) text = text.replace(pattern, spelledOut);
  return text.match(TOKENS) ?? [];
}

/** Text split after each ".", "!" or "?" that ends a sentence. */
export function splitSentences(text: string) {
  const around = new RegExp(`^${SPACE}+|${SPACE}+$`, "gu");
  return text
    .split(SENTENCE_ENDS)
    .map((part) => part.replace(around, ""))
    .filter((part) => (part.match(TOKENS) ?? []).some((token) => !MARKS.has(token)));
}

export type Spellings = ReturnType<typeof makeSpellings>;

/**
 * Some words, found by what people type.
 *
 * A typed word stands for the word that is spelled exactly so. If there is none, case is ignored; then
 * accents, though ñ is still a letter of its own; and last its tilde. Of several words that are then
 * alike, the plainest is found: with the fewest accents, in lower case, first in the alphabet.
 */
export function makeSpellings(words: Iterable<string>) {
  const plainestLast = [...words].map(plainness).sort(byPlainness).reverse();
  const foundBy = [(word: string) => word, composed, lower, withoutAccents, fold].map((key) => ({
    key,
    words: new Map(plainestLast.map(({ word }) => [key(word), word])),
  }));
  return {
    /** The word that a typed one stands for; undefined if there is none. */
    find(typed: string) {
      for (const { key, words } of foundBy) {
        const word = words.get(key(typed));
        if (word !== undefined) return word;
      }
      return undefined;
    },
  };
}

/** A word without case, accents and tilde, to compare it with others. */
export function fold(word: string) {
  return withoutAccents(word).replaceAll("ñ", "n");
}

function composed(word: string) {
  return word.normalize("NFC");
}

function lower(word: string) {
  return composed(caseFolded(word));
}

/** A word in lower case without accents; the tilde of ñ stays. */
function withoutAccents(word: string) {
  const kept: string[] = [];
  for (const character of caseFolded(word).normalize("NFD")) {
    const belongsToN = character === "\u0303" && kept.at(-1) === "n";
    if (belongsToN || !isCombining(character)) kept.push(character);
  }
  return composed(kept.join("")) || word; // a word of accents alone stays
}

/** Python's casefold: ß is ss, and a Greek sigma at a word's end is as any other. */
function caseFolded(word: string) {
  return Array.from(word, foldedCharacter).join("");
}

function foldedCharacter(character: string) {
  return character === "ı" ? character : character.toLowerCase().toUpperCase().toLowerCase();
}

/** Whether a character is an accent: one that normalisation puts after the highest class there is. */
function isCombining(character: string) {
  return character === "\u0345" || `\u0345${character}`.normalize("NFD")[0] !== "\u0345";
}

type Plainness = ReturnType<typeof plainness>;

function plainness(word: string) {
  const nAccents = Array.from(word.normalize("NFD")).filter(isCombining).length;
  return { word, nAccents, hasCapitals: word !== word.toLowerCase() };
}

function byPlainness(one: Plainness, other: Plainness) {
  return (
    one.nAccents - other.nAccents ||
    Number(one.hasCapitals) - Number(other.hasCapitals) ||
    byCodePoint(one.word, other.word)
  );
}

/** Compares two texts as Python sorts them: JavaScript's own order puts an emoji before U+FFFD. */
export function byCodePoint(one: string, other: string) {
  if (one === other) return 0;
  let at = 0;
  while (one.codePointAt(at) === other.codePointAt(at)) at++;
  return (one.codePointAt(at) ?? -1) - (other.codePointAt(at) ?? -1);
}

/** Words and punctuation marks as text: a space between words, none inside ¿…? */
export function joinTokens(tokens: Iterable<string>) {
  let text = "";
  let attached = true;
  for (const token of tokens) {
    text += attached || isMark(token, CLOSING_MARKS) ? token : ` ${token}`;
    attached = isMark(token, OPENING_MARKS);
  }
  return text;
}

function isMark(token: string, marks: string) {
  return token.length === 1 && marks.includes(token);
}

/**
 * Twice the characters that match over all characters, from 0 to 1. As in difflib, it is not the same
 * when the words are swapped, and of equally long matches the first counts. (difflib passes over
 * frequent characters in texts of 200 characters or more; no word is so long.)
 */
export function ratio(first: string, second: string) {
  const [a, b] = [Array.from(first), Array.from(second)];
  const length = a.length + b.length;
  return length ? (2 * matches(a, b)) / length : 1;
}

/** How many characters match: those of the longest block, and of what stands before and after it. */
function matches(a: string[], b: string[]): number {
  const { aStart, bStart, size } = longestBlock(a, b);
  if (!size) return 0;
  const before = matches(a.slice(0, aStart), b.slice(0, bStart));
  return size + before + matches(a.slice(aStart + size), b.slice(bStart + size));
}

/** The longest block of characters that both have; of several the first in `a`, then in `b`. */
function longestBlock(a: string[], b: string[]) {
  let best = { aStart: 0, bStart: 0, size: 0 };
  let above = new Array<number>(b.length + 1).fill(0); // of the blocks that end one character earlier in `a`
  for (let i = 0; i < a.length; i++) {
    const row = new Array<number>(b.length + 1).fill(0); // [j + 1]: how long a block ends at a[i] and b[j]
    for (let j = 0; j < b.length; j++) {
      if (a[i] !== b[j]) continue;
      const size = above[j] + 1;
      row[j + 1] = size;
      if (size > best.size) best = { aStart: i - size + 1, bStart: j - size + 1, size };
    }
    above = row;
  }
  return best;
}
