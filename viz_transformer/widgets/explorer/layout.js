// How the explorer's parts share the width.

import { isMany } from "./attention_paths.js";

/**
 * The arrangement of the page at a width, and each part's room in pixels.
 *
 * Beside each other as long as the width is ample, or the cells of `cols` keys stay large. What is
 * `linked` takes the place of the matrix and its words.
 */
export function arrange(width, cols, linked = false) {
  const readable = (head) => (head - 150) / cols >= 26;
  let heads = Math.round(Math.min(300, width * 0.23));
  let words = Math.round(Math.min(400, width * 0.32));
  let head = width - heads - words - 56;
  if (!linked && !readable(head)) {
    // A longer sentence needs the room itself: its columns could not all be named.
    heads = Math.round(Math.min(heads, Math.max(190, width * 0.18)));
    words = Math.round(Math.min(words, Math.max(255, width * 0.265)));
    head = width - heads - words - 56;
  }
  if (width >= 900 || (width >= 800 && (linked || readable(head)))) {
    return { name: "wide", heads, words: linked ? head + words + 28 : words, head, height: 420 };
  }
  heads = Math.round(Math.max(175, Math.min(250, width * 0.28)));
  head = width - heads - 28;
  if (width >= 700 || (width >= 520 && !linked && readable(head))) {
    return { name: "medium", heads, words: linked ? head : Math.min(width, 520), head, height: 400 };
  }
  return {
    name: "narrow",
    heads: width,
    words: linked ? width : Math.min(width, 520),
    head: width,
    height: 400,
  };
}

/** What the picture leaves out or changes, in sentences. */
export function notes(shown, { threshold, mergeWords, lines }) {
  const { queryAxis, keyAxis, masked, limit, weights } = shown;
  const merged = (axis) => axis.groups.some((group) => group.length > 1);
  const hidden = (axis) => axis.at.includes(-1);
  const told = [];
  if (shown.entry?.note) told.push(shown.entry.note);
  if (limit !== null) told.push("Blue: more than before. Orange: less than before.");
  if (masked?.includes(1)) told.push("Hatched: may not be looked at.");
  if (threshold > 0)
    told.push(`${limit === null ? "Weights" : "Changes"} below ${threshold.toFixed(2)} are not drawn.`);
  if (hidden(queryAxis) || hidden(keyAxis))
    told.push("Special tokens are hidden, so rows need not sum to 1.");
  if (mergeWords && (merged(queryAxis) || merged(keyAxis))) {
    told.push(
      "Pieces are merged into words: the weight to a word is the sum over its pieces, from a word the mean.",
    );
  }
  const [kept, all] = [
    lines.reduce((sum, one) => sum + (one?.count ?? 0), 0),
    lines.reduce((sum, one) => sum + (one?.all ?? 0), 0),
  ];
  if (weights && lines.length && isMany(shown)) told.push("Lines are drawn for the queries in view.");
  else if (weights && kept < all) told.push(`The strongest ${kept} of ${all} lines are drawn.`);
  return told;
}
