// The selection: which heads, tokens and cells are chosen, how it changes, and how it is put in words.

import { ownNumbers, type LayerHead, type KindHeads } from "../base/head_grid.ts";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import type { Entry } from "./weight_store.ts";
import type { DisplayedHead } from "./displayed_head.ts";

const MOST_NAMED = 12; // heads named one by one
const ONE_HEAD: Pick<Selection, "selected" | "aggregate"> = { selected: [], aggregate: "head" };
export const NOTHING = { query: null, key: null };

export interface Cell {
  query: number | null;
  key: number | null;
}

/** A cell of a picture; of a picture of patches with the token, which the other pictures may hide. */
export type Picked = Cell & { kind?: string; token?: number };

export interface Selection {
  kind: string;
  layer: number;
  head: number;
  /** Pinned. */
  query: number | null;
  /** Pinned. */
  key: number | null;
  selected: LayerHead[];
  /** "head", "mean", "max" or "rollout". */
  aggregate: string;
}

type Heads = Pick<Selection, "layer" | "head" | "selected" | "aggregate">;

/** A selection made to fit the entries, as Python does. */
export function fitSelection(
  entries: Map<string, Pick<Entry, "layers" | "heads" | "rows" | "cols" | "noRollout">>,
  {
    kind,
    layer,
    head,
    query,
    key,
    selected = [],
    aggregate = "head",
  }: Partial<Pick<Selection, "selected" | "aggregate">> & Omit<Selection, "selected" | "aggregate">,
): Selection {
  const fitted = entries.has(kind) ? kind : Array.from(entries.keys()).pop()!;
  const { layers, heads, rows, cols, noRollout } = entries.get(fitted)!;
  const inside = (index: number | null, count: number) => (index !== null && index < count ? index : null);
  return {
    kind: fitted,
    layer: Math.min(layer, layers - 1),
    head: Math.min(head, heads - 1),
    query: inside(query, rows),
    key: inside(key, cols),
    selected: selected.filter(([one, other]) => one < layers && other < heads),
    aggregate: aggregate === "rollout" && noRollout ? "head" : aggregate,
  };
}

/** What stays pinned when the kind changes: an index along an axis that both kinds share. */
export function carryPins(from: string, to: string, { query, key }: Cell) {
  const [old, next] = [ATTENTION_KINDS[from], ATTENTION_KINDS[to]];
  return {
    query: old.query === next.query ? query : null,
    key: old.key === next.key ? key : null,
  };
}

/** The cell under the pointer, if this picture has it: a resting pointer outlives a change of head. */
export function within(hover: Picked | null, { rows, cols }: Pick<DisplayedHead, "rows" | "cols">) {
  return hover && (hover.query ?? 0) < rows && (hover.key ?? 0) < cols ? hover : null;
}

/** What is shown: the word or cell under the pointer, else what is pinned. */
export function activeCell(hover: Picked | null, pinned: Picked & { kind: string }): Picked {
  if (!hover) return pinned;
  if (hover.query === null && hover.token === undefined && pinned.query !== null)
    return { query: pinned.query, key: hover.key };
  return hover;
}

/** The heads that the heatmap is made of, as [[layer, head], …]. */
export function shownHeads(
  { heads }: Pick<Entry, "heads">,
  { layer, head, selected, aggregate }: Selection,
): LayerHead[] {
  const all = (one: number): LayerHead[] => Array.from({ length: heads }, (_, other) => [one, other]);
  if (aggregate === "head") return [[layer, head]];
  if (aggregate === "rollout") return Array.from({ length: layer + 1 }, (_, one) => all(one)).flat();
  return selected.length ? selected : all(layer);
}

/**
 * The selection with one head more, or one less. The first one added joins the head on show, and
 * without the last one there is a single head on show again, not the mean of its whole layer.
 */
export function withHead({ layer, head, selected, aggregate }: Heads, added: LayerHead) {
  const shown: LayerHead = [layer, head];
  const before = selected.length || aggregate !== "head" || isHead(shown, added) ? selected : [shown];
  const rest = before.filter((each) => !isHead(each, added));
  const now = rest.length === before.length ? [...before, added] : rest;
  if (!now.length) return ONE_HEAD;
  const after = now.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return { selected: after, aggregate: aggregate === "max" ? "max" : "mean" };
}

/** The change on Escape: one head instead of several, or no pinned tokens; `pinsFirst` says which goes first. */
export function escapeChange(
  { selected, aggregate, query, key }: Cell & { selected: unknown[]; aggregate: string },
  pinsFirst = false,
) {
  const isPinned = query !== null || key !== null;
  const isSeveral = selected.length > 0 || aggregate !== "head";
  return isSeveral && !(pinsFirst && isPinned) ? ONE_HEAD : NOTHING;
}

/** Whether two [layer, head] pairs are the same. */
export function isHead(one: number[], other: number[]) {
  return one[0] === other[0] && one[1] === other[1];
}

/** What the heatmap shows, in words. */
export function shownInWords(entry: Pick<KindHeads, "kind" | "heads" | "numbers">, chosen: Heads) {
  const { layer, head, selected, aggregate } = chosen;
  const [ownLayer, ownHead] = ownNumbers(entry, layer, head);
  if (aggregate === "head") return `layer ${ownLayer} · head ${ownHead}`;
  if (aggregate === "rollout") {
    const [first] = ownNumbers(entry, 0, 0);
    const layers = layer ? `of layers ${first} to ${ownLayer}` : `of layer ${first}`;
    return entry.kind === "cross" ? `rollout from source words to output, ${layers}` : `rollout ${layers}`;
  }
  const how = aggregate === "mean" ? "mean" : "maximum";
  if (!selected.length) return `${how} of all ${entry.heads} heads of layer ${ownLayer}`;
  const names = selected
    .slice(0, MOST_NAMED)
    .map(([one, other]) => ownNumbers(entry, one, other).join("·"))
    .join(", ");
  const more = selected.length > MOST_NAMED ? ` and ${selected.length - MOST_NAMED} more` : "";
  return `${how} of ${selected.length} ${selected.length === 1 ? "head" : "heads"}: ${names}${more}`;
}

/** Which words hold the text that is searched for, 1 or 0 each; null without a search. */
export function foundIn(names: string[], search: string) {
  const text = search.trim().toLowerCase();
  return text ? Uint8Array.from(names, (name) => Number(name.toLowerCase().includes(text))) : null;
}

/** Whether two axes have the same words, as those of self-attention. */
export function areSame(one: string[], other: string[]) {
  return one.length === other.length && one.every((name, i) => name === other[i]);
}

/** The next marked word after a pinned one, the queries before the keys: {query, key}, or null. */
export function nextFound(
  { queries, keys }: { queries: Uint8Array | null; keys: Uint8Array | null },
  { query, key }: Cell,
) {
  const list = (marks: Uint8Array | null, place: (index: number) => Cell) =>
    Array.from(marks?.keys() ?? [])
      .filter((index) => marks![index])
      .map(place);
  const places = [
    ...list(queries, (index) => ({ query: index, key: null })),
    ...list(keys, (index) => ({ query: null, key: index })),
  ];
  const now = places.findIndex((one) => one.query === query && one.key === key);
  return places.length
    ? { ...places[(now + 1) % places.length], place: ((now + 1) % places.length) + 1, of: places.length }
    : null;
}

/** How many words are marked, in words: of each axis or column its marks, of two with the same words once. */
export function foundInWords(found: (Uint8Array | null)[], names: string[][]) {
  const once = found.filter((_, i) => names.findIndex((each) => areSame(each, names[i]!)) === i);
  const count = once.reduce((sum, marks) => sum + (marks?.reduce((all, one) => all + one, 0) ?? 0), 0);
  return count ? `${count} found; Enter goes to the next` : "none found";
}
