// What the view asks: the padded tokens and the mask over them, as plain values.
//
// A request holds the batch as it was composed, so that whatever answers it composes nothing.
// requests.py makes the same requests in Python, and a test holds the two equal.

import { composeMask } from "./composition.js";

/** @import { ComposedMask, MaskState, Words } from "./composition.js" */

const EXTRA = 2; // padding tokens added, to see whether anything moves

/**
 * The request that asks about a mask.
 *
 * @param {Words} words
 * @param {MaskState} state
 * @param {"leaks" | "formulas" | "libraries" | "eager"} ask
 */
export function maskRequest(words, state, ask) {
  const request = { ask, kind: state.kind, batch: plainBatch(composeMask(words, state)) };
  if (ask !== "leaks") return request;
  const ofSource = state.kind !== "decoder" || state.mistake === "source_as_target";
  return { ...request, vocabulary: ofSource ? "source" : "target", longer: longerBatch(words, state) };
}

/**
 * Why the mask does not fit a batch with two more padding tokens, or "".
 *
 * @param {ComposedMask} composed
 * @param {MaskState} state
 */
export function whyNotLonger({ keys, sentences }, { mistake }) {
  if (mistake !== "causal_as_padding") return "";
  return `longer sentences are refused: the look-ahead mask has ${keys + EXTRA} rows, and the batch ${sentences} sentences`;
}

/**
 * The batch with more padding, and the position from which its tokens stand in it.
 *
 * @param {Words} words
 * @param {MaskState} state
 */
function longerBatch(words, state) {
  if (whyNotLonger(composeMask(words, state), state)) return null;
  const batch = plainBatch(composeMask(words, state, EXTRA));
  return { ...batch, first: state.side === "left" ? EXTRA : 0 };
}

/** @param {ComposedMask} composed */
function plainBatch({ padded, may }) {
  return {
    sources: padded.source,
    targets: padded.target,
    mask: may.map((rows) => rows.map((row) => row.map(Number))), // [batch][query][key]
  };
}
