// A matrix in signed colours, whose cells move to their new colours.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Theme } from "../colour.ts";
import { useTween } from "../hooks.ts";
import type { Table } from "./hands.ts";
import { paintPixels } from "../canvas.ts";

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
    if (now.every((each, at) => each === painted.current[at])) return;
    painted.current = now;
    paintPixels(canvas.current!, width, height, (cell) => {
      const at = isOnAxis ? (cell % rows) * cols + Math.floor(cell / rows) : cell;
      return theme.signedRamp[Math.round(127.5 * (1 + Math.max(-1, Math.min(1, values[at] / limit))))];
    });
  });
  const style = Object.fromEntries(Object.entries(box).map(([name, value]) => [name, `${value}px`]));
  const isFine = box.width < width || box.height < height;
  return <canvas class="vt-heat" ref={canvas} style={style} data-fine={isFine} />;
}
