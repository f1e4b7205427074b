// A head as it is shown: its words with special tokens left out and pieces merged, and its weights
// with them.

import { shownHeads } from "./selection.js";
import { joinPieces } from "../base/js/text.js";

const MOST_KEPT = 12; // axes, and weights gathered on them; the store keeps the others

/**
 * An axis as it is shown: `groups` of the tokens' indices, a name for each group, and `at`, where a
 * token went (-1: left out). `same` says that every token stands for itself.
 */
export function axisOf(tokens, special, words, { hideSpecial, mergeWords }) {
  const groups = [];
  tokens.forEach((_, index) => {
    if (hideSpecial && special[index]) return;
    const [last, word] = [groups.at(-1), words?.[index] ?? null];
    const joins = mergeWords && word !== null && last?.at(-1) === index - 1 && words[index - 1] === word;
    if (joins) last.push(index);
    else groups.push([index]);
  });
  if (!groups.length) return axisOf(tokens, special, words, { hideSpecial: false, mergeWords });
  const at = new Int32Array(tokens.length).fill(-1);
  groups.forEach((group, place) =>
    group.forEach((index) => {
      at[index] = place;
    }),
  );
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

/** How far a difference goes, of a kind's overview: all its heads share one scale. */
export function changeLimit({ values }) {
  let farthest = 0;
  for (const value of values) farthest = Math.max(farthest, Math.abs(value - 128));
  return Math.max(0.01, Math.min(1, Math.ceil((farthest / 127) * 100) / 100));
}

/** The pictures of a store: `show(chosen, options)` gives one, its weights null until they are here. */
export function openPictures(store) {
  const kept = new Map();

  function remember(name, make) {
    const found = kept.get(name) ?? make();
    kept.delete(name);
    kept.set(name, found);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
    return found;
  }

  function axesOf(kind, options) {
    const entry = store.entries.get(kind);
    const axis = (side) => axisOf(entry[side], entry.special?.[side] ?? [], entry.words?.[side], options);
    return remember(JSON.stringify([kind, options]), () => {
      const [queries, keys] = [axis("queries"), axis("keys")];
      return {
        queries,
        keys,
        masked: gatherMask(entry.masked, entry.cols, queries, keys),
        limit: entry.signed ? changeLimit(store.overview(kind)) : null,
      };
    });
  }

  function show(chosen, options) {
    const { kind, layer, head, aggregate } = chosen;
    const entry = store.entries.get(kind);
    const { queries, keys, masked, limit } = axesOf(kind, options);
    const heads = shownHeads(entry, chosen);
    const raw = () => {
      if (aggregate === "head") return store.matrix(kind, layer, head);
      return aggregate === "rollout" ? store.rollout(kind, layer) : store.aggregate(kind, heads, aggregate);
    };
    const name = JSON.stringify([kind, aggregate === "rollout" ? layer : heads, aggregate, options]);
    const told = {
      name,
      entry,
      heads,
      aggregate,
      layer,
      masked,
      limit,
      queryAxis: queries,
      keyAxis: keys,
      plain: aggregate === "head" && queries.same && keys.same,
      queries: queries.names,
      keys: keys.names,
      rows: queries.names.length,
      cols: keys.names.length,
    };
    const weights = raw();
    if (!weights) return { ...told, name: `${name} not here`, weights };
    const same = queries.same && keys.same;
    return {
      ...told,
      weights: same ? weights : remember(name, () => gather(weights, entry.cols, queries, keys)),
    };
  }

  return { show, forget: () => kept.clear() };
}
