// Patterns that a head may follow: for each name, the keys that it means and the rows that can tell. Python
// has the same in analysis/head_patterns.py, and a test holds the two equal.

import { specialTokens } from "./token_marks.ts";
import { indices } from "../base/scales.ts";

const FARTHEST = 8; // how far a positional head may look back or ahead
const DISTANCES = Array.from({ length: FARTHEST - 1 }, (_, i) => i + 2);
const SHIFTS = [...DISTANCES.map((distance) => -distance), ...DISTANCES];
const OPENING = /^[<[](bos|cls|pad|sos|s)[>\]]$/i; // special tokens that separate nothing
const PIECE_MARKS = /^(?:##|[▁Ġ])|<\/w>$/g; // what tokenizers write before or behind a token's text
const PUNCTUATION = /^\p{P}+$/u;

export interface Pattern {
  name: string;
  /** The keys in words, behind "puts its weight". */
  where: string;
  /** Of each query, those that are meant. */
  keys: number[][];
  /** Of each query, whether no other name means the same keys. */
  rows: boolean[];
  /** How many patterns differ from this one in a number alone, itself included. */
  nAlike: number;
}

/**
 * Every pattern of a kind.
 *
 * @param tokens the keys
 * @param words the number of each key's word, where it is known
 */
export function headPatterns(
  kind: string,
  nQueries: number,
  tokens: string[],
  words: (number | null)[] | null,
): Pattern[] {
  const n = tokens.length;
  if (kind === "cross") return [...crossPatterns(nQueries, n), separatorPattern(kind, nQueries, tokens)];
  const repeats = repeatPatterns(kind, tokens);
  return [
    ...neighbourPatterns(kind, n),
    ...SHIFTS.map((shift) => shiftedPattern(kind, n, shift, repeats)),
    ...repeats,
    ...(kind === "encoder" ? [sameWordPattern(n, words)] : []),
    separatorPattern(kind, n, tokens),
  ];
}

/** Which tokens separate: punctuation, and special tokens that neither open nor fill. */
export function separatorTokens(tokens: string[]) {
  const special = specialTokens(tokens);
  return tokens.map((token, i) =>
    special[i] ? !OPENING.test(token) : PUNCTUATION.test(token.replace(PIECE_MARKS, "")),
  );
}

function patternOf(
  name: string,
  where: string,
  nQueries: number,
  keysOf: (query: number) => number[],
  isTelling: (query: number, keys: number[]) => boolean,
  nAlike = 1,
): Pattern {
  const keys = indices(nQueries).map(keysOf);
  return { name, where, keys, rows: keys.map((each, query) => isTelling(query, each)), nAlike };
}

function crossPatterns(nQueries: number, nKeys: number) {
  const line = (query: number) => (query * (nKeys - 1)) / Math.max(1, nQueries - 1); // from corner to corner
  const near = (query: number) => indices(nKeys).filter((key) => Math.abs(key - line(query)) <= 1);
  const where = "within one position of the straight line through both sentences";
  const pattern = (name: string, place: string, keysOf: (query: number) => number[]) =>
    patternOf(name, place, nQueries, keysOf, () => true);
  return [
    pattern("diagonal alignment", where, near),
    pattern("first-token sink", "on the first token", () => [0]),
    pattern("last-token sink", "on the last token", () => [nKeys - 1]),
  ];
}

function neighbourPatterns(kind: string, n: number) {
  const within = (key: number) => (key >= 0 && key < n ? [key] : []);
  const telling = (query: number) => query >= 2;
  const hasNext = (query: number) => telling(query) && query < n - 1;
  // A decoder's row is named by the word that it writes; its own position holds the one before.
  const itself = kind === "encoder" ? "on the token itself" : "on its own position, the token just read";
  const patterns = [
    patternOf("previous token", "on the token before", n, (query) => within(query - 1), telling),
    patternOf("next token", "on the token after", n, (query) => within(query + 1), hasNext),
    patternOf("same token", itself, n, (query) => [query], telling),
    patternOf("first-token sink", "on the first token", n, () => [0], telling),
  ];
  if (kind !== "encoder") return patterns; // a decoder's queries cannot look so far
  const before = (query: number) => query < n - 2;
  return [...patterns, patternOf("last-token sink", "on the last token", n, () => [n - 1], before)];
}

/** A head that looks so many positions ahead, or back if below 0. */
function shiftedPattern(kind: string, n: number, shift: number, repeats: Pattern[]) {
  const last = kind === "encoder" ? n - 2 : n - 1;
  const sign = shift < 0 ? "−" : "+";
  const where = `on the token ${Math.abs(shift)} positions ${shift < 0 ? "before" : "after"}`;
  // The first and the last token have their own names; of a text that repeats itself evenly, each copy
  // is also so many positions away.
  const isTelling = (query: number) => {
    const key = query + shift;
    return key >= 1 && key <= last && !repeats.some(({ keys }) => keys[query].includes(key));
  };
  const keysOf = (query: number) => (query + shift >= 0 && query + shift < n ? [query + shift] : []);
  return patternOf(`offset ${sign}${Math.abs(shift)}`, where, n, keysOf, isTelling, SHIFTS.length);
}

/** The patterns of tokens that stand more than once; special ones do not count. */
function repeatPatterns(kind: string, tokens: string[]) {
  const n = tokens.length;
  const special = specialTokens(tokens);
  const places = new Map<string, number[]>(); // of each text, where it stands
  tokens.forEach((token, i) => {
    if (special[i]) return;
    places.set(token, [...(places.get(token) ?? []), i]);
  });
  const others = (query: number) =>
    special[query] ? [] : places.get(tokens[query])!.filter((key) => key !== query);
  const pattern = (name: string, where: string, keysOf: (query: number) => number[]) =>
    patternOf(name, where, n, keysOf, (query, keys) => keys.length > 0 && !keys.some(isNear(query)));
  if (kind === "encoder") {
    const copies = (query: number) => others(query).filter((key) => key !== n - 1); // the last has its own name
    return [pattern("duplicate token", "on other copies of the same token", copies)];
  }
  const earlier = (query: number) => others(query).filter((key) => key < query);
  const after = (query: number) => earlier(query).map((key) => key + 1);
  return [
    pattern("duplicate token", "on earlier copies of the token just read", earlier),
    pattern("induction", "on the token after an earlier copy of the token just read", after),
  ];
}

/** Whether a key that is the query itself, its neighbour or the first token has another name too. */
function isNear(query: number) {
  return (key: number) => Math.abs(key - query) <= 1 || key === 0;
}

function sameWordPattern(n: number, words: (number | null)[] | null) {
  const numbers = words ?? new Array(n).fill(null);
  const runs: number[] = []; // neighbours of one number are one word
  for (let i = 0; i < n; i++) runs.push(i ? runs[i - 1] + Number(numbers[i] !== numbers[i - 1]) : 0);
  const pieces = (query: number) =>
    indices(n).filter((key) => key !== query && runs[key] === runs[query] && numbers[query] !== null);
  const where = "on the other pieces of the same word";
  return patternOf("same word", where, n, pieces, (_, keys) => keys.length > 0);
}

function separatorPattern(kind: string, nQueries: number, tokens: string[]) {
  // The first token has its own name, and so has the last if it is alone.
  let places = indices(tokens.length).filter((i) => i > 0 && separatorTokens([tokens[i]])[0]);
  if (kind !== "decoder" && !places.some((key) => key < tokens.length - 1)) places = [];
  const keysOf = (query: number) => places.filter((key) => kind !== "decoder" || key <= query);
  const isTelling = (query: number, keys: number[]) =>
    keys.length > 0 && (kind === "cross" || !keys.some((key) => Math.abs(key - query) <= 1));
  const where = "on separators, such as punctuation, [SEP] or <eos>";
  return patternOf("separator", where, nQueries, keysOf, isTelling);
}
