// Each mask as a box with its shape: along its axes of length 1 it is stretched.

import type { ComposedMask } from "./composition.ts";

const NAMES = { padding: "padding", causal: "look-ahead", causal_as_padding: "look-ahead, as padding" };

export interface Box {
  name: string;
  shape: string;
  /** How it is stretched or made, in words. */
  note: string;
  /** What of it is not stretched. */
  own: { sheets: number; rows: number };
  at: (b: number, q: number, k: number) => boolean;
}

/** The boxes to draw: the parts and the mask that they make. */
export function shapeBoxes(composed: ComposedMask, polarity: string): Box[] {
  const { sentences: B, queries: Q, keys: K, parts, may, isInverted, painted } = composed;
  const boxes = parts.map(({ name, shape, at }): Box => {
    const [overBatch, overQuery] = [shape[0] === 1, shape[2] === 1];
    const axes = [overBatch && "sentences", overQuery && "queries"].filter(Boolean);
    const torchs = name === "causal" ? `attn_mask [${Q}, ${K}]` : `key_padding_mask [${shape[0]}, ${K}]`;
    return {
      name: NAMES[name],
      shape: polarity === "may_not" ? torchs : `[${shape.join(", ")}]`,
      note: axes.length ? `the same for all ${axes.join(" and ")}` : "",
      own: { sheets: overBatch ? 1 : B, rows: overQuery ? 1 : Q },
      at,
    };
  });
  const steps = [
    parts.length > 1 && "joined by &",
    isInverted && "inverted by ~",
    painted.length > 0 && "painted",
  ];
  return [
    ...boxes,
    {
      name: "mask",
      shape: `[${B}, 1, ${Q}, ${K}]`,
      note: steps.filter(Boolean).join(", "),
      own: { sheets: B, rows: Q },
      at: (b, q, k) => may[b]?.[q]?.[k] ?? false,
    },
  ];
}
