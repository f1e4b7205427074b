// Columns of words joined by arcs: where they stand, what is under a point, and how curves are drawn.

import type { Place } from "./linked_columns.ts";

const [LOWEST, LOW, HIGHEST] = [20, 26, 76]; // from one word to the next; below `LOW` there is little between them
const [BOX, LOW_BOX] = [0.7, 0.86]; // of that, a word's box
const TALLEST_BOX = 46;
const NUMBER = 54; // beside a word, for its weight
const PADDING = 26; // inside a box
const LEAST_GAP = 32; // between columns: an arc must be seen
const MOST_GAP = 300;
const THICKEST = 0.42; // an arc of weight 1, as a share of a box
const REACH = 6; // an arc answers this far from its middle
const STEPS = 24; // of an arc, for finding what is under a point

export interface ColumnsLayout {
  counts: number[];
  /** The left edge of each column, and its width. */
  xs: number[];
  widths: number[];
  pitch: number;
  box: number;
  /** Of all words; `shown` of it are in view, and the rest is scrolled to. */
  height: number;
  shown: number;
  width: number;
}

/** An arc as it is drawn: from a word of column `at` to one of the next. */
export interface Arc {
  at: number;
  left: number;
  right: number;
  /** The weight, or along a path the product of weights; of a difference its share of the scale. */
  value: number;
}

/**
 * Lay columns out.
 *
 * @param counts how many words each column has
 * @param longest the width of each column's longest word
 * @param room the width and height that there are
 */
export function columnsLayout(
  counts: number[],
  longest: number[],
  room: { width: number; height: number },
): ColumnsLayout {
  const most = Math.max(...counts);
  const fits = Math.floor(room.height / most);
  const pitch = fits < LOWEST ? LOW : Math.min(HIGHEST, fits);
  const nGaps = counts.length - 1;
  const widest = (room.width - Math.max(LEAST_GAP, room.width / 14) * nGaps) / counts.length;
  const wanted = longest.map((word) => Math.min(widest, word + NUMBER + PADDING));
  const taken = wanted.reduce((sum, width) => sum + width, 0);
  const gap = Math.min(MOST_GAP, (room.width - taken) / nGaps);
  const more = Math.max(0, (room.width - taken - gap * nGaps) / counts.length);
  const widths = wanted.map((width) => Math.floor(width + more));
  const xs: number[] = [];
  let x = 0;
  for (const width of widths) {
    xs.push(Math.round(x));
    x += width + gap;
  }
  const height = most * pitch;
  return {
    counts,
    xs,
    widths,
    pitch,
    box: Math.min(TALLEST_BOX, Math.floor(pitch * (pitch < LOW ? LOW_BOX : BOX))),
    height,
    shown: Math.min(height, room.height),
    width: room.width,
  };
}

/** The word under a point, or null. */
export function tokenAt({ counts, xs, widths, pitch }: ColumnsLayout, x: number, y: number): Place | null {
  const index = Math.floor(y / pitch);
  const column = xs.findIndex((left, at) => x >= left - 2 && x <= left + widths[at] + 2);
  return column >= 0 && index >= 0 && index < counts[column] ? { column, index } : null;
}

/** The words in view, as [first, last + 1] of `count`, when `top` is scrolled away. */
export function tokensInView({ pitch, shown }: ColumnsLayout, top: number, count: number): [number, number] {
  return [Math.min(count, Math.floor(top / pitch)), Math.min(count, Math.ceil((top + shown) / pitch))];
}

/** Whether an arc crosses the part in view: it never leaves the rows of its words. */
export function arcInView({ pitch, shown }: ColumnsLayout, top: number, { left, right }: Arc): boolean {
  const [first, last] = [Math.min(left, right), Math.max(left, right)];
  return first * pitch < top + shown && (last + 1) * pitch > top;
}

/** The four points of a curve (a cubic Bézier): x and y of each. */
export type Curve = [number, number, number, number, number, number, number, number];

/** The curve of an arc. */
export function curveOf({ xs, widths, pitch }: ColumnsLayout, { at, left, right }: Arc): Curve {
  const [from, to] = [xs[at] + widths[at], xs[at + 1]];
  const [start, end] = [(left + 0.5) * pitch, (right + 0.5) * pitch];
  const bend = (to - from) * 0.5;
  return [from, start, from + bend, start, to - bend, end, to, end];
}

/** A point of a curve, `t` from 0 to 1. */
export function pointOf([x0, y0, x1, y1, x2, y2, x3, y3]: Curve, t: number): [number, number] {
  const s = 1 - t;
  const [a, b, c, d] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
  return [a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3];
}

/** The strongest of some lines under a point, or null; `half` is half the width of the line. */
export function curveAt<Line extends { curve: Curve; value: number; half?: number }>(
  lines: readonly Line[],
  x: number,
  y: number,
): Line | null {
  let best: Line | null = null;
  for (const line of lines) {
    if (best && Math.abs(best.value) >= Math.abs(line.value)) continue;
    if (distanceTo(line.curve, x, y) <= Math.max(REACH, line.half ?? 0)) best = line;
  }
  return best;
}

function distanceTo(curve: Curve, x: number, y: number): number {
  let [least, [fromX, fromY]] = [Number.POSITIVE_INFINITY, pointOf(curve, 0)];
  for (let step = 1; step <= STEPS; step++) {
    const [toX, toY] = pointOf(curve, step / STEPS);
    const [dx, dy] = [toX - fromX, toY - fromY];
    const along = Math.min(1, Math.max(0, ((x - fromX) * dx + (y - fromY) * dy) / (dx * dx + dy * dy || 1)));
    least = Math.min(least, Math.hypot(fromX + along * dx - x, fromY + along * dy - y));
    [fromX, fromY] = [toX, toY];
  }
  return least;
}

/** How thick an arc is. */
export const thickness = (value: number, { box }: ColumnsLayout): number =>
  Math.max(1.5, Math.min(1, Math.abs(value)) * box * THICKEST);

/** The strongest arc under a point, or null. */
export function arcAt(layout: ColumnsLayout, arcs: readonly Arc[], x: number, y: number): Arc | null {
  const near = arcs.filter(({ at }) => x >= layout.xs[at] && x <= layout.xs[at + 1]);
  const half = (arc: Arc) => thickness(arc.value, layout) / 2;
  const lines = near.map((arc) => ({ arc, curve: curveOf(layout, arc), value: arc.value, half: half(arc) }));
  return curveAt(lines, x, y)?.arc ?? null;
}

/** A place scrolled into view: where the scroll has to be. */
export function scrollTo({ pitch, shown }: ColumnsLayout, top: number, index: number): number {
  const at = index * pitch;
  return at >= top && at + pitch <= top + shown ? top : Math.max(0, at - shown / 2);
}

const DOTS = 3; // that flow along a curve
const SHORT = 44; // pixels of a curve on which there is room for one

/** Draw a curve. */
export function strokeCurve(
  context: CanvasRenderingContext2D,
  [x0, y0, x1, y1, x2, y2, x3, y3]: Curve,
  colour: string,
  width: number,
): void {
  [context.strokeStyle, context.lineWidth] = [colour, width];
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x1, y1, x2, y2, x3, y3);
  context.stroke();
}

/** Draw dots on their way along a curve; `share` of the way is done. */
export function drawDots(
  context: CanvasRenderingContext2D,
  curve: Curve,
  share: number,
  { colour, radius, isTurned = false }: { colour: string; radius: number; isTurned?: boolean },
): void {
  const count = Math.hypot(curve[6] - curve[0], curve[7] - curve[1]) < SHORT ? 1 : DOTS;
  context.fillStyle = colour;
  for (let dot = 0; dot < count; dot++) {
    const t = share * (1 + (count - 1) * 0.15) - dot * 0.15;
    if (t < 0 || t > 1) continue;
    const [x, y] = pointOf(curve, isTurned ? 1 - t : t);
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fill();
  }
}
