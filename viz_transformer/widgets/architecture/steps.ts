// The steps of a sentence through a model's boxes; steps.py counts them in the same way.

import { indices } from "../base/scales.ts";
export interface Box {
  /** Where its module stands in the model, such as "encoder.0.self_attention". */
  key: string;
  /** Which of the parts it is. */
  part: string;
  stack: Stack;
  layer: number | null;
  /** How many numbers it learns. */
  parameters: number;
}

export type Stack = "encoder" | "decoder";

export interface Step {
  box: string;
  /** The word that flows through it; null where all words flow at once. */
  word: number | null;
}

/** How near the picture is, from the whole model to one head. */
export const DEPTHS = ["model", "layer", "block", "head"] as const;
export type Depth = (typeof DEPTHS)[number];

/** The encoder's boxes once, for all words; the decoder's for each of the `nTarget` words that it reads. */
export function stepsOf(boxes: readonly Box[], nTarget: number): Step[] {
  const keysOf = (stack: Stack) => boxes.filter((box) => box.stack === stack).map(({ key }) => key);
  const words = indices(nTarget);
  return [
    ...keysOf("encoder").map((box) => ({ box, word: null })),
    ...words.flatMap((word) => keysOf("decoder").map((box) => ({ box, word }))),
  ];
}

/** For how many words each box has been computed at a step, by the boxes' keys. */
export function rowsAt(steps: readonly Step[], step: number, nSource: number): Map<string, number> {
  return new Map(steps.slice(0, step + 1).map(({ box, word }) => [box, word === null ? nSource : word + 1]));
}

/** Where a click on a box leads: the time stays, unless the box has not been reached yet. */
export function stepToReach(steps: readonly Step[], step: number, key: string): number {
  return Math.max(
    step,
    steps.findIndex(({ box }) => box === key),
  );
}

/** The role of the chosen word: who attends, or of a decoder what is written; else what is read. */
export const roleOf = (box: Box) => (box.stack === "encoder" && !isAttention(box) ? "key" : "query");

/** Whether a box is an attention. */
export const isAttention = ({ part }: Box) => part.endsWith("attention");

/** The depth that a box allows: outside the layers there is only the whole model, and heads only in an attention. */
export function depthIn(box: Box, depth: string): Depth {
  const wanted = DEPTHS.find((each) => each === depth) ?? "model";
  if (box.layer === null) return "model";
  return DEPTHS.indexOf(wanted) > 1 && !isAttention(box) ? "layer" : wanted;
}

/** A chapter of the timeline, and what choosing it sets. */
export interface Chapter {
  name: string;
  step: number;
  box: string;
}

/** The chapters of a depth: the words written, or an encoder's layers; in a layer its boxes. */
export function chaptersOf(
  boxes: readonly Box[],
  steps: readonly Step[],
  depth: Depth,
  chosen: { box: Box; word: number; names: readonly string[]; partName: (box: Box) => string },
): Chapter[] {
  if (depth === "model" && chosen.names.length) {
    const box = boxes.at(-1)?.key ?? "";
    return chosen.names.map((name, word) => ({
      name,
      box,
      step: steps.findIndex((each) => each.box === box && each.word === word),
    }));
  }
  const own = boxes.filter((box) =>
    depth === "model" ? true : box.stack === chosen.box.stack && box.layer === chosen.box.layer,
  );
  return own.map((box) => {
    const word = box.stack === "decoder" ? chosen.word : null;
    const step = steps.findIndex((each) => each.box === box.key && each.word === word);
    const where = depth === "model" && box.layer !== null ? ` ${box.layer}` : "";
    return { name: `${chosen.partName(box)}${where}`, step, box: box.key };
  });
}
