// What the page knows of a trace: its words, and the weights of each head.
//
// A small trace comes whole and exact. Of a large one an overview comes first, and each head when it
// is looked at: `matrix` and its like give null until then, and `changed()` is called when there is
// more to draw. Everything asked for and everything kept is named, and belongs to one version of the
// data: a late reply can be neither another head's nor another trace's.

import { openCache } from "./lru_cache.js";
import { connectKernel } from "../base/js/kernel.js";
import { decodeWeights, spans } from "../base/js/weights.js";

export const CACHE_BYTES = 64e6;
export const SLOW =
  "Waiting for Python, which is busy or gone. If the notebook was opened anew, run this cell.";

const AT_ONCE = 3; // questions under way
const PATIENCE = 2500; // milliseconds until a wait is worth a word
const CHEAP = 256 * 1024; // bytes; heads larger than this are not fetched before they are looked at
const MOST_PIXELS = 64; // a side of the overview's pictures

/**
 * The trace behind a model's `data`.
 *
 * Call `load()` at the start of each draw: what a draw does not ask for is no longer wanted.
 */
export function openStore(model, changed, limit = CACHE_BYTES) {
  const kernel = connectKernel(model);
  const asked = new Set(); // what this draw asked for, here or not
  const cache = openCache(limit, (name) => asked.has(name));
  const [wanted, underWay, failed, overviews] = [new Map(), new Set(), new Map(), new Map()];
  let [data, entries, last, timer, slow, closed, giveUp] = [null, new Map(), null, null, false, false, null];

  function load() {
    for (const name of failed.keys()) if (!asked.has(name)) failed.delete(name); // looked at anew, asked anew
    asked.clear();
    wanted.clear();
    if (model.get("data") === data) return false;
    data = model.get("data");
    calm();
    entries = new Map(data.kinds.map((kind) => [kind.kind, entryOf(kind)]));
    for (const each of [underWay, failed, overviews, cache]) each.clear();
    for (const { kind, layer, head, weights } of data.kinds.flatMap(({ kind, first }) =>
      first ? { kind, ...first } : [],
    )) {
      cache.set(nameOf("head", [kind, layer, head]), decodeWeights(weights, entries.get(kind).dtype));
    }
    return true;
  }

  /** A matrix by what it is, from what is here; else it is asked for, and null. */
  function want(what, of, take) {
    const name = nameOf(what, of);
    asked.add(name);
    const here = cache.get(name);
    if (here || failed.has(name)) return here;
    wanted.set(name, { request: { [what]: of, version: data.version }, take: take ?? keeper(name, of[0]) });
    ask();
    return null;
  }

  function keeper(name, kind) {
    return ({ weights }) => cache.set(name, decodeWeights(weights, entries.get(kind).dtype));
  }

  function ask() {
    for (const [name, { request, take }] of wanted) {
      if (underWay.has(name)) continue;
      if (underWay.size >= AT_ONCE) return;
      send(name, request, take);
    }
  }

  function send(name, request, take) {
    underWay.add(name);
    timer ??= setTimeout(() => {
      slow = true;
      changed();
    }, PATIENCE);
    kernel.ask(request).then(
      (reply) => settle(name, request, reply.stale ? null : () => take(reply)),
      (error) => settle(name, request, () => failed.set(name, error.message)),
    );
  }

  function settle(name, { version }, act) {
    if (closed || version !== data.version) return; // of a trace that is gone
    calm();
    underWay.delete(name);
    wanted.delete(name);
    if (act) act();
    else failed.set(name, ""); // of another version: until the new data is here, to ask again is idle
    if (act && asked.has(name)) changed();
    ask();
    if (!underWay.size) later(prefetch);
  }

  function calm() {
    clearTimeout(timer);
    [timer, slow] = [null, false];
  }

  /**
   * Fetch the heads beside the one last looked at, if that is cheap and nothing is in their way: all
   * with one question, for the page is told of every question that the kernel has to do.
   */
  function prefetch() {
    if (closed || underWay.size || !last || !model.get("live")) return;
    const [kind, layer, head] = last;
    const { layers, heads, rows, cols } = entries.get(kind) ?? {};
    if (!(4 * rows * cols <= CHEAP)) return;
    const beside = [
      [0, 1],
      [1, 0],
      [0, -1],
      [-1, 0],
    ]
      .map(([down, right]) => [layer + down, head + right])
      .filter(([down, right]) => down >= 0 && down < layers && right >= 0 && right < heads)
      .filter((at) => !cache.has(nameOf("head", [kind, ...at])));
    const name = nameOf("heads", [kind, beside]);
    if (!beside.length || failed.has(name) || !cache.hasRoom(4 * rows * cols * beside.length)) return;
    send(name, { heads: [kind, beside], version: data.version }, ({ weights }) => {
      const { dtype } = entries.get(kind);
      beside.forEach((at, i) => cache.set(nameOf("head", [kind, ...at]), decodeWeights(weights[i], dtype)));
    });
  }

  /** The [query, key] weights of one head, a Float32Array in C order, or null: not here yet. */
  function matrix(kind, layer, head) {
    const { whole, heads, rows, cols } = entries.get(kind);
    const start = (layer * heads + head) * rows * cols;
    if (whole) return whole.subarray(start, start + rows * cols);
    last = [kind, layer, head];
    return want("head", last);
  }

  /** The "mean" or "max" of several heads, given as [[layer, head], …]; null: not here yet. */
  function aggregate(kind, heads, how) {
    const name = nameOf("aggregate", [kind, how, heads]);
    asked.add(name);
    if (cache.has(name)) return cache.get(name);
    if (!entries.get(kind).whole && !failed.has(name)) return want("aggregate", [kind, how, heads]);
    if (failed.has(name)) failed.set(name, ""); // no harm: an exported page carries the heads themselves
    const result = combine(
      heads.map(([layer, head]) => matrix(kind, layer, head)),
      how,
    );
    if (result) cache.set(name, result);
    return result;
  }

  /** Attention rollout from layer 0 to `layer`, to the output for cross; null: not here yet, or none. */
  function rollout(kind, layer) {
    const { rollouts, noRollout, whole, rows, cols } = entries.get(kind);
    if (noRollout) return null;
    return whole
      ? rollouts.subarray(layer * rows * cols, (layer + 1) * rows * cols)
      : want("rollout", [kind, layer]);
  }

  /** Small pictures of all heads, 0 to 255 for 0 to 1; of a difference 128 is 0. */
  function overview(kind) {
    if (!overviews.has(kind)) overviews.set(kind, entries.get(kind).overview ?? pooled(entries.get(kind)));
    return overviews.get(kind);
  }

  /** Ask for the labels and entropies of all heads of a kind, where its entry lacks them. */
  function measure(kind) {
    const entry = entries.get(kind);
    if (entry.whole || entry.signed || entry.entropies) return;
    want("measure", [kind], ({ labels, entropies }) => {
      [entry.labels, entry.entropies] = [labels, decodeWeights(entropies, "float32")];
    });
  }

  /** A promise of one weight as exact as it is in Python; kept only while nothing newer is asked for. */
  function exact(kind, layer, head, query, key) {
    const { whole, cols } = entries.get(kind);
    if (whole) return Promise.resolve(matrix(kind, layer, head)[query * cols + key]);
    return new Promise((resolve, reject) => {
      giveUp?.(new Error("another weight is looked at"));
      giveUp = reject;
      kernel.latest(
        { exact: [kind, layer, head, query, key], version: data.version },
        (reply) => (reply.stale ? reject(new Error("another trace is shown")) : resolve(reply.value)),
        reject,
        () => {},
      );
    });
  }

  function problem() {
    for (const name of asked) if (failed.get(name)) return failed.get(name);
    return slow && pending() ? SLOW : "";
  }

  function pending() {
    return Array.from(asked).some((name) => wanted.has(name));
  }

  load();
  return {
    load,
    matrix,
    aggregate,
    rollout,
    overview,
    measure,
    exact,
    get entries() {
      return entries;
    },
    /** A sentence if what this draw asked for cannot be had (now), else "". */
    get problem() {
      return problem();
    },
    /** Whether something that this draw asked for is on its way. */
    get pending() {
      return pending();
    },
    get bytes() {
      return cache.bytes;
    },
    close() {
      closed = true;
      calm();
      kernel.close();
      cache.clear();
    },
  };
}

function nameOf(what, of) {
  return JSON.stringify([what, of]);
}

function later(act) {
  (globalThis.requestIdleCallback ?? ((callback) => setTimeout(callback, 50)))(act);
}

/** A kind as the page reads it, from what Python sent. */
function entryOf({ weights, rollouts, first, ...kind }) {
  const [layers, heads, rows, cols] = kind.shape;
  const pictures = kind.overview;
  return {
    ...kind,
    layers,
    heads,
    rows,
    cols,
    whole: weights && decodeWeights(weights, kind.dtype),
    rollouts: rollouts && decodeWeights(rollouts, kind.dtype),
    overview: pictures && {
      ...pictures,
      values: new Uint8Array(pictures.values.buffer, pictures.values.byteOffset, pictures.values.byteLength),
    },
    masked: kind.masked && unpackBits(kind.masked, rows * cols),
    entropies: kind.entropies && decodeWeights(kind.entropies, "float32"),
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
    else
      for (let i = 0; i < result.length; i++)
        if (Math.abs(matrix[i]) > Math.abs(result[i])) result[i] = matrix[i];
  }
  return result;
}

/** Small pictures of all heads; each pixel is the strongest weight beneath it. */
function pooled({ whole, layers, heads, rows, cols, signed }) {
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
            if (Math.abs(whole[start + col]) > Math.abs(strongest)) strongest = whole[start + col];
          }
        }
        values[out++] = Math.round(signed ? 128 + 127 * strongest : 255 * strongest);
      }
    }
  }
  return { values, rows: down, cols: across };
}
