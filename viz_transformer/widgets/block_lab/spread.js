// What a reply says: how far each word's output moves in each part of a block.

import { quoted } from "../base/js/text.js";

/** What the rounding of float32 may move a vector by, as a share of its length; as in plots/perturbation.py. */
export const UNMOVED = 1e-5;

/** A move of this share of a vector's length has the darkest colour. */
export const MOST = 2;

/**
 * @typedef {{tokens: string[], parts: string[], spread: DataView}} SpreadReply
 */

/**
 * How far each word moves in each part when one word is changed: a row for each word.
 *
 * @param {SpreadReply} reply whose spread is float32 [part, changed, word]
 * @param {number} changed
 * @returns {number[][]} [word][part]
 */
export function movesOf({ tokens, parts, spread }, changed) {
  const n = tokens.length;
  const at = (part, word) => spread.getFloat32(4 * ((part * n + changed) * n + word), true);
  return tokens.map((_, word) => parts.map((_part, part) => at(part, word)));
}

/** A move as text; what did not move is a plain 0. */
export function moveText(share) {
  return share >= UNMOVED ? share.toFixed(2) : "0";
}

/**
 * Whom each part tells, in words.
 *
 * @param {SpreadReply} reply
 * @param {number} changed
 */
export function spreadInWords(reply, changed) {
  const moves = movesOf(reply, changed);
  const told = reply.parts.map((name, part) => {
    const others = moves.filter((row, word) => word !== changed && row[part] >= UNMOVED).length;
    return `${name} ${others ? `${others} of ${moves.length - 1}` : "none"}`;
  });
  return `${quoted(reply.tokens[changed])} is changed. Other words that move: ${told.join(", ")}.`;
}
