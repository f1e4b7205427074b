// A picture on a canvas: it is mounted in a place of the stage, and drawn in each frame that shows it.

import type { Snapshot } from "./snapshot.ts";
import { focusableCanvas } from "../base/controls.ts";
import { ariaGrid } from "../base/aria_grid.ts";
import type { Listen } from "../base/view.ts";
import type { Marks } from "./passage.ts";
import type { Room } from "./room.ts";

/** A picture in its place. */
export interface Picture {
  /** Draws a snapshot into a box of so many pixels. */
  draw: (snapshot: Snapshot, box: { width: number; height: number }) => void;
  /** Where the marks of weights are, if they can move to those of another picture. */
  marks?: Marks;
  close: () => void;
}

/** Puts a picture into a node of the page. */
export type Mount = (room: Room, node: HTMLElement) => Picture;

/** A canvas inside a node, what it tells screen readers, and listeners that end with it. */
export function addCanvas(room: Room, node: HTMLElement, label: string) {
  const canvas = focusableCanvas(node, label);
  const stops: (() => void)[] = [];
  const listen: Listen = (target, type, handler) => {
    target.addEventListener(type, handler);
    stops.push(() => target.removeEventListener(type, handler));
  };
  return {
    canvas,
    announce: ariaGrid(canvas),
    // As the listeners of `gestures.js` take it.
    view: { listen, redraw: () => room.frame.redraw() },
    close: () => {
      for (const stop of stops) stop();
    },
  };
}
