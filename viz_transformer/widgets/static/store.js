// What the page knows of a trace: its words, and the weights of each head.
//
// A small trace comes whole and exact. Of a large one an overview comes first, and each head when it
// is looked at: `matrix` and its like give null until then, and `changed()` is called when there is
// more to draw.

import { decodeWeights, spans } from "./weights.js";

const MOST_PIXELS = 64; // a side of the overview's pictures

/**
 * The trace behind a model's `data`.
 *
 * Call `load()` at the start of each draw: what a draw does not ask for is no longer wanted.
 */
export function openStore(model, changed) {
  let [data, entries] = [null, new Map()];
  const overviews = new Map();

  function load() {
    if (model.get("data") === data) return false;
    data = model.get("data");
    entries = new Map(data.kinds.map((kind) => [kind.kind, entryOf(kind)]));
    overviews.clear();
    return true;
  }

  /** The [query, key] weights of one head, a Float32Array in C order, or null: not here yet. */
  function matrix(kind, layer, head) {
    const { weights, heads, rows, cols } = entries.get(kind);
    const start = (layer * heads + head) * rows * cols;
    return weights.subarray(start, start + rows * cols);
  }

  /** The "mean" or "max" of several heads, given as [[layer, head], …]; null: not here yet. */
  function aggregate(kind, heads, how) {
    return combine(heads.map(([layer, head]) => matrix(kind, layer, head)), how);
  }

  /** Attention rollout from layer 0 to `layer`, to the output for cross; null: not here (yet). */
  function rollout(kind, layer) {
    const { rollouts, rows, cols } = entries.get(kind);
    return rollouts?.subarray(layer * rows * cols, (layer + 1) * rows * cols) ?? null;
  }

  /** Small pictures of all heads, 0 to 255 for 0 to 1; of a difference 128 is 0. */
  function overview(kind) {
    if (!overviews.has(kind)) overviews.set(kind, pooled(entries.get(kind)));
    return overviews.get(kind);
  }

  /** A promise of one weight as exactly as it can be had. */
  async function exact(kind, layer, head, query, key) {
    return matrix(kind, layer, head)[query * entries.get(kind).cols + key];
  }

  load();
  return {
    load, matrix, aggregate, rollout, overview, exact,
    /** Ask for the labels and entropies of all heads of a kind, where the entry lacks them. */
    measure() {},
    get entries() { return entries; },
    get problem() { return ""; },
    close() {},
  };
}

/** A kind as the page reads it, from what Python sent. */
function entryOf(kind) {
  const [layers, heads, rows, cols] = kind.shape;
  return {
    ...kind, layers, heads, rows, cols,
    weights: kind.weights && decodeWeights(kind.weights, kind.dtype),
    masked: kind.masked && unpackBits(kind.masked, rows * cols),
    entropies: kind.entropies && decodeWeights(kind.entropies, "float32"),
    rollouts: kind.rollouts && decodeWeights(kind.rollouts, kind.dtype),
  };
}

/** Bits, the highest of each byte first, as a Uint8Array of 0 and 1. */
export function unpackBits(bytes, count) {
  const bits = new Uint8Array(count);
  for (let i = 0; i < count; i++) bits[i] = (bytes.getUint8(i >> 3) >> (7 - (i & 7))) & 1;
  return bits;
}

/** The mean or the largest of several matrices; of differences, the one farthest from 0. */
export function combine(matrices, how) {
  if (!matrices.length || matrices.includes(null)) return null;
  const result = new Float32Array(matrices[0].length);
  for (const matrix of matrices) {
    if (how === "mean") for (let i = 0; i < result.length; i++) result[i] += matrix[i] / matrices.length;
    else for (let i = 0; i < result.length; i++) if (Math.abs(matrix[i]) > Math.abs(result[i])) result[i] = matrix[i];
  }
  return result;
}

/** Small pictures of all heads; each pixel is the strongest weight beneath it. */
function pooled({ weights, layers, heads, rows, cols, signed }) {
  const [down, across] = [Math.min(rows, MOST_PIXELS), Math.min(cols, MOST_PIXELS)];
  const [lines, columns] = [spans(rows, down), spans(cols, across)];
  const values = new Uint8Array(layers * heads * down * across);
  let out = 0;
  for (let matrix = 0; matrix < layers * heads; matrix++) {
    for (let y = 0; y < down; y++) {
      for (let x = 0; x < across; x++) {
        let strongest = 0;
        for (let row = lines[2 * y]; row < lines[2 * y + 1]; row++) {
          const start = (matrix * rows + row) * cols;
          for (let col = columns[2 * x]; col < columns[2 * x + 1]; col++) {
            if (Math.abs(weights[start + col]) > Math.abs(strongest)) strongest = weights[start + col];
          }
        }
        values[out++] = Math.round(signed ? 128 + 127 * strongest : 255 * strongest);
      }
    }
  }
  return { values, rows: down, cols: across };
}
