// The word vocabulary: one joint vocabulary for both languages, its tokens words and marks.
// viz_transformer/vocabulary/words.py does the same, and says the same when a text does not suit.

import {
  listed,
  NotInPage,
  quoted,
  repr,
  SeveralSentencesError,
  shortened,
  UnknownWordError,
  UserError,
} from "./errors.ts";
import {
  byCodePoint,
  fold,
  joinTokens,
  makeSpellings,
  MARKS,
  ratio,
  type Spellings,
  splitSentences,
  splitText,
} from "./spelling.ts";

export type Side = "source" | "target";

const SPECIAL_TOKENS = ["<pad>", "<sos>", "<eos>"];
/** Stands for a word that a masked language model is to find; only its vocabulary has it. */
export const MASK = "<mask>";
/** What an error suggests to type, by side, where the vocabulary knows its words. */
const EXAMPLES = { source: "the cat is black", target: "el gato es negro" };

/** How many unknown words are named, and how many letters of one are compared with known words. */
const [MOST_UNKNOWN, MOST_LETTERS] = [5, 40];

/** What Vocabulary.to_json wrote, parsed; `merges` are of a vocabulary of pieces of words. */
export interface VocabularyFile {
  languages: string[];
  source_words: string[];
  target_words: string[];
  several_sentences?: boolean;
  mask?: boolean;
  merges?: unknown;
}

/** Text to ids and back: `<pad> <sos> <eos>` are ids 0 1 2, then all words, sorted. */
export class Vocabulary {
  padId = 0;
  sosId = 1;
  eosId = 2;

  languages: string[];
  severalSentences: boolean;
  known: Record<Side, Set<string>>;
  /** All tokens, as they are shown, by id. */
  tokens: string[];
  ids: Map<string, number>;
  /** The id of `<mask>`, or null where the vocabulary has none. */
  maskId: number | null;
  spellings: Record<Side, Spellings>;

  constructor(read: VocabularyFile) {
    this.languages = read.languages;
    this.severalSentences = read.several_sentences === true;
    this.known = { source: new Set(read.source_words), target: new Set(read.target_words) };
    const words = [...new Set([...read.source_words, ...read.target_words])].sort(byCodePoint);
    this.tokens = [...SPECIAL_TOKENS, ...words, ...(read.mask === true ? [MASK] : [])];
    this.ids = new Map(this.tokens.map((token, id) => [token, id]));
    this.maskId = this.ids.get(MASK) ?? null;
    this.spellings = {
      source: makeSpellings(this.known.source),
      target: makeSpellings(this.known.target),
    };
  }

  words(side: Side = "source") {
    return [...this.known[side]].sort(byCodePoint);
  }

  /**
   * The words that a text is made of, spelled as one side spells them: contractions are spelled out,
   * case and accents forgiven. An unknown word stays as it is, and a mark that the side does not know
   * is left out.
   */
  wordsOf(text: string, side: Side = "source") {
    return splitText(text)
      .map((token) => this.spellings[side].find(token) ?? (MARKS.has(token) ? null : token))
      .filter((word) => word !== null);
  }

  /**
   * Text to ids, without `<sos>` and `<eos>`. Throws an UnknownWordError, a SeveralSentencesError, or
   * a UserError if the text holds no word or is of the other language.
   */
  encode(text: string, side: Side = "source") {
    const words = this.wordsOf(text, side);
    const language = this.language(side);
    if (!words.length) {
      throw new UserError(`${shortened(repr(text), 40)} holds no word; type a sentence in ${language}`);
    }
    if (side === "source" && !this.severalSentences) this.refuseSeveralSentences(text);
    const unknown = [...new Set(words)].filter((word) => !this.known[side].has(word) && !this.isMask(word));
    if (unknown.length) {
      this.refuseOtherLanguage(text, words, unknown, side);
      const first = unknown.slice(0, MOST_UNKNOWN);
      const suggestions = new Map(first.map((word) => [word, this.nearest(word, side)]));
      throw new UnknownWordError(suggestions, language, unknown.length - first.length);
    }
    return words.map((word) => this.ids.get(word)!);
  }

  /** What the encoder reads: the text's ids, then `<eos>`. */
  sourceIds(text: string) {
    return [...this.encode(text), this.eosId];
  }

  /** A whole translation: `<sos>`, the text's ids, `<eos>`. */
  targetIds(text: string) {
    return [this.sosId, ...this.encode(text, "target"), this.eosId];
  }

  /** Ids as text; special tokens are left out. */
  decode(ids: Iterable<number>) {
    return joinTokens(this.tokensOf(ids).filter((token) => !SPECIAL_TOKENS.includes(token)));
  }

  /** Ids as token strings, special ones included. */
  tokensOf(ids: Iterable<number>) {
    return Array.from(ids, (id) => this.tokens[id]);
  }

  /** Token strings as ids; throws a UserError if one is not in the vocabulary. */
  idsOf(tokens: Iterable<string>) {
    return Array.from(tokens, (token) => {
      const id = this.ids.get(token);
      if (id !== undefined) return id;
      throw new UserError(`${quoted(token)} is not a token of this vocabulary; give its tokens`);
    });
  }

  /**
   * The known words that are spelled most like a word, nearest first. Case and accents do not
   * count, and only the first letters of a very long word.
   */
  nearest(word: string, side: Side = "source", n = 3) {
    const typed = shortened(fold(word), MOST_LETTERS);
    const ranked = [...this.known[side]]
      .filter((known) => !MARKS.has(known))
      .map((known) => ({ known, similarity: similarity(typed, fold(known)) }))
      .sort((one, other) => other.similarity - one.similarity || byCodePoint(one.known, other.known))
      .slice(0, n);
    const near = ranked.filter((each) => each.similarity >= 0.6);
    return (near.length ? near : ranked.slice(0, 1)).map((each) => each.known);
  }

  isMask(word: string) {
    return word === MASK && this.maskId !== null;
  }

  language(side: Side) {
    return this.languages[side === "source" ? 0 : 1];
  }

  refuseSeveralSentences(text: string) {
    const parts = splitSentences(text);
    if (parts.length < 2) return;
    // Without a known word it is no sentence: "Mr.", or the parts of "www.example.com".
    const sentences = parts.filter((part) => this.wordsOf(part).some((word) => this.known.source.has(word)));
    if (sentences.length > 1) throw new SeveralSentencesError(sentences);
  }

  /** Throws a UserError if the other side knows most of the unknown words, and more of all. */
  refuseOtherLanguage(text: string, words: string[], unknown: string[], side: Side) {
    const other = side === "source" ? "target" : "source";
    const isForeign = (word: string) => this.spellings[other].find(word) !== undefined;
    const foreign = unknown.filter(isForeign);
    const nHere = words.filter((word) => this.known[side].has(word)).length;
    const nThere = words.filter(isForeign).length;
    if (nThere <= nHere || 2 * foreign.length <= unknown.length) return;
    const example = EXAMPLES[side];
    const isKnown = example.split(" ").every((word) => this.known[side].has(word));
    const wanted = this.language(side);
    throw new UserError(
      `${shortened(repr(text), 60)} is ${this.language(other)} (${listed(foreign.slice(0, 2), "and")}), and ` +
        `${wanted} is expected here; type it in ${wanted}${isKnown ? `, such as ${repr(example)}` : ""}`,
    );
  }
}

/** Read what Vocabulary.to_json wrote, already parsed. */
export function makeVocabulary(read: VocabularyFile) {
  if (read?.merges) {
    throw new NotInPage(
      "this model reads pieces of words, which a page cannot cut; open the notebook in Jupyter and run its cells",
    );
  }
  if (!read?.source_words || !read.target_words || !read.languages) {
    throw new UserError(
      "the vocabulary is not what Vocabulary.to_json wrote; write it again, and export the page again",
    );
  }
  return new Vocabulary(read);
}

/** How similarly two words are spelled; typing errors seldom change the first letter. */
function similarity(word: string, known: string) {
  const sameStart = word.codePointAt(0) === known.codePointAt(0);
  return ratio(word, known) + (sameStart ? 0.25 : 0);
}
