// Weights as an exported page carries them: packed by `pack_weights` in part.py, and what it says of them.

import { float32Row, halfTable } from "../base/bytes.ts";
import type { Entry } from "./weight_store.ts";

/** Which part of a large trace a page carries. */
export interface Carried {
  /** Of each weight: 16, or 8. */
  bits: number;
  /** Smaller weights are left out. */
  threshold: number;
  /** Counted from 0; null: all. */
  layers: number[] | null;
  heads: number[] | null;
}

/** A matrix of weights as it is sent: as it is by a kernel, packed in a page. */
export interface Packed {
  weights: DataView;
  dtype?: string;
  /** Whether masked cells are among them. */
  whole?: boolean;
  /** The share of the attention that was left out. */
  lost?: number;
}

/** Weights [query, key] from the bytes that a page carries. */
export function unpack({ weights, dtype, whole }: Packed, entry: Entry): Float32Array {
  const { rows, cols, limit } = entry;
  const masked = whole ? null : entry.masked;
  const isCoarse = dtype === "packed8";
  const count = masked ? masked.reduce((sum, one) => sum + 1 - one, 0) : rows * cols;
  const [table, zero, scale] = [halfTable(), limit === null ? 0 : 128, limit ?? 1];
  const cells = isCoarse ? 4 * rows : 0;
  const unpacked = new Float32Array(rows * cols);
  const steps = isCoarse ? float32Row(weights, 0, rows) : [];
  let at = 0;
  for (let col = 0; col < cols; col++) {
    for (let row = 0; row < rows; row++) {
      if (masked?.[row * cols + col]) continue;
      unpacked[row * cols + col] = isCoarse
        ? steps[row] * (weights.getUint8(cells + at) - zero)
        : scale * table[weights.getUint8(at) | (weights.getUint8(count + at) << 8)];
      at += 1;
    }
  }
  return unpacked;
}

/** Why a page lacks a head, or the rollout of a layer, and what to do; "" where it is here. */
export function lackingInWords(carried: Carried | null, layer: number, head?: number): string {
  const lacks = (numbers: number[] | null | undefined, at?: number) =>
    numbers && at !== undefined && !numbers.includes(at);
  const name = lacks(carried?.layers, layer) ? "layer" : lacks(carried?.heads, head) ? "head" : null;
  if (!name) return "";
  const numbers = carried![`${name}s`]!;
  const has = numbers.length > 1 ? `s ${numbers.join(", ")}` : ` ${numbers[0]}`;
  return `This page has ${name}${has} alone; write it again with ${name === "layer" ? layer : head} in ${name}s=.`;
}
