// A picture on a canvas: it is mounted in a place of the stage, and drawn in each frame that shows it.

import { addCanvas } from "../base/interactive_canvas.ts";
import type { Marks } from "./passage.ts";
import type { Room } from "./room.ts";
import type { Snapshot } from "./snapshot.ts";

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

/** A canvas of the explorer. */
export const addRoomCanvas = (room: Room, node: HTMLElement, label: string) =>
  addCanvas(node, label, () => room.frame.redraw());
