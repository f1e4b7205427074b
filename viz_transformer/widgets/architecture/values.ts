// The numbers in the boxes, as a reply carries them.

import type { Box, Stack } from "./steps.ts";
import { float32Row, numbersOf } from "../base/bytes.ts";
import { indices } from "../base/scales.ts";

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
  return view ? float32Row(view, row, dModel) : [];
}

/** The weights of one word in every head, [head][key]. */
export function weightsOf(reply: Reply, { key, part, stack }: Box, row: number, nHeads: number): number[][] {
  const view = reply.weights[key];
  const nQueries = tokensOf(reply, stack).length;
  const nKeys = part === "cross_attention" ? tokensOf(reply, "encoder").length : nQueries;
  return indices(nHeads).map((head) =>
    view ? float32Row(view, head * nQueries + row, nKeys) : new Array<number>(nKeys).fill(0),
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
  const values = numbersOf(view, Float32Array);
  const squares = values.reduce((sum, value) => sum + value ** 2, 0);
  return 2.5 * Math.sqrt(squares / values.length) || 1;
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
