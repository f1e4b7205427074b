// The room that the stage leaves for a picture, measured, so that the picture can fill it.

import { ON_PAPER } from "./view.ts";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

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
