// A trace as the explorer reads it; raw_trace in widgets/explorer/payload.py writes the same.

import type { Trace } from "../trace.ts";
import { bytesOf } from "./bytes.ts";

/** Of a trace: tokens, and of each kind of attention the shape and the bytes of its weights. */
export function rawTrace({ sourceTokens, targetTokens, outputTokens, attention }: Trace) {
  const kinds = Object.entries(attention).map(([kind, { shape, data }]) => [
    kind,
    { shape, weights: bytesOf(data) },
  ]);
  return {
    sourceTokens,
    targetTokens,
    outputTokens,
    sourceWords: null, // every token is a word: the page has no model of pieces
    targetWords: null,
    attention: Object.fromEntries(kinds),
  };
}
