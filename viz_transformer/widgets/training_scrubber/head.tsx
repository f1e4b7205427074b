// The chosen head of a run at its moment, large: its weights move to those of another moment.

import { ARROWS } from "../base/keys.ts";
import { useLayoutEffect, useRef } from "preact/hooks";
import { pixelRatio, zoomOf } from "../base/canvas.ts";
import type { Theme } from "../base/colour.ts";
import {
  cellAt,
  drawMatrix,
  type HeatmapLayout,
  matrixLayout,
  moveCell,
  paintCells,
} from "../base/heatmap.ts";
import { useRoom, useTween } from "../base/hooks.ts";
import { addCanvas, addCanvasListeners } from "../base/interactive_canvas.ts";
import { visible } from "../base/text.ts";
import type { Cell, Heads } from "./runs.ts";

const FONT = 14; // the unit that lengths of the table are chosen for
const [LARGEST, STRETCH] = [150, 8]; // pixels of a cell, and how much wider than high it is
const MOST_MOVED = 4096; // weights that are moved one by one
const LONGEST_LABEL = 40; // characters of a token that are measured

interface LargeHeadProps {
  frame: { unit: number; theme: Theme; redraw: () => void };
  entry: Heads;
  /** [query, key] */
  weights: Float32Array;
  /** The cell that is followed, and the one that the pointer is on. */
  followed: Cell;
  pointed: Cell | null;
  /** Whether its axes have titles. */
  isTitled: boolean;
  /** The weight that is told, in words. */
  told: string;
  onFollow: (cell: Cell) => void;
  onPoint: (cell: Cell | null) => void;
}

type Mounted = ReturnType<typeof addCanvas>;

export function LargeHead(props: LargeHeadProps) {
  const { frame, entry, weights, isTitled } = props;
  const { box, room } = useRoom();
  const { move } = useTween(frame.redraw);
  const moved = weights.length > MOST_MOVED ? weights : Float32Array.from(move(Array.from(weights)));
  const newest = useRef<{ props: LargeHeadProps; layout: HeatmapLayout | null }>({ props, layout: null });
  newest.current.props = props;
  const mounted = useRef<Mounted | null>(null);
  useLayoutEffect(() => {
    const made = mount(box.current!, newest);
    mounted.current = made;
    return () => {
      made.close();
      made.canvas.remove();
    };
  }, []);
  useLayoutEffect(() => {
    if (!room || !mounted.current) return;
    const theme = { ...frame.theme, scale: frame.unit / FONT };
    const layout = layOut(entry, room, theme, { zoom: zoomOf(box.current!), isTitled });
    newest.current.layout = layout;
    draw(mounted.current, layout, theme, { ...props, weights: moved });
  });
  return <div class="vt-large" ref={box} />;
}

/** The canvas, with what pointer and keys do on it. */
function mount(
  node: HTMLElement,
  newest: { current: { props: LargeHeadProps; layout: HeatmapLayout | null } },
): Mounted {
  const label = "Weights of the chosen head: the arrow keys choose the one to follow";
  const made = addCanvas(node, label, () => newest.current.props.frame.redraw());
  addCanvasListeners(made.view, made.canvas, {
    scale: () => newest.current.props.frame.unit / FONT,
    hitTest: (x, y) => newest.current.layout && cellAt(newest.current.layout, x, y),
    onPoint: (cell) => newest.current.props.onPoint(cell),
    onClick: (cell) => newest.current.props.onFollow(cell),
    onKey: (event) => {
      if (!ARROWS.includes(event.key)) return false;
      const { entry, followed, onFollow } = newest.current.props;
      const cell = moveCell(followed, entry.rows, entry.cols, event.key);
      newest.current.props = { ...newest.current.props, followed: cell }; // two keys may come in one frame
      onFollow(cell);
      return true;
    },
  });
  return made;
}

type StageTheme = Theme & { scale: number };

function layOut(
  { queries, keys, rows, cols }: Heads,
  { width, height }: { width: number; height: number },
  { scale, measure }: StageTheme,
  { zoom, isTitled }: { zoom: number; isTitled: boolean },
): HeatmapLayout {
  const widest = (tokens: string[]) =>
    Math.ceil(Math.max(...tokens.map((token) => measure!(visible(token).slice(0, LONGEST_LABEL), 15, true))));
  return matrixLayout({
    ...{ rows, cols },
    width: width / scale,
    maxHeight: height / scale,
    rowLabel: widest(queries),
    colLabel: widest(keys),
    ratio: pixelRatio() * scale * zoom,
    largest: LARGEST,
    stretch: STRETCH,
    isTitled,
  });
}

function draw(
  { canvas, announce }: Mounted,
  layout: HeatmapLayout,
  theme: StageTheme,
  props: LargeHeadProps,
): void {
  const { entry, weights, followed, pointed, told } = props;
  const { rows, cols, queries, keys, masked } = entry;
  const shown = { weights, rows, cols, masked, limit: null, queries, keys };
  const named = { queries: [followed.query], keys: [followed.key] };
  const active = pointed ?? { query: null, key: null };
  const marks = { active, pinned: followed, named, found: null, least: 0, waiting: "" };
  drawMatrix(canvas, layout, paintCells(shown, layout, 0, theme), shown, marks, theme);
  announce({ rows, cols, row: followed.query, col: followed.key, text: told });
}
