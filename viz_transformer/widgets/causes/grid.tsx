// The grid: words or heads from top to bottom, layers from left to right. Cells are chosen, or dragged along.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { css, packPixel, textColourOn, type Theme } from "../base/colour.ts";
import { useRoom } from "../base/hooks.ts";
import { ariaGrid } from "../base/interactive_canvas.ts";
import { consume, hasModifier, moveInTable } from "../base/keys.ts";
import { elide } from "../base/text.ts";
import { cellRgb, type Grid, type Place, samePlace } from "./grids.ts";
import { paintPixels } from "../base/canvas.ts";

const LEAST_ROW = 1.3; // units
const [WIDE_CELL, HIGH_CELL] = [44, 20]; // pixels of a cell with its number
const [NAMES, NAMES_OF_NARROW, NARROW] = [0.32, 0.42, 480]; // shares of the width, at most; pixels
const [HEAD, GAP] = [1.8, 10]; // units above the cells; pixels beside names
const EVERY = [1, 2, 5, 10, 20, 50]; // layer that is named
const FAINT = 0.02; // of a stream's length: what has moved by less has no dot

export interface GridProps {
  grid: Grid;
  theme: Theme;
  unit: number;
  label: string;
  chosen: Place | null;
  patches?: readonly Place[];
  /** Of rows that differ, what the corrupted run has there. */
  others?: readonly (string | null)[];
  /** How far what enters each layer has moved, [layer][row]; null where nothing is patched. */
  moved?: ArrayLike<number> | null;
  /** A cell in words. */
  tell: (place: Place) => string;
  /** Where a press does more than choose. */
  onPress?: (place: Place, isAdding: boolean) => void;
  /** Where a press patches, a drag carries that along. */
  onDrag?: (from: Place, to: Place) => void;
  onChoose: (place: Place) => void;
}

interface Layout {
  left: number;
  top: number;
  cell: number;
  row: number;
  width: number;
  height: number;
}

function layOut({ grid, theme, unit, others }: GridProps, room: { width: number; height: number }): Layout {
  const measure = (text: string) => theme.measure(text, unit, true);
  const widths = grid.rows.map((name, at) => {
    const other = others?.[at] ?? null;
    return measure(name) + (other === null ? 0 : measure(other) + 4 * GAP);
  });
  const left = Math.min(
    (room.width < NARROW ? NAMES_OF_NARROW : NAMES) * room.width,
    Math.max(...widths) + 2 * GAP,
  );
  const top = HEAD * unit;
  const row = Math.max(LEAST_ROW * unit, (room.height - top - 4) / grid.rows.length);
  const cell = (room.width - left - 4) / grid.columns.length;
  return { left, top, cell, row, width: room.width, height: top + row * grid.rows.length + 4 };
}

export function GridPicture(props: GridProps) {
  const { box, room } = useRoom();
  const layout = room && layOut(props, room);
  const inSight = props.patches?.at(-1)?.at ?? props.chosen?.at;
  useLayoutEffect(() => {
    const node = box.current;
    if (!node || !layout || inSight === undefined) return;
    const [from, to] = [layout.top + layout.row * inSight, layout.top + layout.row * (inSight + 1)];
    if (from < node.scrollTop) node.scrollTop = from - layout.row;
    else if (to > node.scrollTop + node.clientHeight) node.scrollTop = to + layout.row - node.clientHeight;
  }, [inSight, layout?.row, room?.height]);
  return (
    <div class="vt-cause-room" ref={box}>
      {layout && <Drawn {...props} layout={layout} />}
    </div>
  );
}

type Part = GridProps & { layout: Layout };

function Drawn(props: Part) {
  const { grid, layout, label, chosen, tell } = props;
  const { left, top, cell, row, width, height } = layout;
  const [columns, rows] = [grid.columns.length, grid.rows.length];
  const canvas = useRef<HTMLCanvasElement>(null);
  const announce = useRef<ReturnType<typeof ariaGrid> | null>(null);
  const [wanted, setWanted] = useState<Place>({ layer: 0, at: 0 });
  const [isFocused, setFocused] = useState(false);
  const at = chosen ?? wanted;
  const here = { layer: Math.min(columns - 1, at.layer), at: Math.min(rows - 1, at.at) };
  const latest = useRef(here); // two keys may come in one frame, before what is chosen comes back
  useLayoutEffect(() => {
    latest.current = here;
  }, [here.layer, here.at]);
  const focus = (place: Place) => {
    latest.current = place;
    setWanted(place);
  };
  useLayoutEffect(() => {
    paint(canvas.current!, props);
    announce.current ??= ariaGrid(canvas.current!);
    const isOn = props.patches?.some((each) => samePlace(each, here));
    const text = `${isOn ? "patched. " : ""}${tell(here)}`;
    announce.current({ rows, cols: columns, row: here.at, col: here.layer, text });
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (hasModifier(event)) return;
    const to = moveInTable({ row: latest.current.at, col: latest.current.layer }, rows, columns, event.key);
    if (to) {
      focus({ layer: to.col, at: to.row });
      props.onChoose({ layer: to.col, at: to.row });
    } else if (event.key === "Enter" || event.key === " ") {
      (props.onPress ?? props.onChoose)(latest.current, event.shiftKey);
    } else return;
    consume(event);
  };
  return (
    <div
      class="vt-cause"
      style={{ width: `${width}px`, height: `${height}px` }}
      {...useDrag(props, canvas, focus)}
    >
      <canvas
        ref={canvas}
        tabIndex={0}
        aria-label={label}
        data-lm-suppress-shortcuts="true"
        style={{
          left: `${left}px`,
          top: `${top}px`,
          width: `${cell * columns}px`,
          height: `${row * rows}px`,
        }}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onKeyDown={onKeyDown}
      />
      <svg {...{ width, height }} aria-hidden="true">
        <Names {...props} />
        <Layers {...props} />
        <Texts {...props} />
        <Marks {...props} here={isFocused || chosen ? here : null} />
      </svg>
    </div>
  );
}

/**
 * What the pointer does: a press on a cell, or on a row's name for its first layer, and a drag along the layers. What
 * was patched before is taken along, or taken back where the pointer does not move.
 */
function useDrag(props: Part, canvas: RefObject<HTMLCanvasElement | null>, focus: (place: Place) => void) {
  const drag = useRef<{ at: Place; isTakenBack: boolean } | null>(null);
  const under = (event: PointerEvent): Place => {
    const frame = canvas.current!.getBoundingClientRect();
    const inside = (share: number, count: number) =>
      Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    return {
      layer: inside((event.clientX - frame.left) / frame.width, props.grid.columns.length),
      at: inside((event.clientY - frame.top) / frame.height, props.grid.rows.length),
    };
  };
  return {
    onPointerDown(event: PointerEvent): void {
      if (event.button !== 0) return;
      const at = under(event);
      canvas.current!.focus({ preventScroll: true });
      event.preventDefault(); // no selection of text
      if (props.onDrag) (event.currentTarget as Element).setPointerCapture(event.pointerId);
      drag.current = { at, isTakenBack: props.patches?.some((each) => samePlace(each, at)) ?? false };
      focus(at);
      if (!drag.current.isTakenBack) (props.onPress ?? props.onChoose)(at, event.shiftKey);
    },
    onPointerMove(event: PointerEvent): void {
      if (!drag.current || !props.onDrag) return;
      const { at } = drag.current;
      const to = { layer: under(event).layer, at: at.at };
      if (to.layer === at.layer) return;
      drag.current = { at: to, isTakenBack: false };
      focus(to);
      props.onDrag(at, to);
    },
    onPointerUp(event: PointerEvent): void {
      if (drag.current?.isTakenBack) (props.onPress ?? props.onChoose)(drag.current.at, event.shiftKey);
      drag.current = null;
    },
    onLostPointerCapture(): void {
      drag.current = null;
    },
  };
}

/** A pixel a cell; the style sheet stretches it. */
function paint(canvas: HTMLCanvasElement, { grid, theme }: GridProps): void {
  const [columns, rows] = [grid.columns.length, grid.rows.length];
  paintPixels(canvas, columns, rows, (cell) =>
    packPixel(cellRgb(grid, (cell % columns) * rows + Math.floor(cell / columns), theme)),
  );
}

/** What each row is; where the two runs differ, that of the corrupted one, and that of the clean one to drag. */
function Names({ grid, layout, theme, unit, others }: Part) {
  const { left, top, row } = layout;
  const measure = (text: string) => theme.measure(text, unit, true);
  return (
    <g class="vt-cause-names">
      {grid.rows.map((name, at) => {
        const y = top + row * (at + 0.5);
        const other = others?.[at] ?? null;
        const room = other === null ? left - 2 * GAP : (left - 5 * GAP) / 2;
        const own = elide(name, room, measure);
        const x = left - (other === null ? 1 : 2.6) * GAP;
        return (
          <g key={`${at}`}>
            <text class={other === null ? "vt-of-key" : "vt-of-you"} {...{ x, y }}>
              {own}
            </text>
            {other !== null && (
              <>
                <text class="vt-of-was" x={x - 1.4 * GAP - measure(own)} y={y}>
                  {elide(other, room, measure)}
                </text>
                <circle class="vt-cause-knob" cx={left - 1.3 * GAP} cy={y} r={Math.min(7, row / 2 - 2)} />
              </>
            )}
          </g>
        );
      })}
    </g>
  );
}

function Layers({ grid, layout, unit, theme }: Part) {
  const { left, top, cell } = layout;
  const wide = theme.measure("000", 0.85 * unit, false) + 6;
  const every = EVERY.find((each) => each * cell >= wide) ?? 100;
  return (
    <g class="vt-cause-layers">
      <text x={left - wide} y={top - 0.8 * unit}>
        layer
      </text>
      {grid.columns.map(
        (name, at) =>
          at % every === 0 && (
            <text key={name} x={left + cell * (at + 0.5)} y={top - 0.8 * unit}>
              {name}
            </text>
          ),
      )}
    </g>
  );
}

function Texts({ grid, layout, theme, unit }: Part) {
  const { left, top, cell, row } = layout;
  if (cell < WIDE_CELL || row < HIGH_CELL) return null;
  const rows = grid.rows.length;
  const measure = (text: string) => theme.measure(text, 0.85 * unit, false);
  return (
    <g class="vt-cause-texts">
      {Array.from(grid.values, (_, index) => (
        <text
          key={`${index}`}
          class={grid.kind === "rank" ? "vt-of-query" : undefined}
          x={left + cell * (Math.floor(index / rows) + 0.5)}
          y={top + row * ((index % rows) + 0.5)}
          style={{ fill: textColourOn(cellRgb(grid, index, theme)) }}
        >
          {elide(grid.texts(index), cell - 6, measure)}
        </text>
      ))}
    </g>
  );
}

/** The chosen cell, what is patched, and how far each later part of the stream has moved. */
function Marks({ grid, layout, moved, patches = [], here }: Part & { here: Place | null }) {
  const { left, top, cell, row } = layout;
  const rows = grid.rows.length;
  const centre = ({ layer, at }: Place) => [left + cell * (layer + 0.5), top + row * (at + 0.5)] as const;
  const dots = moved
    ? Array.from(grid.values, (_, i) => ({ layer: Math.floor(i / rows), at: i % rows, by: moved[i]! }))
    : [];
  const largest = Math.min(cell, row, 40) / 2;
  const hasText = cell >= WIDE_CELL && row >= HIGH_CELL;
  return (
    <g>
      {dots
        .filter(({ by }) => by >= FAINT)
        .map(({ by, ...place }) => {
          const [x, y] = centre(place);
          const below = hasText ? row / 2 - 4 : 0; // a number stands in the middle
          return (
            <circle
              key={`${place.layer} ${place.at}`}
              class="vt-moved"
              cx={x}
              cy={y + below}
              r={Math.sqrt(by) * (hasText ? 4 : largest - 1)}
            />
          );
        })}
      {here && <Outline {...{ layout, place: here }} name="vt-cause-here" />}
      {patches.map((place) => (
        <Outline key={`${place.layer} ${place.at}`} {...{ layout, place }} name="vt-cause-patch" />
      ))}
      {patches.map((place) => {
        const [x, y] = centre(place);
        return (
          <circle
            key={`knob ${place.layer} ${place.at}`}
            class="vt-cause-knob"
            cx={hasText ? x - cell / 2 + 2 : x}
            cy={y}
            r={Math.max(5, Math.min(9, largest))}
          />
        );
      })}
    </g>
  );
}

const Outline = ({ layout, place, name }: { layout: Layout; place: Place; name: string }) => (
  <rect
    class={name}
    x={layout.left + layout.cell * place.layer}
    y={layout.top + layout.row * place.at}
    width={layout.cell}
    height={layout.row}
    rx={3}
  />
);

/** The colours of the grid as a legend's ramp. */
export function Ramp({ grid, theme }: { grid: Grid; theme: Theme }) {
  const ends = grid.kind === "signed" ? [-grid.limit, 0, grid.limit] : [grid.limit, Math.sqrt(grid.limit), 1];
  const stops = ends.map((value) => css(cellRgb({ ...grid, values: Float32Array.of(value) }, 0, theme)));
  return <span class="vt-cause-ramp" style={{ background: `linear-gradient(90deg, ${stops.join(", ")})` }} />;
}
