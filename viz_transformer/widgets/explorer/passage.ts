// From one picture of a head to another: the mark of each weight moves from its old place to its new one.
//
// The pictures themselves are drawn as ever; marks in motion are on a canvas above them, which is there only
// as long as they move.

import { type Tween, tween } from "../base/motion.ts";
import { fitCanvas, zoomOf } from "../base/js/canvas.js";
import { colourOf } from "../base/js/colour.js";
import type { Curve } from "./columns.ts";
import type { DisplayedHead } from "./displayed_head.js";
import type { Picture } from "./mount.ts";
import type { Room } from "./room.ts";
import type { Snapshot } from "./snapshot.js";

const LEAST = 0.01; // a weight, or the share of the scale that a change is, below which its mark does not move
const MOST = 600; // marks
const MOST_WEIGHTS = 1 << 16; // of a head: where there are more, none can be followed
const SIZE = 10; // numbers of a mark
const THINNEST = 0.2; // pixels
const OPAQUE = 3; // the marks fade in the last third of their way
const BRIEF = 2; // the picture that is left fades in the first half
const WITH_ALL_KINDS: Snapshot["mode"][] = ["wall", "sentence", "linked"];

/** What stands for a weight: a curve, how thick it is (0: not drawn), and its place on the scale of colours. */
export type Mark = [...Curve, width: number, shade: number];

/** Where a picture has its marks: in units of the theme's scale from the corner of a node. */
export interface Marks {
  on: HTMLElement;
  of: (shown: DisplayedHead, query: number, key: number) => Mark | null;
}

type Box = [left: number, top: number, width: number, height: number];

/** A box as a mark: a line as thick as it is high. */
export function boxMark([x, y, width, height]: Box, shade: number): Mark {
  const middle = y + height / 2;
  return [x, middle, x + width / 3, middle, x + (2 * width) / 3, middle, x + width, middle, height, shade];
}

/** The place on the scale of colours of a weight, or of a difference up to a limit. */
export const shadeOf = (value: number, limit: number | null): number =>
  limit === null ? value : 0.5 + value / (2 * limit);

/** The places in a head of the weights whose marks move, the strongest last. */
export function moved({ weights, limit }: Pick<DisplayedHead, "weights" | "limit">): number[] {
  if (!weights || weights.length > MOST_WEIGHTS) return [];
  const least = LEAST * (limit ?? 1);
  const found: number[] = [];
  weights.forEach((weight, at) => {
    if (Math.abs(weight) >= least) found.push(at);
  });
  return found.sort((a, b) => Math.abs(weights[a]) - Math.abs(weights[b])).slice(-MOST);
}

/** The marks of some heads where `place` has them, by the head's name and the weight's place in it. */
export function marksOf(heads: DisplayedHead[], place: Marks["of"]): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  for (const shown of heads)
    for (const at of moved(shown)) {
      const mark = place(shown, Math.floor(at / shown.cols), at % shown.cols);
      if (mark) marks.set(`${at} ${shown.name}`, mark);
    }
  return marks;
}

/** A mark on its way, in pixels: `scale` of them are a unit, and the corner of its node is at x and y. */
export function movedBy(mark: Mark, scale: number, x: number, y: number): Mark {
  return mark.map((value, at) => {
    if (at === SIZE - 1) return value;
    return value * scale + (at === SIZE - 2 ? 0 : at % 2 ? y : x);
  }) as Mark;
}

/** Some marks and where they go. */
interface Journey {
  names: string[];
  to: number[];
  motion: Tween;
}

/** A journey of the marks that are in both pictures, or null; a number before them goes from 0 to 1. */
export function journeyOf(
  from: Map<string, Mark>,
  to: Map<string, Mark>,
  motion: Tween = tween(),
): Journey | null {
  const names = Array.from(to.keys()).filter((name) => from.has(name));
  if (!names.length) return null;
  motion.at([0, ...names.flatMap((name) => from.get(name)!)]);
  return { names, to: [1, ...names.flatMap((name) => to.get(name)!)], motion };
}

/** The marks between two pictures. */
export class Passage {
  #room: Room;
  #mode: Snapshot["mode"] | null = null;
  #from: { marks: Map<string, Mark>; heads: DisplayedHead[] } | null = null;
  #journey: Journey | null = null;
  #left: { on: HTMLElement; box: Box } | null = null; // the picture that is left, and where it was
  #canvas: HTMLCanvasElement | null = null;

  constructor(room: Room) {
    this.#room = room;
  }

  /** Before a frame: if it shows another picture, remember where the marks of this one are. */
  leave(snapshot: Snapshot, picture: Picture | null): void {
    const { mode, shown, entries, pictureOf } = snapshot;
    if (mode === this.#mode) return;
    const isWide = [mode, this.#mode].every((each) => each && WITH_ALL_KINDS.includes(each));
    this.#mode = mode;
    if (!picture?.marks) return;
    const heads = isWide ? Array.from(entries.keys(), pictureOf) : [shown];
    const marks = this.#marksIn(picture.marks, heads);
    this.#left = { on: picture.marks.on, box: this.#boxOf(picture.marks.on) };
    const now = this.#journey?.motion.at(this.#journey.to) ?? [];
    this.#journey?.names.forEach((name, at) => {
      if (marks.has(name)) marks.set(name, now.slice(1 + at * SIZE, 1 + (at + 1) * SIZE) as Mark);
    });
    this.#from = { marks, heads };
    this.#room.moving.settle();
  }

  /** After a frame: set out to the picture that it shows, or go on. */
  follow(picture: Picture | null): void {
    if (this.#from) {
      const { marks, heads } = this.#from;
      this.#from = null;
      this.#journey = picture?.marks ? journeyOf(marks, this.#marksIn(picture.marks, heads)) : null;
    }
    const [share, ...values] = this.#journey?.motion.at(this.#journey.to) ?? [1];
    if (share < 1) this.#draw(share, values);
    else this.#end();
  }

  #marksIn({ on, of }: Marks, heads: DisplayedHead[]): Map<string, Mark> {
    const { scale } = this.#room.theme;
    const [x, y] = this.#boxOf(on);
    const marks = marksOf(heads, of);
    for (const [name, mark] of marks) marks.set(name, movedBy(mark, scale, x, y));
    return marks;
  }

  /** Where a node is in the zones. */
  #boxOf(node: HTMLElement): Box {
    const [inner, outer] = [node, this.#zones].map((each) => each.getBoundingClientRect());
    const { left, top, width, height } = inner;
    return [left - outer.left, top - outer.top, width, height].map((pixels) => pixels / zoomOf(node)) as Box;
  }

  get #zones(): HTMLElement {
    return this.#room.place!.closest<HTMLElement>(".vt-zones")!;
  }

  #draw(share: number, values: number[]): void {
    const { theme, frame, place } = this.#room;
    if (!this.#canvas) {
      this.#canvas = document.createElement("canvas");
      this.#canvas.className = "vt-passage";
      this.#canvas.setAttribute("aria-hidden", "true");
      this.#zones.append(this.#canvas);
    }
    place!.style.setProperty("--vt-arrived", String(share));
    const { clientWidth, clientHeight } = this.#zones;
    const context = fitCanvas(this.#canvas, clientWidth, clientHeight);
    const { limit } = this.#room.snapshot().shown;
    const stops = limit === null ? theme.stops : theme.signedStops;
    const { on, box } = this.#left!;
    if (on instanceof HTMLCanvasElement && on.width) {
      context.save();
      context.beginPath();
      context.rect(...this.#boxOf(place!)); // the wall was larger, and must not cover what stands beside the stage now
      context.clip();
      context.globalAlpha = Math.max(0, 1 - BRIEF * share);
      context.drawImage(on, ...box);
      context.restore();
    }
    context.globalAlpha = Math.min(1, OPAQUE * (1 - share));
    for (let at = 0; at < values.length; at += SIZE) {
      const [x0, y0, x1, y1, x2, y2, x3, y3, width, shade] = values.slice(at, at + SIZE);
      if (width < THINNEST) continue; // a canvas takes no width of 0
      context.strokeStyle = `rgb(${colourOf(shade, stops)})`;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(x1, y1, x2, y2, x3, y3);
      context.stroke();
    }
    frame.redraw();
  }

  #end(): void {
    [this.#journey, this.#left] = [null, null];
    this.#canvas?.remove();
    this.#canvas = null;
    this.#room.place?.style.removeProperty("--vt-arrived");
  }
}
