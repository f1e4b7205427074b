// The sentences of the position lab, made from the numbers that its pictures show.

import { ALIKE, lookAlikes } from "../base/positions/hands.ts";
import { headlineOfHand, lineOfHand, type Told as ToldOfHand, two } from "../base/positions/sentences.ts";
import { formatSigned, formatWeight, type Piece, runningText, shortened, visible } from "../base/text.ts";
import type { Nearest } from "./encodings.ts";
import { at, type Matrix } from "./matrix.ts";
import type { Shifted } from "./shift.ts";

export interface Told extends ToldOfHand {
  encoding: string;
  table: Matrix;
  /** How many of the first positions were trained. */
  trained: number;
}

const SAME = 1e-6; // a change of scores below this share of their size is rounding

/** What an encoding does. */
export function encodingSentence(encoding: string): string {
  return (
    {
      sinusoidal: "Each column is added to the word at its position.",
      learned: "Each column is added to the word at its position. Training chose the numbers.",
      rotary: "No vector is added: each pair of numbers of a query or a key is turned as far as this hand.",
    }[encoding] ?? "No vector is added: attention does not depend on the order of the words."
  );
}

export function handHeadline(told: Told): string {
  if (told.encoding === "none") return "Every number is 0, at every position";
  const said = headlineOfHand(told);
  return told.encoding === "rotary" ? said.replace(/hand (\d+) has turned/, "pair $1 is turned by") : said;
}

export function handLine(told: Told): string {
  const { encoding, position, trained } = told;
  if (encoding === "none") return "Neither one pair nor all together tell one position from another.";
  if (encoding === "learned" && position >= trained)
    return `Only positions 0 to ${trained - 1} occurred in training. This is still the random start.`;
  return lineOfHand(told);
}

/** How many positions look like the chosen one to one pair, and to all. */
export function allHeadline({ table, pair, position, isWave }: Told, nearest: Nearest): string {
  const others = lookAlikes(table, position, pair).length;
  const name = isWave ? "hand" : "pair";
  const many = others === 0 ? "no other" : others === 1 ? "1 other" : `${others} others`;
  const all = nearest && nearest.distance < ALIKE ? "others too" : "no other";
  return `By ${name} ${pair}, position ${position} looks like ${many}; by all ${table.cols / 2}, like ${all}`;
}

export function allLine(nearest: Nearest): string {
  if (!nearest) return "There is no other position.";
  return `The nearest by all pairs is position ${nearest.row}, ${formatWeight(nearest.distance)} away. Alike is nearer than ${ALIKE}.`;
}

/** The score of two positions. */
export function likenessHeadline({ encoding, position }: Told, scores: Matrix, offset: number): string {
  const other = position + offset;
  if (other < 0 || other >= scores.rows)
    return `The table has no position ${String(other).replace("-", "−")}`;
  const score = two(at(scores, position, other));
  return encoding === "rotary"
    ? `One query at position ${position} · one key at ${other} = ${score}`
    : `Position ${position} · position ${other} = ${score}`;
}

/** Whether it depends on their distance alone; `range` is that of the scores at this offset. */
export function likenessLine(encoding: string, offset: number, range: [number, number] | null): string {
  if (encoding === "none") return "All are 0, so positions cannot be distinguished.";
  if (!range) return `No two positions are ${Math.abs(offset)} apart.`;
  const [least, most] = range;
  const signed = offset ? formatSigned(offset, 0) : "0";
  return most - least < SAME * Math.max(1, Math.abs(least), Math.abs(most))
    ? `At offset ${signed} it is the same from every position.`
    : `At offset ${signed} the scores run from ${two(least)} to ${two(most)}: the position counts too.`;
}

/** The cosine similarity of neighbours in a learned table. */
export function neighbourSentence(trained: number | null, rest: number | null): string {
  if (trained === null) return "";
  const other = rest === null ? "" : `; of those left at random, ${two(rest)}`;
  return `Neighbours' mean cosine: ${two(trained)} among the trained${other}.`;
}

/** Whether moving the sentence has left its scores as they were: null while nothing is moved. */
export const claimHolds = (shift: number, { changed, size }: Pick<Shifted, "changed" | "size">) =>
  shift ? changed <= SAME * size : null;

export function movedHeadline(shift: number, { changed, size }: Shifted): string {
  if (!shift) return "The sentence begins at position 0";
  return `Moved by ${shift}, the scores change by ${formatWeight(changed)}; their size is ${formatWeight(size)}`;
}

/** What is behind the change. */
export function movedSentence(encoding: string, { bare, size }: Shifted): string {
  if (encoding === "rotary")
    return "Query and key are turned further by the same angle, so the angle between them stays.";
  if (encoding === "none") return "No score depends on a word's position, so the order is unknown.";
  return bare < SAME * size
    ? "PE · PE alone stays. But in a score positions are also multiplied with words, and both with W_q and W_k first."
    : `Even PE · PE alone changes, by ${formatWeight(bare)}.`;
}

/** What the live model made of an order of its words. */
export interface Reply {
  moved: number[];
  translation: string;
  as_written: string;
}

export const isWritten = (order: readonly number[]) => order.every((word, place) => word === place);

/** The words as they are read, and the translation. */
export function shuffledHeadline(
  sentence: readonly string[],
  order: readonly number[],
  reply: Reply | null,
): Piece[] {
  const read: Piece = { role: "key", word: runningText(order.map((word) => sentence[word])) };
  return [read, " → ", { role: "query", word: reply ? visible(reply.translation) : "…" }];
}

/** The effect of the new order, from the model's reply. */
export function shuffledLine(
  sentence: readonly string[],
  order: readonly number[],
  { moved, translation, as_written: written }: Reply,
): string {
  if (isWritten(order)) return "The words are in their original order.";
  const most = moved.indexOf(Math.max(...moved));
  const is = translation === written ? "is the same" : `was ${written}`;
  const before = `As written, the translation ${is}.`;
  return moved[most] < 1e-4
    ? `No vector changes; only their order does. ${before}`
    : `\u2068${shortened(sentence[most], 18)}\u2069 changes most, by ${formatWeight(moved[most])} of its length. ${before}`;
}
