// A matrix in signed colours, whose cells move to their new colours.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Theme } from "../colour.ts";
import { useTween } from "../hooks.ts";
import type { Table } from "./hands.ts";

const MOST_CELLS = 20_000; // that move

interface HeatProps {
  table: Table;
  theme: Theme;
  redraw: () => void;
  /** Where it stands, in pixels. */
  box: { left: number; top: number; width: number; height: number };
  /** The value with the deepest colour. */
  limit: number;
  /** Whether its rows are positions, which stand beside each other. */
  isOnAxis?: boolean;
}

/** One pixel of a canvas for each cell; the canvas is stretched. */
export function Heat({ table, theme, redraw, box, limit, isOnAxis = false }: HeatProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painted = useRef<unknown[]>([]);
  const { move } = useTween(redraw);
  const target = useMemo(() => Array.from(table.values), [table]);
  const isSmall = target.length <= MOST_CELLS;
  const values = isSmall ? move(target) : target;
  const { rows, cols } = table;
  const [width, height] = isOnAxis ? [rows, cols] : [cols, rows];
  useLayoutEffect(() => {
    const now = [theme, limit, ...(isSmall ? values : [target])]; // a canvas out of sight is emptied, and gets another theme
    const context = canvas.current?.getContext("2d");
    if (!context || now.every((each, at) => each === painted.current[at])) return;
    painted.current = now;
    Object.assign(context.canvas, { width, height });
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    values.forEach((value, at) => {
      const colour = Math.round(127.5 * (1 + Math.max(-1, Math.min(1, value / limit))));
      pixels[isOnAxis ? (at % cols) * rows + Math.floor(at / cols) : at] = theme.signedRamp[colour];
    });
    context.putImageData(image, 0, 0);
  });
  const style = Object.fromEntries(Object.entries(box).map(([name, value]) => [name, `${value}px`]));
  const isFine = box.width < width || box.height < height;
  return <canvas class="vt-heat" ref={canvas} style={style} data-fine={isFine} />;
}
