// What is known of tokens: which are special, and which word each is a piece of. Python has the same in
// analysis/words.py and analysis/words.py, and a test holds the two equal.

import type { RawTrace } from "./measured_trace.ts";

const NAMES = ["bos", "cls", "eos", "pad", "sep", "sos"];
const MARKS = new Set(["<s>", "</s>", ...NAMES.flatMap((name) => [`<${name}>`, `[${name}]`])]);
const BARRED = /^<[|\uff5c][\p{L}\p{N}_\u2581 ]+[|\uff5c]>$/u; // <|endoftext|>; full-width bars are DeepSeek's

/** Which tokens are special rather than text, by their spelling alone. */
export function specialTokens(tokens: string[]) {
  return tokens.map((token) => MARKS.has(token.toLowerCase()) || BARRED.test(token));
}

/**
 * The word number of each query as it is named, or null if nobody counted.
 *
 * A decoder's query is named by the word that it writes, which is read one position later. Where another
 * word was read there than was written, and for the last, nothing is known: null.
 */
export function queryWords(
  { sourceWords, targetWords, targetTokens, outputTokens }: RawTrace,
  side: "source" | "target",
) {
  const words = side === "source" ? sourceWords : targetWords;
  if (!words || side === "source" || !outputTokens) return words;
  return outputTokens.map((written, i) => (written === targetTokens[i + 1] ? words[i + 1] : null));
}
