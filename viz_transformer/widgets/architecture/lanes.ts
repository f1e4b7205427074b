// Where everything stands: a word is a lane that never moves, and depth runs from left to right.

import { type Box, type Depth, isAttention, type Stack } from "./steps.ts";

/** A part of the picture, between two depths. */
export interface Column {
  kind: "strip" | "layer" | "attention" | "node" | "feed_forward" | "head";
  stack: Stack;
  /** Of the box that it shows, or the last of its layer. */
  key: string;
  layer: number | null;
  head?: number;
  title: string;
  left: number;
  width: number;
}

export interface Lanes {
  width: number;
  height: number;
  lane: number;
  unit: number;
  /** Where the words end at the left, and begin at the right. */
  left: number;
  right: number;
  /** The first lane's upper edge of each stack. */
  top: Record<Stack, number>;
  count: Record<Stack, number>;
  columns: Column[];
}

interface Asked {
  boxes: readonly Box[];
  depth: Depth;
  box: Box;
  nHeads: number;
  count: Record<Stack, number>;
  /** Whether the last stack writes words. */
  writes: boolean;
  width: number;
  height: number;
  unit: number;
  /** The width of the widest word, in units. */
  widest: number;
  partName: (box: Box) => string;
}

type Item = Omit<Column, "left" | "width"> & { wide: number };

const LEAST_LANE = 14; // pixels: a line of the smallest text
const MOST_LANE = 3.2; // units

/** The lanes and the columns of a depth. */
export function layOut(asked: Asked): Lanes {
  const { unit, width, count, writes } = asked;
  const heads = (count.encoder ? 1.7 : 0) + (count.decoder ? 1.7 : 0) + (count.decoder ? 1.4 : 0);
  const n = Math.max(1, count.encoder + count.decoder);
  const lane = Math.max(LEAST_LANE, Math.min(MOST_LANE * unit, (asked.height - heads * unit) / n));
  const words = Math.min(0.22 * width, (asked.widest + 1.6) * unit);
  const isNarrow = width < 30 * unit;
  const right = writes && !isNarrow ? width - words : width - 4;
  const top = { encoder: 1.7 * unit, decoder: (count.encoder ? 3.4 : 1.7) * unit + count.encoder * lane };
  const lanes = { width, height: heads * unit + n * lane, lane, unit, left: words, right, top, count };
  const items = itemsOf(asked);
  const natural = items.reduce((sum, { wide }) => sum + wide + GAP, GAP);
  const scale = (right - words) / natural;
  let next = words + GAP * scale;
  const columns = items.map(({ wide, ...item }) => {
    const column = { ...item, left: next, width: wide * scale };
    next += (wide + GAP) * scale;
    return column;
  });
  return { ...lanes, columns };
}

const GAP = 0.8; // between columns, in units
const STRIP = 3;

function itemsOf({ boxes, depth, box, nHeads, partName }: Asked): Item[] {
  if (depth === "model") return itemsOfModel(boxes);
  const own = boxes.filter((each) => each.stack === box.stack && each.layer === box.layer);
  const strip = (key: string, title: string): Item => ({
    kind: "strip",
    stack: box.stack,
    key,
    layer: null,
    title,
    wide: STRIP + 1,
  });
  if (depth === "layer")
    return [
      strip(keyBefore(boxes, own[0]), "x"),
      ...own.map((each): Item => {
        const kind = isAttention(each) ? "attention" : each.part === "feed_forward" ? "feed_forward" : "node";
        const wide = kind === "attention" ? 2.6 * nHeads + 1 : kind === "node" ? 2.4 : 4;
        return { kind, stack: each.stack, key: each.key, layer: each.layer, title: partName(each), wide };
      }),
      strip(lastVector(own), "x"),
    ];
  const columns = Array.from(
    { length: nHeads },
    (_, head): Item => ({
      kind: "head",
      stack: box.stack,
      key: box.key,
      layer: box.layer,
      head,
      title: `head ${head}`,
      wide: 7,
    }),
  );
  return [strip(keyBefore(boxes, box), "x"), ...columns, strip(box.key, "joined · W_O")];
}

/** The whole model: vectors that come in, its layers, what the encoder gives to the decoder. */
function itemsOfModel(boxes: readonly Box[]): Item[] {
  const stacks = (["encoder", "decoder"] as const).filter((stack) =>
    boxes.some((box) => box.stack === stack),
  );
  return stacks.flatMap((stack) => {
    const own = boxes.filter((box) => box.stack === stack);
    const layers = [...new Set(own.map(({ layer }) => layer))].filter((layer) => layer !== null);
    const first = own.filter(({ part }) => part === "embedding" || part === "positions").at(-1);
    const begin: Item = {
      kind: "strip",
      stack,
      key: first?.key ?? "",
      layer: null,
      title: "embedding",
      wide: STRIP,
    };
    const drawn = layers.map((layer): Item => {
      const inLayer = own.filter((box) => box.layer === layer);
      const wide = inLayer.some(({ part }) => part === "cross_attention") ? 10 : 7.5;
      return { kind: "layer", stack, key: inLayer.at(-1)?.key ?? "", layer, title: `layer ${layer}`, wide };
    });
    const memory: Item = { ...begin, key: lastVector(own), title: "memory" };
    const isRead = stack === "encoder" && stacks.length > 1;
    // The decoder's vectors come in at the left too, in lanes of their own: they share the first column.
    return [
      ...(stack === "decoder" && stacks.length > 1 ? [] : [begin]),
      ...drawn,
      ...(isRead ? [memory] : []),
    ];
  });
}

/** The box of a stack or a layer whose vectors go on from there. */
function lastVector(boxes: readonly Box[]): string {
  return boxes.filter(({ part }) => part !== "output" && part !== "tokens").at(-1)?.key ?? "";
}

/** The box whose vectors come into another one. */
export function keyBefore(boxes: readonly Box[], box: Box | undefined): string {
  const before = box ? boxes.slice(0, boxes.indexOf(box)) : [];
  return before.filter((each) => each.stack === box?.stack && goesOn(each)).at(-1)?.key ?? "";
}

const goesOn = ({ part }: Box) =>
  !isAttention({ part } as Box) && part !== "feed_forward" && part !== "tokens";

/** The middle of a lane. */
export function laneOf({ top, lane }: Lanes, stack: Stack, row: number): number {
  return top[stack] + (row + 0.5) * lane;
}
