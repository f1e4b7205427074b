// A head as it is displayed: its tokens with special ones left out and pieces merged into words, and
// its weights on these axes.

import { shownHeads } from "./selection.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { formatNumber, joinPieces, visible } from "../base/js/text.js";
import { keptOf } from "./sentence_pair.js";

const MOST_CACHED = 12; // axes, and weights gathered on them; the store keeps the others

/**
 * @typedef {object} Axis the tokens along one side, as they are displayed
 * @property {number[][]} groups the indices of the tokens that each displayed one is made of
 * @property {string[]} names
 * @property {Int32Array} at where each token went; -1: left out
 * @property {boolean} same whether every token stands for itself
 *
 * @typedef {object} DisplayedHead
 * @property {string} name unique for what is displayed, and whether its weights are here
 * @property {import("./weight_store.js").Entry} entry
 * @property {import("../base/js/head_grid.js").LayerHead[]} heads that are combined
 * @property {string} aggregate
 * @property {number} layer
 * @property {Uint8Array | null} masked
 * @property {number | null} limit of the differences; null for weights
 * @property {string} pair which sentences are shown; "all"
 * @property {number | null} rowSeconds how much time a query stands for; null where it is a word
 * @property {number | null} colSeconds
 * @property {Axis} queryAxis
 * @property {Axis} keyAxis
 * @property {boolean} plain whether it is one head with every token
 * @property {string[]} queries
 * @property {string[]} rowNames the queries, where known with what was read before: el → gato
 * @property {string[]} keys
 * @property {number} rows
 * @property {number} cols
 * @property {Float32Array | null} weights [query, key]; null: not here yet
 *
 * @typedef {ReturnType<typeof createHeadPictures>} HeadPictures
 */

/**
 * The axis of some tokens.
 *
 * @param {string[]} tokens
 * @param {boolean[]} special
 * @param {(number | null)[] | null | undefined} words the number of each token's word
 * @param {{hideSpecial: boolean, mergeWords: boolean}} options
 * @param {(index: number) => boolean} [isKept] which tokens are shown, besides
 * @returns {Axis}
 */
export function axisOf(tokens, special, words, { hideSpecial, mergeWords }, isKept = (_) => true) {
  const groups = [];
  for (let index = 0; index < tokens.length; index++) {
    if (!isKept(index) || (hideSpecial && special[index])) continue;
    const [last, word] = [groups.at(-1), words?.[index] ?? null];
    const joins = mergeWords && word !== null && last?.at(-1) === index - 1 && words[index - 1] === word;
    if (joins) last.push(index);
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
 *
 * @param {Axis} axis
 * @param {number | null} place
 * @returns {number | null}
 */
export function tokenOf(axis, place) {
  return place === null ? null : (axis.groups[place]?.[0] ?? null);
}

/**
 * Weights [query, key] on these axes: to a word in pieces, the sum over its pieces; from one, their
 * mean (Clark et al. 2019, "What Does BERT Look At?", section 4.1). `cols` is the keys' number.
 */
export function gather(weights, cols, queries, keys) {
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
export function gatherMask(masked, cols, queries, keys) {
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
function isSource(kind, side) {
  const { query, key } = ATTENTION_KINDS[kind];
  return (side === "queries" ? query : key) === "source";
}

/** A time of a sound: "1.28 s". */
export function timeInWords(seconds) {
  return `${formatNumber(seconds, 2)} s`;
}

/** The names of the rows: a decoder reads one token and writes the next. */
export function rowNames(reads, { groups, names }) {
  if (!reads) return names;
  return names.map((name, row) => {
    const pieces = groups[row].map((index) => reads[index]);
    return `${visible(joinPieces(pieces))} → ${visible(name)}`;
  });
}

/**
 * The displayed heads of a store.
 *
 * @param {import("./weight_store.js").WeightStore} store
 */
export function createHeadPictures(store) {
  const cache = new Map();

  function cached(name, make) {
    const value = cache.get(name) ?? make();
    cache.delete(name);
    cache.set(name, value);
    if (cache.size > MOST_CACHED) cache.delete(cache.keys().next().value);
    return value;
  }

  function axesOf(kind, options, kept) {
    const entry = store.entries.get(kind);
    const axis = (side) => {
      const { seconds } = options;
      const isTimed = seconds !== null && isSource(kind, side);
      const tokens = isTimed ? entry[side].map((_, i) => timeInWords(i * seconds)) : entry[side];
      const words = isTimed ? null : entry.words?.[side];
      return axisOf(tokens, entry.special?.[side] ?? [], words, options, kept[side]);
    };
    return cached(JSON.stringify([kind, options]), () => {
      const [queries, keys] = [axis("queries"), axis("keys")];
      return {
        queries,
        keys,
        masked: gatherMask(entry.masked, entry.cols, queries, keys),
      };
    });
  }

  /**
   * What is chosen, as it is displayed.
   *
   * @param {import("./selection.js").Selection} chosen
   * @param {import("./snapshot.js").Options} options
   * @returns {DisplayedHead}
   */
  function show(chosen, { hideSpecial, mergeWords, secondsPerFrame: seconds, segments, pairs }) {
    const { kind, layer, head, aggregate } = chosen;
    const pair = pairs[kind] ?? "all";
    const options = { hideSpecial, mergeWords, pair, seconds };
    const entry = store.entries.get(kind);
    const { queries, keys, masked } = axesOf(kind, options, keptOf(pair, segments));
    const heads = shownHeads(entry, chosen);
    const name = JSON.stringify([kind, aggregate === "rollout" ? layer : heads, aggregate, options]);
    const shown = {
      name,
      entry,
      heads,
      aggregate,
      layer,
      masked,
      limit: entry.limit,
      pair,
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
    const weights =
      aggregate === "head"
        ? store.matrix(kind, layer, head)
        : aggregate === "rollout"
          ? store.rollout(kind, layer)
          : store.aggregate(kind, heads, aggregate);
    if (!weights) return { ...shown, name: `${name} not here`, weights };
    const same = queries.same && keys.same;
    return {
      ...shown,
      weights: same ? weights : cached(name, () => gather(weights, entry.cols, queries, keys)),
    };
  }

  return { show, clear: () => cache.clear() };
}
