// What a reply says: how far each word's output moves in each part of a block.

import { named, type Piece } from "../base/text.ts";
import { float32Row } from "../base/bytes.ts";

/** What the rounding of float32 may move a vector by, as a share of its length; as in plots/perturbation.py. */
export const UNMOVED = 1e-5;

/** A move of this share of a vector's length has the darkest colour. */
export const MOST = 2;

export interface Reply {
  tokens: string[];
  parts: string[];
  /** float32 [part, changed, word] */
  spread: DataView;
}

/** How far each word moves in each part when one word is changed, [part][word]. */
export function movesOf({ tokens, parts, spread }: Reply, changed: number): number[][] {
  const n = tokens.length;
  return parts.map((_, part) => float32Row(spread, part * n + changed, n));
}

/** A move as text; what did not move is a plain 0, and what moved is never 0.00. */
export function moveText(share: number): string {
  if (share < UNMOVED) return "0";
  return share < 0.005 ? "< 0.01" : share.toFixed(2);
}

/** In which parts other words move. */
export function headlineOf(reply: Reply, changed: number): Piece[] {
  const moves = movesOf(reply, changed);
  const moved = reply.parts.filter((_, part) =>
    moves[part]!.some((share, word) => word !== changed && share >= UNMOVED),
  );
  const told = moved.length ? `other words move in ${moved.join(" and ")}` : "no other word moves";
  return ["Reverse the vector of ", named("key", reply.tokens[changed]), `: ${told}`];
}
