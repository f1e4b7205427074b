// Arrays and traces in a reply, as a view gets them from the kernel too.

import type { Trace } from "../trace.ts";

/** An array's own bytes, little-endian, in C order. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Float64Array | Uint8Array) {
  return new DataView(buffer, byteOffset, byteLength);
}

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
