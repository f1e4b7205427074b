// Hooks: the room for a picture, numbers that move to their new values, and the link to what answers a view.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { connectKernel, type Model } from "./kernel.ts";
import { tween } from "./motion.ts";
import { ON_PAPER } from "./view.ts";

interface Room {
  width: number;
  height: number;
}

/**
 * A ref for the box of a picture, and its size; null before it has one. The picture stands in it with
 * `position: absolute`, so that its size never depends on the picture.
 */
export function useRoom() {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState<Room | null>(null);
  useLayoutEffect(() => {
    const node = box.current;
    if (!node) return;
    const measure = () => {
      const [width, height] = [node.clientWidth, node.clientHeight];
      if (width && height)
        setRoom((was) => (was?.width === width && was.height === height ? was : { width, height }));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    const root = node.closest(".vt-root");
    root?.addEventListener(ON_PAPER, measure);
    measure();
    return () => {
      observer.disconnect();
      root?.removeEventListener(ON_PAPER, measure);
    };
  }, []);
  return { box, room };
}

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

/** `ask`, `latest` and `settle` of `connectKernel`, closed when the component leaves the page. */
export function useKernel(model: Model) {
  const kernel = useMemo(() => connectKernel(model), [model]);
  useEffect(() => () => kernel.close(), [kernel]);
  return kernel;
}
