// Where the axes of a chart stand, and which of their values are named. No DOM.

import { makeScale, powerTicks, roundTicks, type Scale, tickText } from "./scales.ts";
import { elide, visible } from "./text.ts";

/** One axis: numbers from one value to another, or names side by side. */
export interface Axis {
  /** The values at both ends; by default 0 and 1, and of names half a place beyond the first and the last. */
  domain?: [number, number];
  /** Instead of numbers: a place for each, 0, 1, 2 … */
  names?: readonly string[];
  /** The base of a logarithmic axis. */
  log?: number;
  /** The values named; by default round ones, as many as have room. */
  ticks?: readonly number[];
  /** How a tick is written. */
  text?: (value: number) => string;
  /** What the axis counts, with its unit; only of the horizontal one, the chart's title names the other. */
  label?: string;
  /** Pale lines across at its ticks. */
  isRuled?: boolean;
}

interface Tick {
  value: number;
  text: string;
  pixel: number;
}

/** A chart laid out in pixels. */
export interface Plot {
  x: Scale;
  y: Scale;
  xTicks: Tick[];
  yTicks: Tick[];
  /** Whether the names below are turned by a quarter. */
  isTurned: boolean;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const [GAP, MARGIN] = [8, 14]; // pixels between ticks and plot, and around the plot: half a knob
const LONGEST = 7; // of a name that is turned, in heights of its text

/**
 * Lay out a chart.
 *
 * @param room its box in pixels
 * @param size the height of its text in pixels
 * @param measure the width of a text of that size
 * @param least pixels that the vertical axis leaves at the left, so that charts stand below one another
 * @param above pixels that the plot leaves above itself
 */
export function layOut(
  axes: { x: Axis; y: Axis },
  room: { width: number; height: number },
  size: number,
  measure: (text: string) => number,
  least = 0,
  above = 0,
): Plot {
  const { x, y } = axes;
  const names = x.names?.map(visible) ?? [];
  const upright = ticksOf(y, (room.height - above - 3 * size) / (2.4 * size)).map((value) => named(y, value));
  const left = Math.max(least, MARGIN, ...upright.map(([text]) => measure(text) + GAP));
  const right = room.width - MARGIN;
  const widest = Math.max(0, ...names.map(measure));
  const isTurned = names.length > 0 && widest > (right - left) / names.length - GAP;
  const below = isTurned ? Math.min(widest, LONGEST * size) : x.ticks?.length === 0 ? 0 : 1.4 * size;
  const bottom = room.height - below - GAP;
  const scales = {
    x: makeScale(domainOf(x), [left, right], { log: Boolean(x.log) }),
    y: makeScale(domainOf(y), [bottom, MARGIN + above], { log: Boolean(y.log) }),
  };
  const across = ticksOf(x, names.length || (right - left) / (4 * size)).map((value) => named(x, value));
  const band = isTurned ? LONGEST * size : names.length ? (right - left) / names.length - GAP : 8 * size;
  const xTicks = across.map(([text, value]) => ({
    ...{ value, pixel: scales.x.pixel(value) },
    text: elide(text, Math.max(band, size), measure),
  }));
  return {
    ...scales,
    xTicks: apart(xTicks, isTurned ? () => 1.2 * size : measure, room.width),
    yTicks: upright.map(([text, value]) => ({ value, text, pixel: scales.y.pixel(value) })),
    ...{ isTurned, left, right, top: MARGIN + above, bottom },
  };
}

/** Ticks of which none touches the one before it, or an edge. */
function apart(ticks: Tick[], widthOf: (text: string) => number, width: number): Tick[] {
  let free = 0;
  return ticks.filter(({ text, pixel }) => {
    const half = widthOf(text) / 2;
    if (pixel - half < free || pixel + half > width) return false;
    free = pixel + half + GAP;
    return true;
  });
}

function ticksOf(axis: Axis, most: number): readonly number[] {
  const { names, log, ticks } = axis;
  if (ticks) return ticks;
  if (names) return names.map((_, place) => place);
  return log ? powerTicks(domainOf(axis), most, log) : roundTicks(domainOf(axis), most);
}

const named = ({ names, text = tickText }: Axis, value: number): [string, number] => [
  names ? visible(names[value] ?? "") : text(value),
  value,
];

function domainOf({ domain = [0, 1], names }: Axis): [number, number] {
  return names ? [-0.5, names.length - 0.5] : domain;
}

/** The path of a line through points; NaN leaves a gap. */
export function linePath(
  { x, y }: Pick<Plot, "x" | "y">,
  xs: ArrayLike<number>,
  ys: ArrayLike<number>,
): string {
  let [path, isDrawing] = ["", false];
  for (let at = 0; at < xs.length; at++) {
    const value = ys[at] ?? Number.NaN;
    if (Number.isNaN(value)) isDrawing = false;
    else {
      path += `${isDrawing ? "L" : "M"}${round(x.pixel(xs[at]))} ${round(y.pixel(value))}`;
      isDrawing = true;
    }
  }
  return path;
}

const round = (pixel: number) => Math.round(pixel * 10) / 10;
