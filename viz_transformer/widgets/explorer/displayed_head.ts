// A head as it is displayed: its tokens with special ones left out and pieces merged into words, and
// its weights on these axes.

import type { LayerHead } from "../base/head_grid.ts";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import { formatNumber, joinPieces, percent, visible } from "../base/text.ts";
import { type Selection, shownHeads } from "./selection.ts";
import { keptOf } from "./shown_part.ts";
import type { Options } from "./snapshot.ts";
import type { Entry, WeightStore } from "./weight_store.ts";

const MOST_CACHED = 12; // axes, and weights gathered on them; the store keeps the others

type Side = "queries" | "keys";

/** The tokens along one side, as they are displayed */
export interface Axis {
  /** The indices of the tokens that each displayed one is made of. */
  groups: number[][];
  names: string[];
  /** Where each token went; -1: left out. */
  at: Int32Array;
  /** Whether every token stands for itself. */
  same: boolean;
}

export interface DisplayedHead {
  /** Unique for what is displayed, and whether its weights are here. */
  name: string;
  entry: Entry;
  /** Which digits of its weights are true, see the entry's. */
  dtype: string;
  /** That are combined. */
  heads: LayerHead[];
  aggregate: string;
  layer: number;
  masked: Uint8Array | null;
  /** Of the differences; null for weights. */
  limit: number | null;
  /** Which sentences are shown; "all". */
  pair: string;
  /** The names of the trace and of the one that is subtracted, where they have some. */
  compared: [string, string] | null;
  /** How much time a query stands for; null where it is a word. */
  rowSeconds: number | null;
  colSeconds: number | null;
  queryAxis: Axis;
  keyAxis: Axis;
  /** Whether it is one head with every token. */
  plain: boolean;
  queries: string[];
  /** The queries, where known with what was read before: el → gato. */
  rowNames: string[];
  keys: string[];
  rows: number;
  cols: number;
  /** [query, key]; null: not here yet */
  weights: Float32Array | null;
}

export type HeadPictures = ReturnType<typeof createHeadPictures>;

/**
 * The axis of some tokens.
 *
 * @param words the number of each token's word
 * @param isKept which tokens are shown, besides
 */
export function axisOf(
  tokens: string[],
  special: boolean[],
  words: (number | null)[] | null | undefined,
  { hideSpecial, mergeWords }: { hideSpecial: boolean; mergeWords: boolean },
  isKept: (index: number) => boolean = (_) => true,
): Axis {
  const groups: number[][] = [];
  for (let index = 0; index < tokens.length; index++) {
    if (!isKept(index) || (hideSpecial && special[index])) continue;
    const [last, word] = [groups[groups.length - 1] as number[] | undefined, words?.[index] ?? null];
    const joins = mergeWords && word !== null && last?.at(-1) === index - 1 && words?.[index - 1] === word;
    if (joins) last!.push(index);
    else groups.push([index]);
  }
  if (!groups.length && hideSpecial)
    return axisOf(tokens, special, words, { hideSpecial: false, mergeWords }, isKept);
  const at = new Int32Array(tokens.length).fill(-1);
  groups.forEach((group, place) => {
    for (const index of group) at[index] = place;
  });
  const names = groups.map((group) => {
    const isWord = mergeWords && (words?.[group[0]] ?? null) !== null;
    return joinPieces(
      group.map((index) => tokens[index]),
      isWord,
    );
  });
  return { groups, names, at, same: groups.length === tokens.length };
}

/**
 * The first token at a place of an axis; null where there is none, also when a click on the last frame comes
 * just after a shorter sentence.
 */
export function tokenOf(axis: Axis, place: number | null): number | null {
  return place === null ? null : (axis.groups[place]?.[0] ?? null);
}

/**
 * Weights [query, key] on these axes: to a word in pieces, the sum over its pieces; from one, their
 * mean (Clark et al. 2019, "What Does BERT Look At?", section 4.1). `cols` is the keys' number.
 */
export function gather(weights: Float32Array, cols: number, queries: Axis, keys: Axis) {
  if (queries.same && keys.same) return weights;
  const across = keys.groups.length;
  const result = new Float32Array(queries.groups.length * across);
  queries.groups.forEach((group, row) => {
    for (const query of group) {
      for (let key = 0; key < cols; key++) {
        if (keys.at[key] >= 0)
          result[row * across + keys.at[key]] += weights[query * cols + key] / group.length;
      }
    }
  });
  return result;
}

/** The mask on these axes: a cell is masked where all of it is. */
export function gatherMask(masked: Uint8Array | null, cols: number, queries: Axis, keys: Axis) {
  if (!masked || (queries.same && keys.same)) return masked ?? null;
  const open = gather(
    Float32Array.from(masked, (one) => 1 - one),
    cols,
    queries,
    keys,
  );
  return Uint8Array.from(open, (one) => Number(one === 0));
}

/** Whether the queries or keys of a kind are what the encoder read. */
function isSource(kind: string, side: Side) {
  const { query, key } = ATTENTION_KINDS[kind];
  return (side === "queries" ? query : key) === "source";
}

/** A time of a sound: "1.28 s". */
export function timeInWords(seconds: number) {
  return `${formatNumber(seconds, 2)} s`;
}

/** The names of the rows: a decoder reads one token and writes the next. */
export function rowNames(reads: string[] | null, { groups, names }: Pick<Axis, "groups" | "names">) {
  if (!reads) return names;
  return names.map((name, row) => {
    const pieces = groups[row].map((index) => reads[index]);
    return `${visible(joinPieces(pieces))} → ${visible(name)}`;
  });
}

/** A share of attention as it is printed: in whole percents, where a page knows no more of it. */
export const shareOf = ({ dtype }: DisplayedHead, share: number): string => percent(share, dtype === "uint8");

/** The displayed heads of a store. */
export function createHeadPictures(store: WeightStore) {
  const cache = new Map<string, unknown>();

  function cached<Value>(name: string, make: () => Value): Value {
    const value = (cache.get(name) as Value | undefined) ?? make();
    cache.delete(name);
    cache.set(name, value);
    if (cache.size > MOST_CACHED) cache.delete(cache.keys().next().value!);
    return value;
  }

  function axesOf(
    kind: string,
    options: { hideSpecial: boolean; mergeWords: boolean; pair: string; seconds: number | null },
    kept: { queries: (index: number) => boolean; keys: (index: number) => boolean },
  ) {
    const entry = store.entries.get(kind)!;
    const axis = (side: Side) => {
      const { seconds } = options;
      const isTimed = seconds !== null && isSource(kind, side);
      const tokens = isTimed ? entry[side].map((_, i) => timeInWords(i * seconds!)) : entry[side];
      const words = isTimed ? null : entry.words?.[side];
      return axisOf(tokens, entry.special?.[side] ?? [], words, options, kept[side]);
    };
    return cached(JSON.stringify([kind, options]), () => {
      const [queries, keys] = [axis("queries"), axis("keys")];
      return { queries, keys, masked: gatherMask(entry.masked, entry.cols, queries, keys) };
    });
  }

  /** What is chosen, as it is displayed. */
  function show(
    chosen: Selection,
    { hideSpecial, mergeWords, secondsPerFrame: seconds, segments, pairs, compared }: Options,
  ): DisplayedHead {
    const { kind, layer, aggregate } = chosen;
    const pair = pairs[kind] ?? "all";
    const options = { hideSpecial, mergeWords, pair, seconds };
    const entry = store.entries.get(kind)!;
    const { queries, keys, masked } = axesOf(kind, options, keptOf(pair, segments));
    const heads = shownHeads(entry, chosen);
    const name = JSON.stringify([kind, aggregate === "rollout" ? layer : heads, aggregate, options]);
    const shown = {
      name,
      entry,
      dtype: aggregate === "rollout" ? entry.rolledDtype : entry.dtype,
      heads,
      aggregate,
      layer,
      masked,
      limit: entry.limit,
      pair,
      compared,
      rowSeconds: isSource(kind, "queries") ? seconds : null,
      colSeconds: isSource(kind, "keys") ? seconds : null,
      queryAxis: queries,
      keyAxis: keys,
      plain: aggregate === "head" && queries.same && keys.same,
      queries: queries.names,
      rowNames: rowNames(entry.reads, queries),
      keys: keys.names,
      rows: queries.names.length,
      cols: keys.names.length,
    };
    const weights = weightsOf(store, chosen, heads);
    if (!weights) return { ...shown, name: `${name} not here`, weights };
    const same = queries.same && keys.same;
    return {
      ...shown,
      weights: same ? weights : cached(name, () => gather(weights, entry.cols, queries, keys)),
    };
  }

  return { show, clear: () => cache.clear() };
}

/** The weights of what is chosen, with every token; null: not here yet. */
function weightsOf(store: WeightStore, { kind, layer, head, aggregate }: Selection, heads: LayerHead[]) {
  if (aggregate === "head") return store.matrix(kind, layer, head);
  return aggregate === "rollout" ? store.rollout(kind, layer) : store.aggregate(kind, heads, aggregate);
}
