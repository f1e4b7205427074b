// The weights that a change moved, as an exported page carries them: those heads alone, in 16 bits.

import { decodeWeights } from "../base/js/weights.js";

/**
 * A kind's weights, flat [layer, head, query, key]; decoded when they are first read.
 *
 * @param {any} entry of a reply's `kinds`
 * @returns {Float32Array}
 */
export function weightsOf(entry) {
  entry.decoded ??= decodeWeights(entry.weights, entry.dtype);
  return entry.decoded;
}

/**
 * A reply with all weights: those of the unchanged model, and in their place those that moved.
 *
 * @param {any} reply its `moved` has, for each kind, `heads`, `causal` and `weights`
 * @param {any} base the unchanged model's reply for the same words
 */
export function withAllWeights({ moved, ...reply }, base) {
  const kinds = base.kinds.map((entry) => {
    const decoded = weightsOf(entry).slice();
    const { heads, causal, weights } = moved.find(({ kind }) => kind === entry.kind);
    const [, , rows, cols] = entry.shape;
    const values = decodeWeights(weights, "float16");
    let next = 0;
    for (const head of heads) {
      for (let row = 0; row < rows; row++) {
        const width = causal ? row + 1 : cols; // a decoder's row ends at its own key
        decoded.set(values.subarray(next, next + width), (head * rows + row) * cols);
        next += width;
      }
    }
    return { ...entry, decoded };
  });
  return { ...reply, kinds };
}
