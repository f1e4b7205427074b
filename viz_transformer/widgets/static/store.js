// What the page knows of a trace: its words, and the weights of each head.

import { decodeWeights } from "./weights.js";

/**
 * The trace of a model, read from its `data` trait. `entries` maps each kind to its words and
 * sizes. `matrix(kind, layer, head)` gives the [query, key] weights of one head as a Float32Array
 * in C order, or null where they are not here yet; `changed()` is called when they have come.
 */
export function openStore(data) {
  const entries = new Map(data.kinds.map((entry) => {
    const [layers, heads, rows, cols] = entry.shape;
    const weights = decodeWeights(entry.weights, entry.dtype);
    return [entry.kind, { ...entry, layers, heads, rows, cols, weights }];
  }));
  return {
    entries,
    matrix(kind, layer, head) {
      const { weights, heads, rows, cols } = entries.get(kind);
      const start = (layer * heads + head) * rows * cols;
      return weights.subarray(start, start + rows * cols);
    },
  };
}
