// The store of a trace's weights in the page: its tokens, and the weights of each head.
//
// A small trace arrives whole and exact, and the page measures it. Of a large one an overview arrives
// first, and each head when it is shown: `matrix` and its like return null until then, and `onChange()`
// is called when there is more to draw. Every request and every cached matrix has a name, and belongs to one version of the
// data: a late reply is never taken for another head's or another trace's.

import { decodeWeights, spans } from "../base/bytes.ts";
import type { KindHeads, Overview } from "../base/head_grid.ts";
import { connectKernel, type Model } from "../base/kernel.ts";
import { createLruCache } from "./caches.ts";
import { measureTraces, type RawTrace } from "./measured_trace.ts";
import { type Carried, lackingInWords, type Packed, unpack } from "./packed_weights.ts";
import { keptOf } from "./shown_part.ts";
import { indices } from "../base/scales.ts";

export const CACHE_BYTES = 64e6;
export const SLOW =
  "Waiting for Python, which is busy or has stopped. If the notebook was opened again, run this cell.";

const MOST_PENDING = 3; // requests under way
const WAIT_MS = 2500; // after this long without a reply the viewer is told
const MOST_PREFETCHED = 256 * 1024; // bytes; heads larger than this are not fetched before they are shown
const MOST_PIXELS = 64; // a side of the overview's pictures

/** One kind of attention: its tokens and sizes, and what is here of its weights. */
export interface Entry {
  kind: string;
  layers: number;
  heads: number;
  /** Queries. */
  rows: number;
  /** Keys. */
  cols: number;
  /** "float32", "float16", or "uint8" for what an exported page rounds to 8 bits. */
  dtype: string;
  /** The same for a rollout. */
  rolledDtype: string;
  /** What an exported page holds of a large trace; null in a notebook, and of a small one. */
  carried: Carried | null;
  /** Whether the weights are differences, or not normalised. */
  signed: boolean;
  /** Whether they are weights that are no shares of a whole. */
  unnormalised: boolean;
  /** The end of their scale, where they are signed. */
  limit: number | null;
  /** Where that scale begins: minus `limit`, or 0 where no weight is below 0. */
  least: number;
  /** The model's own; null: 0, 1, 2 …. */
  numbers: { layers: number[]; heads: number[] } | null;
  /** Of a difference of two models: the layer of the other that each layer meets, how many it has, and how many heads both have. */
  matched: { layers: number[]; of: number; heads: number[] | null } | null;
  queries: string[];
  keys: string[];
  /** What each query read before it wrote its token. */
  reads: string[] | null;
  /** By what the heads attend, see shown_part.ts. */
  attendsBy: string;
  note: string;
  /** Why there is no rollout, or "". */
  noRollout: string;
  /** 1 or 0 for each cell. */
  masked: Uint8Array | null;
  words: { queries: (number | null)[] | null; keys: (number | null)[] | null };
  special: { queries: boolean[]; keys: boolean[] };
  /** All weights, of a small trace. */
  whole: Float32Array | null;
  /** Of a whole trace after each layer; null: there are none. */
  rollouts: (() => Float32Array) | null;
  overview: Overview | null;
  /** Of the heads, [layer][head]. */
  labels: KindHeads["labels"];
  /** Of the heads. */
  entropies: Float32Array | null;
}

type Derived = "layers" | "heads" | "rows" | "cols" | "overview" | "masked" | "carried" | "rolledDtype";

/** A kind of a large trace as Python sends it: an overview, and perhaps the first head that is shown. */
interface KindData extends Omit<Entry, Derived> {
  /** Layers, heads, queries and keys. */
  shape: [number, number, number, number];
  overview: { values: DataView; rows: number; cols: number };
  masked: DataView | null;
  first?: (Packed & { layer: number; head: number }) | null;
}

/** The trait `data`: whole traces, one or two, or the kinds of a large one. */
interface Data extends NonNullable<Parameters<typeof measureTraces>[1]> {
  version: number;
  traces?: RawTrace[];
  kinds?: KindData[];
  /** By kind. */
  attendsBy?: Record<string, string>;
  carried?: Carried;
}

/** Of which kind and heads something is asked, and how they are combined. */
type Place = [string, ...(string | number | number[][])[]];
type Request = { version: number } & Record<string, unknown>;

/** What Python answers: what was asked for, or that the trace is of another version. */
interface Reply {
  stale?: boolean;
  weights?: DataView | DataView[];
  dtype?: string;
  values?: DataView;
  rows?: number;
  cols?: number;
  labels?: Entry["labels"];
  entropies?: DataView;
  value?: number;
}

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
  #asked = new Set<string>(); // what this frame asked for, here or not
  #wanted = new Map<string, { request: Request; onReply: (reply: Reply) => void }>(); // of these what is to be requested
  #pending = new Set<string>();
  #failed = new Map<string, string>();
  #overviews = new Map<string, Overview>();
  #rollouts = new Map<string, Float32Array>();
  #lost = new Map<string, number>();
  #data!: Data;
  #last: [string, number, number] | null = null; // head shown: those beside it are prefetched
  #timer: ReturnType<typeof setTimeout> | undefined;
  #slow = false;
  #closed = false;
  #rejectExact: ((error: Error) => void) | null = null;
  #exact: { name: string; value: number | null } = { name: "", value: null };
  entries: Map<string, Entry> = new Map();

  /**
   * @param onChange called when there is more to draw
   * @param limit of the cache, in bytes
   */
  constructor(
    model: Pick<Model, "get" | "send" | "on" | "off">,
    onChange: () => void,
    limit: number = CACHE_BYTES,
  ) {
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
    const [data, old]: [Data, Data | undefined] = [this.#model.get("data"), this.#data];
    this.#data = data;
    // Of the same version it is the same trace: what the page sent comes back from Python's echo.
    if (data === old || data.version === old?.version) return false;
    this.#stopTimer();
    const entries = data.traces
      ? measureTraces(data.traces, data)
      : data.kinds!.map((kind) => entryOf(kind, data.carried ?? null));
    const by = data.attendsBy ?? {};
    this.entries = new Map(
      entries.map((entry) => [entry.kind, { ...entry, attendsBy: by[entry.kind] ?? "both" }]),
    );
    for (const each of [
      this.#pending,
      this.#failed,
      this.#overviews,
      this.#rollouts,
      this.#lost,
      this.#cache,
    ])
      each.clear();
    for (const { kind, first } of data.kinds ?? []) {
      if (first) this.#keep("head", [kind, first.layer, first.head], first);
    }
    return true;
  }

  /** The [query, key] weights of one head, a Float32Array in C order, or null: not here yet. */
  matrix(kind: string, layer: number, head: number) {
    const { whole, heads, rows, cols } = this.entries.get(kind)!;
    const start = (layer * heads + head) * rows * cols;
    if (whole) return whole.subarray(start, start + rows * cols);
    this.#last = [kind, layer, head];
    return this.#wantCarried("head", this.#last);
  }

  /** Which share of a head's attention an exported page has left out. */
  lost(kind: string, layer: number, head: number): number {
    return this.#lost.get(nameOf("head", [kind, layer, head])) ?? 0;
  }

  /** The "mean" or "max" of several heads, given as [[layer, head], …]; null: not here yet. */
  aggregate(kind: string, heads: number[][], how: string) {
    const name = nameOf("aggregate", [kind, how, heads]);
    this.#asked.add(name);
    if (this.#cache.has(name)) return this.#cache.get(name);
    if (!this.entries.get(kind)!.whole && !this.#failed.has(name))
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
  rollout(kind: string, layer: number) {
    const { rollouts, noRollout, whole, rows, cols } = this.entries.get(kind)!;
    if (noRollout) return null;
    if (!whole) return this.#wantCarried("rollout", [kind, layer]);
    if (!this.#rollouts.has(kind)) this.#rollouts.set(kind, rollouts!());
    return this.#rollouts.get(kind)!.subarray(layer * rows * cols, (layer + 1) * rows * cols);
  }

  /**
   * Thumbnails of all heads, 0 to 255 for 0 to 1; of a difference 128 is 0, and 255 the end of its scale.
   *
   * With `pair` those of the sentences that are shown; of a large trace the whole ones until they are here.
   */
  overview(kind: string, pair = "all", segments: number[] = []): Overview {
    const entry = this.entries.get(kind)!;
    const name = nameOf("overview", [kind, pair]);
    if (!this.#overviews.has(name) && entry.whole) this.#overviews.set(name, pooled(entry, pair, segments));
    if (!this.#overviews.has(name) && pair !== "all") {
      this.#want("overview", [kind, pair], ({ rows, cols, values }) => {
        this.#overviews.set(name, { rows: rows!, cols: cols!, values: bytesOf(values!) });
      });
    }
    return this.#overviews.get(name) ?? entry.overview!;
  }

  /** Ask for the labels and entropies of all heads of a kind, where its entry lacks them. */
  measure(kind: string) {
    const entry = this.entries.get(kind)!;
    if (entry.whole || entry.signed || entry.entropies) return;
    this.#want("measure", [kind], ({ labels, entropies }) => {
      [entry.labels, entry.entropies] = [labels ?? null, decodeWeights(entropies!, "float32")];
    });
  }

  /** A promise of one weight as exact as it is in Python; rejected when a newer one is requested. */
  exact(kind: string, layer: number, head: number, query: number, key: number): Promise<number> {
    const { whole, cols } = this.entries.get(kind)!;
    if (whole) return Promise.resolve(this.matrix(kind, layer, head)![query * cols + key]);
    return new Promise((resolve, reject) => {
      this.#rejectExact?.(new Error("another weight is wanted now"));
      this.#rejectExact = reject;
      this.#kernel.latest(
        { exact: [kind, layer, head, query, key], version: this.#data.version },
        (reply: Reply) => (reply.stale ? reject(new Error("another trace is shown")) : resolve(reply.value!)),
        reject,
      );
    });
  }

  /** The same weight if it is here, else null; it is requested, and `onChange` is called. */
  exactIfHere(kind: string, layer: number, head: number, query: number, key: number) {
    const name = JSON.stringify([this.#data.version, kind, layer, head, query, key]);
    if (this.#exact.name !== name) {
      const asked: { name: string; value: number | null } = { name, value: null };
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
    for (const name of this.#asked) {
      const problem = this.#failed.get(name);
      if (problem) return problem;
    }
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

  /** The same, unless this is a page that was written without it: then that is the problem. */
  #wantCarried(what: string, place: [string, number, number?]) {
    const [kind, layer, head] = place;
    const lacking = lackingInWords(this.entries.get(kind)!.carried, layer, head);
    if (!lacking) return this.#want(what, place as Place);
    const name = nameOf(what, place as Place);
    this.#asked.add(name);
    this.#failed.set(name, lacking);
    return null;
  }

  /** A matrix if it is here; else null, and it is requested. */
  #want(what: string, place: Place, onReply?: (reply: Reply) => void): Float32Array | null {
    const name = nameOf(what, place);
    this.#asked.add(name);
    const here = this.#cache.get(name);
    if (here || this.#failed.has(name)) return here;
    const keep = (reply: Reply) => this.#keep(what, place, reply as Packed);
    const request = { [what]: place, version: this.#data.version };
    this.#wanted.set(name, { request, onReply: onReply ?? keep });
    this.#sendWanted();
    return null;
  }

  #keep(what: string, place: Place, part: Packed) {
    const [entry, name] = [this.entries.get(place[0])!, nameOf(what, place)];
    if (part.dtype === "packed8") entry[what === "rollout" ? "rolledDtype" : "dtype"] = "uint8"; // fewer true digits
    this.#cache.set(name, weightsOf(part, entry));
    if (part.lost) this.#lost.set(name, part.lost);
  }

  #sendWanted() {
    for (const [name, { request, onReply }] of this.#wanted) {
      if (this.#pending.has(name)) continue;
      if (this.#pending.size >= MOST_PENDING) return;
      this.#send(name, request, onReply);
    }
  }

  #send(name: string, request: Request, onReply: (reply: Reply) => void) {
    this.#pending.add(name);
    this.#timer ??= setTimeout(() => {
      this.#slow = true;
      this.#onChange();
    }, WAIT_MS);
    this.#kernel.ask(request).then(
      (reply: Reply) => this.#settle(name, request, reply.stale ? null : () => onReply(reply)),
      (error: Error) => this.#settle(name, request, () => this.#failed.set(name, error.message)),
    );
  }

  /** A request is answered; `apply` is null if the reply is of another version. */
  #settle(name: string, { version }: Request, apply: (() => void) | null) {
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
    [this.#timer, this.#slow] = [undefined, false];
  }

  /**
   * Fetch the heads beside the one last shown, if that is cheap and nothing else is pending: all in
   * one request, since the notebook shows the kernel busy for each.
   */
  #prefetch() {
    if (this.#closed || this.#pending.size || !this.#last || !this.#model.get("live")) return;
    const [kind, layer, head] = this.#last;
    const entry = this.entries.get(kind);
    if (!entry || 4 * entry.rows * entry.cols > MOST_PREFETCHED) return;
    const { layers, heads, rows, cols } = entry;
    const around = [
      [layer, head + 1],
      [layer + 1, head],
      [layer, head - 1],
      [layer - 1, head],
    ];
    const beside = around
      .filter(([one, other]) => one >= 0 && one < layers && other >= 0 && other < heads)
      .filter((at) => !this.#cache.has(nameOf("head", [kind, ...at])));
    const name = nameOf("heads", [kind, beside]);
    const isTooLarge = !this.#cache.hasRoom(4 * rows * cols * beside.length);
    if (!beside.length || this.#failed.has(name) || isTooLarge) return;
    this.#send(name, { heads: [kind, beside], version: this.#data.version }, ({ weights }) => {
      beside.forEach((at, i) => {
        this.#keep("head", [kind, ...at], { weights: (weights as DataView[])[i] });
      });
    });
  }
}

function nameOf(what: string, of: Place) {
  return JSON.stringify([what, of]);
}

/** A head's weights from its bytes; differences come as shares of their scale. */
function weightsOf(part: Packed, entry: Entry) {
  if (part.dtype) return unpack(part, entry);
  const weights = decodeWeights(part.weights, entry.dtype);
  return entry.limit ? weights.map((share) => share * entry.limit!) : weights;
}

function whenIdle(callback: () => void) {
  (globalThis.requestIdleCallback ?? ((act: () => void) => setTimeout(act, 50)))(callback);
}

/** A kind of a large trace as the page uses it, from what Python sent. */
function entryOf({ first: _, ...kind }: KindData, carried: Carried | null): Omit<Entry, "attendsBy"> {
  const [layers, heads, rows, cols] = kind.shape;
  return {
    ...kind,
    dtype: carried?.bits === 8 ? "uint8" : kind.dtype,
    rolledDtype: carried ? "uint8" : kind.dtype,
    carried,
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

function bytesOf({ buffer, byteOffset, byteLength }: DataView) {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Bits, the highest of each byte first, as a Uint8Array of 0 and 1. */
export function unpackBits(bytes: DataView, count: number) {
  const bits = new Uint8Array(count);
  for (let i = 0; i < count; i++) bits[i] = (bytes.getUint8(i >> 3) >> (7 - (i & 7))) & 1;
  return bits;
}

/**
 * The mean or the maximum of several matrices; of differences, the one farthest from 0.
 *
 * @param matrices null where one is not here yet
 * @param how "mean" or "max"
 */
export function combine(found: (Float32Array | null)[], how: string) {
  const matrices = found.filter((matrix) => matrix !== null);
  if (!found.length || matrices.length < found.length) return null;
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
function pooled({ whole, layers, heads, rows, cols, limit }: Entry, pair: string, segments: number[]) {
  const kept = keptOf(pair, segments);
  const queries = indices(rows).filter(kept.queries);
  const keys = indices(cols).filter(kept.keys);
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
            const weight = whole![start + keys[col]];
            if (Math.abs(weight) > Math.abs(strongest)) strongest = weight;
          }
        }
        values[out++] = Math.round(limit ? 128 + (127 * strongest) / limit : 255 * strongest);
      }
    }
  }
  return { values, rows: down, cols: across };
}
