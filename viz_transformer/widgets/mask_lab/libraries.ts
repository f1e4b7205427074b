// What each library makes of a row of the mask, as it is sent and as it is told.

import { decodeWeights } from "../base/bytes.ts";

/** What a way to compute attention makes of a row, or why it refuses. */
interface Library {
  name: string;
  short: string;
  /** How a mask is given to it. */
  takes: string;
  error: string;
  weights: number[];
  output: number[];
}

/** As they are sent; arrays are bytes. */
export interface LibrariesReply {
  libraries: (Omit<Library, "weights" | "output"> & {
    weights: DataView;
    output: DataView;
    shapes: [number, number, number][];
  })[];
}

/** Row `q` of sentence `b` in all libraries of a reply. */
export function readLibraries(reply: LibrariesReply, b: number, q: number): Library[] {
  return reply.libraries.map(({ weights, output, shapes, ...library }) => {
    const row = (bytes: DataView, [, rows, size] = [0, 0, 0]) =>
      Array.from(decodeWeights(bytes, "float32").slice((b * rows + q) * size, (b * rows + q + 1) * size));
    if (library.error) return { ...library, weights: [], output: [] };
    return { ...library, weights: row(weights, shapes[0]), output: row(output, shapes[1]) };
  });
}

/** One library's row in a word or two, compared with the first library's. */
export function rowVerdict(weights: readonly number[], first: readonly number[] | null): string {
  if (weights.some(Number.isNaN)) return "NaN";
  if (weights.every((weight) => weight === 0)) return "zeros";
  const even = 1 / weights.length;
  const isEmpty = !first || first.every((weight) => weight === 0);
  if (isEmpty && weights.every((weight) => Math.abs(weight - even) < 1e-6)) return "uniform, padding too";
  const apart = first ? Math.max(...weights.map((weight, k) => Math.abs(weight - (first[k] ?? 0)))) : 0;
  return apart < 1e-5 ? "the same" : `differs by ${apart.toFixed(3)}`;
}
