// A sentence in pieces, whose words have the colours of their roles.

import { shortened } from "./text.ts";

const LETTERS = 18; // of a word in a sentence

/** Text, or a word in the colour of its role. */
export type Piece = string | { role: "query" | "key" | "you" | "was"; word: string };

export const named = (role: "query" | "key" | "you", token = "", letters = LETTERS): Piece => ({
  role,
  word: shortened(token, letters),
});

/** A sentence as text, its words isolated: a right-to-left word leaves the rest in order. */
export const plainText = (pieces: readonly Piece[]): string =>
  pieces.map((piece) => (typeof piece === "string" ? piece : `\u2068${piece.word}\u2069`)).join("");
