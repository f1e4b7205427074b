// Linked columns, all kinds on one screen: source words → as the encoder read them → written words ←
// words written before. A place in a column is a pinned query or key of one of the kinds.

import { quoted } from "../base/text.ts";
import type { Cell } from "./selection.ts";

/** The columns, left to right, and the kinds that join them. */
export interface LinkedPlan {
  /** `kind` and `axis`: what a click pins. */
  columns: { title: string; kind: string; axis: string }[];
  /** `flip`: queries on the right. */
  links: { kind: string; flip: boolean }[];
}

export interface Place {
  column: number;
  index: number;
}

/**
 * The plan of the kinds of a trace; null where nothing can be linked: that takes cross-attention and
 * another kind.
 */
export function linkedColumns(kinds: string[]): LinkedPlan | null {
  if (!kinds.includes("cross") || kinds.length < 2) return null;
  const columns = [
    { title: "after the encoder", kind: "cross", axis: "key" },
    { title: "writing", kind: "cross", axis: "query" },
  ];
  const links = [{ kind: "cross", flip: true }];
  if (kinds.includes("encoder")) {
    columns.unshift({ title: "source", kind: "encoder", axis: "key" });
    links.unshift({ kind: "encoder", flip: true });
  }
  if (kinds.includes("decoder")) {
    columns.push({ title: "written so far", kind: "decoder", axis: "key" });
    links.push({ kind: "decoder", flip: false });
  }
  return { columns, links };
}

/**
 * The places of a kind's pinned or active tokens, the one that paths start from first. Without a
 * plan there are two columns, the queries and the keys.
 */
export function placesOf(plan: LinkedPlan | null, kind: string, { query, key }: Cell): Place[] {
  const same: Record<string, string> = { "encoder.query": "cross.key", "decoder.query": "cross.query" }; // one token, two roles
  const place = (axis: string, index: number) => {
    if (!plan) return { column: axis === "query" ? 0 : 1, index };
    const name = same[`${kind}.${axis}`] ?? `${kind}.${axis}`;
    return { column: plan.columns.findIndex((one) => `${one.kind}.${one.axis}` === name), index };
  };
  const places: Place[] = [];
  if (query !== null) places.push(place("query", query));
  if (key !== null) places.push(place("key", key));
  return places;
}

/** The place that an arrow key moves to: along a column, or to the one beside it. */
export function movePlace(counts: number[], place: Place, arrow: string) {
  if (!place) return { column: Math.min(1, counts.length - 1), index: 0 };
  const column = place.column + (({ ArrowLeft: -1, ArrowRight: 1 } as Record<string, number>)[arrow] ?? 0);
  if (column < 0 || column >= counts.length) return null;
  const index = place.index + (({ ArrowUp: -1, ArrowDown: 1 } as Record<string, number>)[arrow] ?? 0);
  return { column, index: Math.max(0, Math.min(counts[column] - 1, index)) };
}

/** Where the paths from a token lead, column by column. */
export function linkedSentence(
  { columns }: Pick<LinkedPlan, "columns">,
  names: string[][],
  reach: (ArrayLike<number> | null)[],
  { column }: Place,
) {
  const ends = columns.flatMap(({ title }, at) => {
    if (at === column || !reach[at]) return [];
    let best = 0;
    for (let index = 1; index < reach[at].length; index++)
      if (Math.abs(reach[at][index]) > Math.abs(reach[at][best])) best = index;
    return Math.abs(reach[at][best]) < 0.005
      ? []
      : [`${title} ${quoted(names[at][best])} ${reach[at][best].toFixed(2)}`];
  });
  return ends.length ? `Strongest paths, each the product of its weights: ${ends.join("; ")}.` : "";
}

/** What a place pins: {kind, query, key}. */
export function pinOf({ columns }: LinkedPlan, { column, index }: Place) {
  const { kind, axis } = columns[column];
  return { kind, query: null, key: null, [axis]: index };
}
