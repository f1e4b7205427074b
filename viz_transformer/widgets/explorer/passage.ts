// From one picture of a head to another: the mark of each weight moves from its old place to its new one.
//
// Marks in motion are on a canvas above the new picture, which is there only as long as they move.

import { type Box, fitCanvas, zoomOf } from "../base/canvas.ts";
import { colourOf } from "../base/colour.ts";
import { element } from "../base/elements.ts";
import { type Tween, tween } from "../base/motion.ts";
import { type Curve, strokeCurve } from "./columns.ts";
import type { DisplayedHead } from "./displayed_head.ts";
import type { Picture, Room } from "./room.ts";
import type { Snapshot } from "./snapshot.ts";

const LEAST = 0.01; // a weight, or the share of the scale that a change is, below which its mark does not move
const MOST = 600; // marks
const MOST_WEIGHTS = 1 << 16; // of a head: where there are more, none can be followed
const SIZE = 10; // numbers of a mark
const THINNEST = 0.2; // pixels
const [BRIEF, OPAQUE] = [2, 3]; // the picture that is left fades in the first half, the marks in the last third
const WITH_ALL_KINDS: Snapshot["mode"][] = ["wall", "sentence", "linked"];

/** What stands for a weight: a curve, how thick it is (0: not drawn), and its place on the scale of colours. */
export type Mark = [...Curve, width: number, shade: number];

/** Marks by the head's name and the weight's place in it. */
type Marked = Map<string, Mark>;

/** Where a picture has its marks: in units of the theme's scale from the corner of a node. */
export interface Marks {
  on: HTMLElement;
  of: (shown: DisplayedHead, query: number, key: number) => Mark | null;
}

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

/** The marks of some heads, as `place` has them. */
export function marksOf(heads: DisplayedHead[], place: Marks["of"]): Marked {
  return new Map(
    heads.flatMap((shown) =>
      moved(shown).flatMap((at): [string, Mark][] => {
        const mark = place(shown, Math.floor(at / shown.cols), at % shown.cols);
        return mark ? [[`${at} ${shown.name}`, mark]] : [];
      }),
    ),
  );
}

/** A mark in pixels: `scale` of them are a unit, and the corner of its node is at x and y. */
export function movedBy(mark: Mark, scale: number, x: number, y: number): Mark {
  const corner = [x, y, x, y, x, y, x, y, 0];
  return mark.map((value, at) => (at < corner.length ? value * scale + corner[at] : value)) as Mark;
}

/** Some marks and where they go. */
interface Journey {
  names: string[];
  to: number[];
  motion: Tween;
}

/** A journey of the marks that are in both pictures, or null; a number before them goes from 0 to 1. */
export function journeyOf(from: Marked, to: Marked, motion: Tween = tween()): Journey | null {
  const names = Array.from(to.keys()).filter((name) => from.has(name));
  if (!names.length) return null;
  motion.at([0, ...names.flatMap((name) => from.get(name)!)]);
  return { names, to: [1, ...names.flatMap((name) => to.get(name)!)], motion };
}

/** A picture that is left: where it was, and its marks; new until the next one is drawn. */
interface Left {
  on: HTMLElement;
  box: Box;
  marks: Marked;
  heads: DisplayedHead[];
  isNew: boolean;
}

/** The marks between two pictures. */
export class Passage {
  #room: Room;
  #mode: Snapshot["mode"] | null = null;
  #words = ""; // of the latest frame
  #left: Left | null = null;
  #journey: Journey | null = null;
  #shown: HTMLElement | null = null; // the new picture, which comes into sight meanwhile
  #canvas: HTMLCanvasElement | null = null;
  #frame = 0;

  constructor(room: Room) {
    this.#room = room;
  }

  /** Before a frame: if it shows another picture, remember where the marks of this one are. */
  leave({ mode, shown, entries, pictureOf }: Snapshot, picture: Picture | null): void {
    const words = [shown.queries, shown.keys].join("\n");
    const isOther = words !== this.#words;
    this.#words = words;
    if (mode === this.#mode) return;
    const isWide = [mode, this.#mode].every((each) => each && WITH_ALL_KINDS.includes(each));
    this.#mode = mode;
    if (!picture?.marks || isOther) return; // the marks of other words are nowhere in this picture
    const heads = isWide ? Array.from(entries.keys(), pictureOf) : [shown];
    const marks = this.#marksIn(picture.marks, heads);
    const now = this.#journey?.motion.at(this.#journey.to) ?? [];
    this.#journey?.names.forEach((name, at) => {
      if (marks.has(name)) marks.set(name, now.slice(1 + at * SIZE, 1 + (at + 1) * SIZE) as Mark);
    });
    const { on } = picture.marks;
    this.#left = { on, box: this.#boxOf(on), marks, heads, isNew: true };
    this.#room.moving.settle();
  }

  /** After a frame: if it shows another picture, set out to that. */
  follow(picture: Picture | null): void {
    if (!this.#left?.isNew) return;
    this.#left.isNew = false;
    const { marks, heads } = this.#left;
    this.#shown = picture?.marks?.on ?? null;
    this.#journey = picture?.marks ? journeyOf(marks, this.#marksIn(picture.marks, heads)) : null;
    cancelAnimationFrame(this.#frame);
    this.#step(this.#boxOf(this.#room.place!));
  }

  /** Draw the marks alone, as the picture beneath them stands still: `place` is its box. */
  #step(place: Box): void {
    const [share, ...values] = this.#journey?.motion.at(this.#journey.to) ?? [1];
    if (share < 1) {
      this.#draw(share, values, place);
      this.#frame = requestAnimationFrame(() => this.#step(place));
    } else this.end();
  }

  #marksIn({ on, of }: Marks, heads: DisplayedHead[]): Marked {
    const [x, y] = this.#boxOf(on);
    const marks = marksOf(heads, of);
    for (const [name, mark] of marks) marks.set(name, movedBy(mark, this.#room.theme.scale, x, y));
    return marks;
  }

  #boxOf(node: HTMLElement): Box {
    const [inner, outer] = [node, this.#zones].map((each) => each.getBoundingClientRect());
    const { left, top, width, height } = inner;
    const zoom = zoomOf(node);
    return [(left - outer.left) / zoom, (top - outer.top) / zoom, width / zoom, height / zoom];
  }

  get #zones(): HTMLElement {
    return this.#room.place!.closest<HTMLElement>(".vt-zones")!;
  }

  #draw(share: number, values: number[], place: Box): void {
    const { on, box, heads } = this.#left!;
    this.#canvas ??= element(this.#zones, "canvas", "vt-passage", { "aria-hidden": "true" });
    this.#shown!.style.opacity = String(share);
    const context = fitCanvas(this.#canvas, this.#zones.clientWidth, this.#zones.clientHeight);
    context.globalAlpha = Math.max(0, 1 - BRIEF * share);
    const isInside = box[0] > place[0] - 1; // the wall was larger, and would cover what stands beside the stage
    if (on instanceof HTMLCanvasElement && on.width && isInside) context.drawImage(on, ...box);
    context.globalAlpha = Math.min(1, OPAQUE * (1 - share));
    const { stops, signedStops } = this.#room.theme;
    for (let at = 0; at < values.length; at += SIZE) {
      const mark = values.slice(at, at + SIZE);
      const [width, shade] = mark.splice(8);
      if (width < THINNEST) continue; // a canvas takes no width of 0
      const colour = `rgb(${colourOf(shade, heads[0].limit === null ? stops : signedStops)})`;
      strokeCurve(context, mark as Curve, colour, width);
    }
  }

  /** Be there at once. */
  end(): void {
    cancelAnimationFrame(this.#frame);
    [this.#journey, this.#left] = [null, null];
    if (!this.#canvas) return;
    this.#canvas.remove();
    this.#canvas = null;
    this.#shown!.style.opacity = "";
  }
}
