// The store of a trace's weights in the page: its tokens, and the weights of each head.
//
// A small trace arrives whole and exact, and the page measures it. Of a large one an overview arrives
// first, and each head when it is shown: `matrix` and its like return null until then, and `onChange()`
// is called when there is more to draw. Every request and every cached matrix has a name, and belongs to one version of the
// data: a late reply is never taken for another head's or another trace's.

import { createLruCache } from "./caches.js";
import { connectKernel } from "../base/js/kernel.js";
import { decodeEightBits, decodeWeights, spans } from "../base/js/weights.js";
import { measureTraces } from "./measured_trace.js";
import { keptOf } from "./sentence_pair.js";

export const CACHE_BYTES = 64e6;
export const SLOW =
  "Waiting for Python, which is busy or gone. If the notebook was opened again, run this cell.";

const MOST_PENDING = 3; // requests under way
const WAIT_MS = 2500; // after this long without a reply the viewer is told
const MOST_PREFETCHED = 256 * 1024; // bytes; heads larger than this are not fetched before they are shown
const MOST_PIXELS = 64; // a side of the overview's pictures

/**
 * @typedef {object} Entry one kind of attention: its tokens and sizes, and what is here of its weights
 * @property {string} kind
 * @property {number} layers
 * @property {number} heads
 * @property {number} rows queries
 * @property {number} cols keys
 * @property {string} dtype "float32", "float16", or "uint8" for what an exported page rounds to 8 bits
 * @property {boolean} signed whether the weights are differences, or not normalised
 * @property {boolean} unnormalised whether they are weights that are no shares of a whole
 * @property {number | null} limit the end of their scale, where they are signed
 * @property {number} least where that scale begins: minus `limit`, or 0 where no weight is below 0
 * @property {{layers: number[], heads: number[]} | null} numbers the model's own; null: 0, 1, 2 …
 * @property {{layers: number[], of: number, heads: number[] | null} | null} matched of a difference of two
 *   models: the layer of the other that each layer meets, how many it has, and how many heads both have
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {string[] | null} reads what each query read before it wrote its token
 * @property {string} attendsBy by what the heads attend, see `attends_by.js`
 * @property {string} note
 * @property {string} noRollout why there is no rollout, or ""
 * @property {Uint8Array | null} masked 1 or 0 for each cell
 * @property {{queries: (number | null)[] | null, keys: (number | null)[] | null}} words
 * @property {{queries: boolean[], keys: boolean[]}} special
 * @property {Float32Array | null} whole all weights, of a small trace
 * @property {(() => Float32Array) | null} rollouts of a whole trace after each layer; null: there are none
 * @property {Overview | null} overview
 * @property {any} labels of the heads, [layer][head]
 * @property {Float32Array | null} entropies of the heads
 *
 * @typedef {{values: Uint8Array, rows: number, cols: number}} Overview thumbnails of all heads
 * @typedef {[number, number]} LayerHead
 */

/**
 * The weights behind a model's `data`.
 *
 * Call `load()` at the start of each frame: what a frame does not ask for is no longer requested.
 */
export class WeightStore {
  #model;
  #kernel;
  #onChange;
  #cache;
  #asked = new Set(); // what this frame asked for, here or not
  #wanted = new Map(); // of these what is to be requested
  #pending = new Set();
  #failed = new Map();
  #overviews = new Map();
  #rollouts = new Map();
  #data = null;
  #last = null; // head shown: those beside it are prefetched
  #timer = null;
  #slow = false;
  #closed = false;
  #rejectExact = null;
  #exact = { name: "", value: null };
  /** @type {Map<string, Entry>} */
  entries = new Map();

  /**
   * @param {Pick<import("../base/js/kernel.js").Model, "get" | "send" | "on" | "off">} model
   * @param {() => void} onChange called when there is more to draw
   * @param {number} limit of the cache, in bytes
   */
  constructor(model, onChange, limit = CACHE_BYTES) {
    this.#model = model;
    this.#kernel = connectKernel(model);
    this.#onChange = onChange;
    this.#cache = createLruCache(limit, (name) => this.#asked.has(name));
    this.load();
  }

  /** Start a frame; returns whether the data are new. */
  load() {
    // What failed and is no longer shown may be asked for again.
    for (const name of this.#failed.keys()) if (!this.#asked.has(name)) this.#failed.delete(name);
    this.#asked.clear();
    this.#wanted.clear();
    const [data, old] = [this.#model.get("data"), this.#data];
    this.#data = data;
    // Of the same version it is the same trace: what the page sent comes back from Python's echo.
    if (data === old || data.version === old?.version) return false;
    this.#stopTimer();
    const entries = data.traces ? measureTraces(data.traces, data) : data.kinds.map(entryOf);
    const by = data.attendsBy ?? {};
    this.entries = new Map(
      entries.map((entry) => [entry.kind, { ...entry, attendsBy: by[entry.kind] ?? "both" }]),
    );
    for (const each of [this.#pending, this.#failed, this.#overviews, this.#rollouts, this.#cache])
      each.clear();
    for (const { kind, first } of data.kinds ?? []) {
      if (first) this.#keep(nameOf("head", [kind, first.layer, first.head]), kind, first.weights);
    }
    return true;
  }

  /** The [query, key] weights of one head, a Float32Array in C order, or null: not here yet. */
  matrix(kind, layer, head) {
    const { whole, heads, rows, cols } = this.entries.get(kind);
    const start = (layer * heads + head) * rows * cols;
    if (whole) return whole.subarray(start, start + rows * cols);
    this.#last = [kind, layer, head];
    return this.#want("head", this.#last);
  }

  /** The "mean" or "max" of several heads, given as [[layer, head], …]; null: not here yet. */
  aggregate(kind, heads, how) {
    const name = nameOf("aggregate", [kind, how, heads]);
    this.#asked.add(name);
    if (this.#cache.has(name)) return this.#cache.get(name);
    if (!this.entries.get(kind).whole && !this.#failed.has(name))
      return this.#want("aggregate", [kind, how, heads]);
    if (this.#failed.has(name)) this.#failed.set(name, ""); // no harm: an exported page has the heads themselves
    const result = combine(
      heads.map(([layer, head]) => this.matrix(kind, layer, head)),
      how,
    );
    if (result) this.#cache.set(name, result);
    return result;
  }

  /** Attention rollout from layer 0 to `layer`, to the output for cross; null: not here yet, or none. */
  rollout(kind, layer) {
    const { rollouts, noRollout, whole, rows, cols } = this.entries.get(kind);
    if (noRollout) return null;
    if (!whole) return this.#want("rollout", [kind, layer]);
    if (!this.#rollouts.has(kind)) this.#rollouts.set(kind, rollouts());
    return this.#rollouts.get(kind).subarray(layer * rows * cols, (layer + 1) * rows * cols);
  }

  /**
   * Thumbnails of all heads, 0 to 255 for 0 to 1; of a difference 128 is 0, and 255 the end of its scale.
   *
   * With `pair` those of the sentences that are shown; of a large trace the whole ones until they are here.
   *
   * @param {string} kind
   * @param {string} [pair]
   * @param {number[]} [segments]
   * @returns {Overview}
   */
  overview(kind, pair = "all", segments = []) {
    const entry = this.entries.get(kind);
    const name = nameOf("overview", [kind, pair]);
    if (!this.#overviews.has(name) && entry.whole) this.#overviews.set(name, pooled(entry, pair, segments));
    if (!this.#overviews.has(name) && pair !== "all") {
      this.#want("overview", [kind, pair], ({ rows, cols, values }) => {
        this.#overviews.set(name, { rows, cols, values: bytesOf(values) });
      });
    }
    return this.#overviews.get(name) ?? entry.overview;
  }

  /** Ask for the labels and entropies of all heads of a kind, where its entry lacks them. */
  measure(kind) {
    const entry = this.entries.get(kind);
    if (entry.whole || entry.signed || entry.entropies) return;
    this.#want("measure", [kind], ({ labels, entropies }) => {
      [entry.labels, entry.entropies] = [labels, decodeWeights(entropies, "float32")];
    });
  }

  /** A promise of one weight as exact as it is in Python; rejected when a newer one is requested. */
  exact(kind, layer, head, query, key) {
    const { whole, cols } = this.entries.get(kind);
    if (whole) return Promise.resolve(this.matrix(kind, layer, head)[query * cols + key]);
    return new Promise((resolve, reject) => {
      this.#rejectExact?.(new Error("another weight is wanted now"));
      this.#rejectExact = reject;
      this.#kernel.latest(
        { exact: [kind, layer, head, query, key], version: this.#data.version },
        (reply) => (reply.stale ? reject(new Error("another trace is shown")) : resolve(reply.value)),
        reject,
      );
    });
  }

  /** The same weight if it is here, else null; it is requested, and `onChange` is called. */
  exactIfHere(kind, layer, head, query, key) {
    const name = JSON.stringify([this.#data.version, kind, layer, head, query, key]);
    if (this.#exact.name !== name) {
      const asked = { name, value: null };
      this.#exact = asked;
      this.exact(kind, layer, head, query, key).then(
        (value) => {
          asked.value = value;
          if (this.#exact === asked) this.#onChange();
        },
        () => {}, // what is shown already has four true digits
      );
    }
    return this.#exact.value;
  }

  /** A sentence if what this frame asked for cannot be had (now), else "". */
  get problem() {
    for (const name of this.#asked) if (this.#failed.get(name)) return this.#failed.get(name);
    return this.#slow && this.pending ? SLOW : "";
  }

  /** Whether something that this frame asked for is on its way. */
  get pending() {
    return Array.from(this.#asked).some((name) => this.#wanted.has(name));
  }

  get bytes() {
    return this.#cache.bytes;
  }

  close() {
    this.#closed = true;
    this.#stopTimer();
    this.#kernel.close();
    this.#cache.clear();
  }

  /** A matrix if it is here; else null, and it is requested. */
  #want(what, place, onReply) {
    const name = nameOf(what, place);
    this.#asked.add(name);
    const here = this.#cache.get(name);
    if (here || this.#failed.has(name)) return here;
    const keep = ({ weights, dtype }) => this.#keep(name, place[0], weights, dtype);
    const request = { [what]: place, version: this.#data.version };
    this.#wanted.set(name, { request, onReply: onReply ?? keep });
    this.#sendWanted();
    return null;
  }

  #keep(name, kind, bytes, dtype = "") {
    const entry = this.entries.get(kind);
    if (dtype === "uint8") entry.dtype = dtype; // a page in 8 bits: fewer digits of it are true
    this.#cache.set(name, weightsOf(bytes, entry, dtype));
  }

  #sendWanted() {
    for (const [name, { request, onReply }] of this.#wanted) {
      if (this.#pending.has(name)) continue;
      if (this.#pending.size >= MOST_PENDING) return;
      this.#send(name, request, onReply);
    }
  }

  #send(name, request, onReply) {
    this.#pending.add(name);
    this.#timer ??= setTimeout(() => {
      this.#slow = true;
      this.#onChange();
    }, WAIT_MS);
    this.#kernel.ask(request).then(
      (reply) => this.#settle(name, request, reply.stale ? null : () => onReply(reply)),
      (error) => this.#settle(name, request, () => this.#failed.set(name, error.message)),
    );
  }

  /** A request is answered; `apply` is null if the reply is of another version. */
  #settle(name, { version }, apply) {
    if (this.#closed || version !== this.#data.version) return; // of a trace that is gone
    this.#stopTimer();
    this.#pending.delete(name);
    this.#wanted.delete(name);
    if (apply) apply();
    else this.#failed.set(name, ""); // until the new data is here, to ask again is useless
    if (apply && this.#asked.has(name)) this.#onChange();
    this.#sendWanted();
    if (!this.#pending.size) whenIdle(() => this.#prefetch());
  }

  #stopTimer() {
    clearTimeout(this.#timer);
    [this.#timer, this.#slow] = [null, false];
  }

  /**
   * Fetch the heads beside the one last shown, if that is cheap and nothing else is pending: all in
   * one request, since the notebook shows the kernel busy for each.
   */
  #prefetch() {
    if (this.#closed || this.#pending.size || !this.#last || !this.#model.get("live")) return;
    const [kind, layer, head] = this.#last;
    const { layers, heads, rows, cols } = this.entries.get(kind) ?? {};
    if (!(4 * rows * cols <= MOST_PREFETCHED)) return;
    const beside = [
      [layer, head + 1],
      [layer + 1, head],
      [layer, head - 1],
      [layer - 1, head],
    ]
      .filter(([one, other]) => one >= 0 && one < layers && other >= 0 && other < heads)
      .filter((at) => !this.#cache.has(nameOf("head", [kind, ...at])));
    const name = nameOf("heads", [kind, beside]);
    const isTooLarge = !this.#cache.hasRoom(4 * rows * cols * beside.length);
    if (!beside.length || this.#failed.has(name) || isTooLarge) return;
    this.#send(name, { heads: [kind, beside], version: this.#data.version }, ({ weights }) => {
      beside.forEach((at, i) => {
        this.#keep(nameOf("head", [kind, ...at]), kind, weights[i]);
      });
    });
  }
}

function nameOf(what, of) {
  return JSON.stringify([what, of]);
}

/** A head's weights from its bytes; differences come as shares of their scale. */
function weightsOf(bytes, { rows, dtype, limit }, sentAs) {
  if (sentAs === "uint8") return decodeEightBits(bytes, rows);
  const weights = decodeWeights(bytes, dtype);
  return limit ? weights.map((share) => share * limit) : weights;
}

function whenIdle(callback) {
  (globalThis.requestIdleCallback ?? ((act) => setTimeout(act, 50)))(callback);
}

/**
 * A kind of a large trace as the page uses it, from what Python sent.
 *
 * @param {any} data
 * @returns {Entry}
 */
function entryOf({ first: _, ...kind }) {
  const [layers, heads, rows, cols] = kind.shape;
  return {
    ...kind,
    layers,
    heads,
    rows,
    cols,
    whole: null,
    rollouts: null,
    overview: { ...kind.overview, values: bytesOf(kind.overview.values) },
    masked: kind.masked && unpackBits(kind.masked, rows * cols),
    labels: null,
    entropies: null,
  };
}

function bytesOf({ buffer, byteOffset, byteLength }) {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Bits, the highest of each byte first, as a Uint8Array of 0 and 1. */
export function unpackBits(bytes, count) {
  const bits = new Uint8Array(count);
  for (let i = 0; i < count; i++) bits[i] = (bytes.getUint8(i >> 3) >> (7 - (i & 7))) & 1;
  return bits;
}

/**
 * The mean or the maximum of several matrices; of differences, the one farthest from 0.
 *
 * @param {(Float32Array | null)[]} matrices null where one is not here yet
 * @param {string} how "mean" or "max"
 */
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

/** Thumbnails of all heads, of the tokens that a pair leaves; each pixel is the strongest weight beneath it. */
function pooled({ whole, layers, heads, rows, cols, limit }, pair, segments) {
  const kept = keptOf(pair, segments);
  const queries = Array.from({ length: rows }, (_, i) => i).filter(kept.queries);
  const keys = Array.from({ length: cols }, (_, i) => i).filter(kept.keys);
  const [down, across] = [queries, keys].map((each) => Math.min(each.length, MOST_PIXELS));
  const [lines, columns] = [spans(queries.length, down), spans(keys.length, across)];
  const values = new Uint8Array(layers * heads * down * across);
  let out = 0;
  for (let matrix = 0; matrix < layers * heads; matrix++) {
    for (let y = 0; y < down; y++) {
      for (let x = 0; x < across; x++) {
        let strongest = 0;
        for (let row = lines[2 * y]; row < lines[2 * y + 1]; row++) {
          const start = (matrix * rows + queries[row]) * cols;
          for (let col = columns[2 * x]; col < columns[2 * x + 1]; col++) {
            const weight = whole[start + keys[col]];
            if (Math.abs(weight) > Math.abs(strongest)) strongest = weight;
          }
        }
        values[out++] = Math.round(limit ? 128 + (127 * strongest) / limit : 255 * strongest);
      }
    }
  }
  return { values, rows: down, cols: across };
}
