// What each library makes of a row of the mask, and the Python code that makes the mask; a test runs it.

import { decodeWeights } from "../base/bytes.ts";
import type { ComposedMask, MaskPart } from "./composition.ts";

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

export type Package = "ours" | "torch";

function partExpression({ name, of, shape }: MaskPart, { queries, keys }: ComposedMask, library: Package) {
  const tril = (rows?: number) => `torch.ones(${rows}, ${keys}, dtype=torch.bool).tril()`;
  const isOurs = library === "ours";
  if (name === "padding") {
    return isOurs ? `padding_mask(${of}_ids, pad_id)` : `(${of}_ids != pad_id)[:, None, None, :]`;
  }
  if (name === "causal") {
    return isOurs && queries === keys ? `causal_mask(${keys})` : `${tril(queries)}[None, None]`;
  }
  // [length, length], read as [batch, key]
  const whole = isOurs && shape[0] === keys ? `causal_mask(${keys})[0, 0]` : tril(shape[0]);
  return `${whole}[:, None, None, :]`;
}

/**
 * Lines of Python that end with the mask in `mask` and, in another convention, with `attn_mask`. They use
 * `source_ids` and `target_ids`, [batch, position], and `pad_id`.
 */
export function maskCode(composed: ComposedMask, polarity: string, library: Package): string[] {
  const { parts, isInverted, painted, isCopied } = composed;
  const size = `${composed.sentences}, 1, ${composed.queries}, ${composed.keys}`;
  const written = parts.map((part) => partExpression(part, composed, library));
  const joined = written.join(" & ") || `torch.ones(${size}, dtype=torch.bool)`;
  const shapes = parts.map((part) => `[${part.shape.join(", ")}]`).join(" & ");
  const lines = [`mask = ${isInverted ? `~(${joined})` : joined}`];
  if (parts.length > 1) lines.unshift(`# ${shapes} → [${size}]`);
  if (isCopied) lines.unshift("target_ids = source_ids  # the mistake: not the target shifted by one");
  if (painted.length) {
    const places = (axis: number) => `[${painted.map((cell) => cell[axis]).join(", ")}]`;
    const values = painted.map((cell) => (cell[3] ? "True" : "False")).join(", ");
    lines.push(`mask = mask.expand(${size}).clone()`);
    lines.push(`mask[${places(0)}, 0, ${places(1)}, ${places(2)}] = torch.tensor([${values}])`);
  }
  if (polarity === "may_not") {
    const turned = library === "ours" ? "to_torch_mask(mask)" : "~mask";
    lines.push(`attn_mask = ${turned}  # True = may not attend`);
  } else if (polarity === "additive") {
    lines.push(
      'attn_mask = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))  # added to the scores',
    );
  }
  return lines;
}
