// The numbers in the boxes, as a reply carries them.

import type { Box, Stack } from "./steps.ts";

export interface Reply {
  source: string[] | null;
  target: string[] | null;
  written: string[] | null;
  /** How many of these the text gives; absent in older pages. */
  given?: number;
  /** float32 [position, d_model]. */
  vectors: Record<string, DataView>;
  /** float32 [head, query, key]. */
  weights: Record<string, DataView>;
  /** Of each position. */
  likeliest: [word: string, share: number][][] | null;
}

/** The tokens that a stack reads. */
export function tokensOf(reply: Reply, stack: Stack): string[] {
  return (stack === "encoder" ? reply.source : reply.target) ?? [];
}

/** A word's vector after a box, [d_model]; empty where the box makes none. */
export function vectorOf(reply: Reply, key: string, row: number, dModel: number): number[] {
  const view = reply.vectors[key];
  if (!view) return [];
  return Array.from({ length: dModel }, (_, i) => view.getFloat32(4 * (row * dModel + i), true));
}

/** The weights of one word in every head, [head][key]. */
export function weightsOf(reply: Reply, { key, part, stack }: Box, row: number, nHeads: number): number[][] {
  const view = reply.weights[key];
  const nQueries = tokensOf(reply, stack).length;
  const nKeys = part === "cross_attention" ? tokensOf(reply, "encoder").length : nQueries;
  const at = (head: number, column: number) =>
    view?.getFloat32(4 * ((head * nQueries + row) * nKeys + column), true) ?? 0;
  return Array.from({ length: nHeads }, (_, head) =>
    Array.from({ length: nKeys }, (_key, column) => at(head, column)),
  );
}

/** One head's weights of a word, or the mean of all heads: [key]. */
export function drawnWeights(heads: readonly number[][], head: number | null): number[] {
  if (head !== null) return heads[head] ?? [];
  return (heads[0] ?? []).map(
    (_, key) => heads.reduce((sum, row) => sum + (row[key] ?? 0), 0) / heads.length,
  );
}

/** The number whose colour is the strongest: 2.5 times the root mean square of a box's vectors. */
export function colourLimit(reply: Reply, key: string): number {
  const view = reply.vectors[key];
  if (!view) return 1;
  const n = view.byteLength / 4;
  let sum = 0;
  for (let i = 0; i < n; i++) sum += view.getFloat32(4 * i, true) ** 2;
  return 2.5 * Math.sqrt(sum / n) || 1;
}

/** The chosen word of each stack: the row if it has come. Else the newest of the decoder; the gap, or the second. */
export function chosenWords(
  boxes: readonly Box[],
  rows: ReadonlyMap<string, number>,
  row: number | null,
  source: readonly string[],
): Record<Stack, number> {
  const newest = (stack: Stack) =>
    Math.max(0, ...boxes.filter((box) => box.stack === stack).map(({ key }) => rows.get(key) ?? 0)) - 1;
  const first = Math.max(1, source.indexOf("<mask>"));
  return {
    encoder: Math.min(row ?? first, newest("encoder")),
    decoder: Math.min(row ?? newest("decoder"), newest("decoder")),
  };
}
