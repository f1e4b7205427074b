// Another head, sentence or trace: the weights that are shown move to the new ones, in every picture alike.

import { type Tween, tween } from "../base/motion.ts";
import type { DisplayedHead } from "./displayed_head.ts";

const MOST = 4096; // weights that are moved one by one

/** A function that gives a head as it is shown in this frame, and asks for the next one while it moves. */
export function createMoving(redraw: () => void) {
  const motions = new Map<string, Tween>();

  const moving = (shown: DisplayedHead): DisplayedHead => {
    const { weights, entry } = shown;
    if (!weights || weights.length > MOST) return shown;
    const motion = motions.get(entry.kind) ?? tween();
    motions.set(entry.kind, motion);
    const values = motion.at(Array.from(weights));
    if (!motion.isMoving()) return shown;
    redraw();
    return {
      ...shown,
      weights: Float32Array.from(values),
      name: `${shown.name} moving ${performance.now()}`,
    };
  };
  /** Be at the next weights at once. */
  const settle = () => motions.clear();
  return Object.assign(moving, { settle });
}
