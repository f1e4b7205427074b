// What the view asks: the padded tokens and the mask over them, as plain values.
//
// A request holds the batch as it was composed, so that whatever answers it composes nothing.
// requests.py makes the same requests in Python, and a test holds the two equal.

import { type ComposedMask, composeMask, type MaskState, type Words } from "./composition.ts";

const EXTRA = 2; // padding tokens added, to see whether anything moves

export type Ask = "leaks" | "formulas" | "libraries" | "eager";

/** The request that asks about a mask. */
export function maskRequest(words: Words, state: MaskState, ask: Ask) {
  const request = { ask, kind: state.kind, batch: plainBatch(composeMask(words, state)) };
  if (ask !== "leaks") return request;
  const ofSource = state.kind !== "decoder" || state.mistake === "source_as_target";
  return { ...request, vocabulary: ofSource ? "source" : "target", longer: longerBatch(words, state) };
}

/** Why the mask does not fit a batch with two more padding tokens, or "". */
export function whyNotLonger({ keys, sentences }: ComposedMask, { mistake }: MaskState): string {
  if (mistake !== "causal_as_padding") return "";
  return `longer sentences are refused: the look-ahead mask has ${keys + EXTRA} rows, and the batch ${sentences} sentences`;
}

/** The batch with more padding, and the position from which its tokens stand in it. */
function longerBatch(words: Words, state: MaskState) {
  if (whyNotLonger(composeMask(words, state), state)) return null;
  const batch = plainBatch(composeMask(words, state, EXTRA));
  return { ...batch, first: state.side === "left" ? EXTRA : 0 };
}

function plainBatch({ padded, may }: ComposedMask) {
  return {
    sources: padded.source,
    targets: padded.target,
    mask: may.map((rows) => rows.map((row) => row.map(Number))), // [batch][query][key]
  };
}
