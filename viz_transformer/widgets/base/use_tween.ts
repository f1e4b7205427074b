// Numbers of a component that move to their new values, frame by frame.

import { useLayoutEffect, useMemo } from "preact/hooks";
import { tween } from "./motion.ts";

/** `move(numbers)` gives those of this frame; `jump()` before a change makes it at once, as while one drags. */
export function useTween(redraw: () => void): {
  move: (target: readonly number[]) => number[];
  jump: () => void;
} {
  const { at, isMoving, jump } = useMemo(() => tween(), []);
  useLayoutEffect(() => {
    if (isMoving()) redraw();
  });
  return { move: (target) => at(target), jump };
}
