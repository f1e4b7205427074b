// The motion of numbers: from what is shown to what is chosen, interruptible, and off where motion is reduced.

const MS = 350;

/** Numbers that move to their new values. */
export interface Tween {
  /** The numbers of this frame on their way to `target`; a list of another length is there at once. */
  at: (target: readonly number[], now?: number) => number[];
  /** Whether they are still on their way. */
  isMoving: () => boolean;
  /** Be at the next target at once, as while something is dragged. */
  jump: () => void;
}

/** Start with numbers that stand still. */
export function tween(isReduced: () => boolean = prefersReducedMotion): Tween {
  let [from, to, begun]: [number[], number[], number] = [[], [], Number.NEGATIVE_INFINITY];
  let shown: number[] = [];
  let [moving, jumps] = [false, false];

  function at(target: readonly number[], now = performance.now()): number[] {
    if (target.length !== to.length || target.some((value, i) => value !== to[i])) {
      const isNew = target.length !== to.length || jumps || isReduced();
      jumps = false;
      [from, to, begun] = [isNew ? [...target] : shown, [...target], isNew ? Number.NEGATIVE_INFINITY : now];
    }
    const share = Math.min(1, Math.max(0, (now - begun) / MS));
    const eased = share * share * (3 - 2 * share);
    moving = share < 1;
    shown = moving
      ? to.map((value, i) => (from[i] ?? value) + (value - (from[i] ?? value)) * eased)
      : [...to];
    return shown;
  }

  return {
    at,
    isMoving: () => moving,
    jump: () => {
      jumps = true;
    },
  };
}

/** Something that runs once from 0 to 1 and is then over, as dots that flow along an arc. */
export function pulse(ms = 600, isReduced: () => boolean = prefersReducedMotion) {
  let begun = Number.NEGATIVE_INFINITY;
  const share = (now = performance.now()) => Math.min(1, (now - begun) / ms);
  return {
    start(now = performance.now()): void {
      if (!isReduced()) begun = now;
    },
    share,
    isMoving: (now = performance.now()) => share(now) < 1,
  };
}

function prefersReducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
