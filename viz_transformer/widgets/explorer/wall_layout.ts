// The layout of the wall of heads: every head a cell as large as the view allows, its small picture
// at the left and its label beside it; the kinds side by side.

import type { LayerHead } from "../base/head_grid.ts";
import type { WallHeads } from "./wall_heads.ts";
import type { HeadPlace } from "../base/kinds.ts";

const [ROW_NUMBERS, TITLE] = [26, 42]; // of a kind: for the numbers of rows; for its title and those of columns
const [BETWEEN_KINDS, BETWEEN_LINES] = [26, 8]; // from one kind to the next, beside it or below
const [WIDEST_CELL, TALLEST_CELL] = [300, 220]; // a cell
const LOWEST = 7; // a cell that can still be pointed at
const READABLE = 14; // a picture that can be told from others
const [SHALLOW, MUCH] = [8, 1.25]; // heads in a layer, and times larger: then columns are layers
const EASY = 24; // a picture of this size can be read, whichever way the wall is turned
const [TEXT_WIDTH, TEXT_HEIGHT] = [38, 10]; // of a label with a number in it
const TALL = 2; // times as high as wide: a picture at most, where the view is higher than its heads need
const LEAST_LABEL = 4; // pixels of colour beside a picture
const [LABEL_WIDTH, LABEL_HEIGHT] = [44, 16]; // with less beside a picture, a name goes below it

/** Where the heads of a kind stand. */
export interface WallSection {
  kind: string;
  layers: number;
  /** In a layer. */
  heads: number;
  kept: Uint8Array;
  cells: LayerHead[];
  /** The place of each head in `cells`, [layer · head]; -1: left out. */
  slots: number[];
  byLayer: boolean;
  /** Whether columns are layers. */
  turned: boolean;
  x: number;
  /** Of the first cell. */
  left: number;
  top: number;
  columns: number;
  rows: number;
  /** With the gap after it. */
  cellWidth: number;
  cellHeight: number;
  gap: number;
  /** Of a picture with something beside it; its height is `tall`. */
  size: number;
  tall: number;
  /** Of the label below a picture; 0 where it is beside it. */
  labelHeight: number;
}

export interface WallLayout {
  sections: WallSection[];
  width: number;
  height: number;
}

/**
 * Where each kind and each head stands.
 *
 * @param height that is there without scrolling
 */
export function wallLayout(
  kinds: (WallHeads & { kind: string; layers: number; heads: number })[],
  width: number,
  height: number,
): WallLayout {
  const across = (width - BETWEEN_KINDS * (kinds.length - 1)) / kinds.length;
  const stacked = kinds.length > 1 && across < 220;
  // In a low window the few layers of kinds that lie below each other are rather scrolled than too low to be read.
  const least = stacked ? EASY * Math.min(SHALLOW, ...kinds.map(({ layers }) => layers)) : 0;
  const share = stacked ? (height - BETWEEN_LINES * (kinds.length - 1)) / kinds.length : height;
  const room = {
    width: (stacked ? width : across) - ROW_NUMBERS,
    height: Math.max(least, share - TITLE),
  };
  let [x, y] = [0, 0];
  const sections = kinds.map((kind) => {
    const shape = shapeOf(kind, room);
    const slots = new Array<number>(kind.layers * kind.heads).fill(-1);
    kind.cells.forEach(([layer, head], i) => {
      slots[layer * kind.heads + head] = i;
    });
    const section = { ...kind, ...shape, slots, x, left: x + ROW_NUMBERS, top: y + TITLE };
    if (stacked) y += TITLE + shape.rows * shape.cellHeight + BETWEEN_LINES;
    else x += Math.floor(across) + BETWEEN_KINDS;
    return section;
  });
  const heights = sections.map(({ top, rows, cellHeight }) => top + rows * cellHeight);
  return { sections, width, height: Math.max(...heights, TITLE + LOWEST) };
}

function shapeOf(
  { byLayer, cells, layers, heads }: WallHeads & { kind: string; layers: number; heads: number },
  room: { width: number; height: number },
) {
  if (byLayer) {
    const upright = { ...cellsIn(room, heads, layers), turned: false };
    const turned = { ...cellsIn(room, layers, heads), turned: true };
    const isSmall = upright.size < EASY && turned.size >= upright.size;
    const isShallow = 2 * layers <= heads && heads <= SHALLOW;
    const isBetter = turned.size > upright.size || tallOf(turned) < tallOf(upright);
    return (isSmall && isBetter) || (isShallow && turned.size > MUCH * upright.size) ? turned : upright;
  }
  const count = Math.max(1, cells.length);
  // Pictures as large as possible, but small enough for what they are sorted by beside them, as long as
  // they can be read. What does not fit the height is worth less than anything that does.
  const labelWorth = (shape: Shape) =>
    shape.size >= READABLE && hasText(shape) ? 12 + Math.min(shape.cellWidth - shape.size, 80) / 4 : 0;
  const worth = (shape: Shape) =>
    Math.min(shape.size, 64) + labelWorth(shape) - 1000 * Math.max(0, tallOf(shape) / room.height - 1);
  const most = Math.min(count, Math.max(1, Math.floor(room.width / LOWEST)));
  const shapes = Array.from({ length: most }, (_, i) => cellsIn(room, i + 1, Math.ceil(count / (i + 1))));
  const best = shapes.reduce((one, other) => (worth(other) > worth(one) ? other : one));
  return { ...best, turned: false };
}

function tallOf({ rows, cellHeight }: Shape) {
  return rows * cellHeight;
}

type Shape = ReturnType<typeof cellsIn>;

/** Cells with their label beside the picture, or below it where the picture is large and leaves no room. */
function cellsIn(room: { width: number; height: number }, columns: number, rows: number) {
  const cellWidth = Math.max(LOWEST, Math.min(WIDEST_CELL, Math.floor(room.width / columns)));
  const fits = Math.max(LOWEST, Math.min(TALLEST_CELL, Math.floor(room.height / rows)));
  const gap = fits >= 26 ? 4 : fits >= 14 ? 2 : 1;
  const size = Math.max(LOWEST - 2, Math.min(fits - gap, cellWidth - gap - LEAST_LABEL));
  const shape = { columns, rows, cellWidth, gap };
  const under = Math.min(TALLEST_CELL, Math.floor(room.height / rows)) - gap - LABEL_HEIGHT;
  const smaller = Math.min(under, cellWidth - gap);
  if (smaller >= 44 && cellWidth - gap - size < LABEL_WIDTH)
    return {
      ...shape,
      size: smaller,
      tall: smaller,
      labelHeight: LABEL_HEIGHT,
      cellHeight: smaller + LABEL_HEIGHT + gap,
    };
  const tall = Math.min(fits - gap, Math.floor(TALL * size));
  return { ...shape, size, tall, labelHeight: 0, cellHeight: tall + gap };
}

/** Whether a line of text fits into the labels. */
export function hasText({ cellWidth, cellHeight, gap, size, labelHeight }: Shape) {
  return labelHeight > 0 || (cellHeight - gap >= TEXT_HEIGHT && cellWidth - gap - size >= TEXT_WIDTH);
}

/** The column and row of the i-th cell. */
export function placeIn({ columns, rows, turned }: WallSection, i: number) {
  return turned ? [Math.floor(i / rows), i % rows] : [i % columns, Math.floor(i / columns)];
}

/** Where a cell stands: {x, y, width, height}, without the gap after it. */
export function cellBox(section: WallSection, i: number) {
  const [column, row] = placeIn(section, i);
  const { left, top, cellWidth, cellHeight, gap } = section;
  return {
    x: left + column * cellWidth,
    y: top + row * cellHeight,
    width: cellWidth - gap,
    height: cellHeight - gap,
  };
}

/** The head under a point, as {kind, layer, head}, or null. */
export function wallHeadAt({ sections }: WallLayout, x: number, y: number) {
  for (const { kind, left, top, cellWidth, cellHeight, columns, rows, turned, cells } of sections) {
    const [column, row] = [Math.floor((x - left) / cellWidth), Math.floor((y - top) / cellHeight)];
    if (column < 0 || column >= columns || row < 0 || row >= rows) continue;
    const cell = cells[turned ? column * rows + row : row * columns + column];
    if (cell) return { kind, layer: cell[0], head: cell[1] };
  }
  return null;
}

/** The head that an arrow key moves to, {kind, layer, head}; at the side of a kind it is the next kind's. */
export function moveOnWall({ sections }: WallLayout, { kind, layer, head }: HeadPlace, key: string) {
  const own = sections.findIndex((one) => one.kind === kind);
  const section = sections[own];
  const slot = section.slots[layer * section.heads + head];
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const [across, down] = steps[key as keyof typeof steps];
  if (slot < 0) return headIn(section, 0) ?? { kind, layer, head }; // it was left out by a filter
  const [column, row] = placeIn(section, slot);
  const [to, inside] = [column + across, Math.max(0, Math.min(section.rows - 1, row + down))];
  const beside = sections[own + across];
  if (across && (to < 0 || to >= section.columns) && beside) {
    const edge = across > 0 ? 0 : beside.columns - 1;
    return headIn(beside, slotAt(beside, edge, Math.min(inside, beside.rows - 1))) ?? { kind, layer, head };
  }
  return headIn(section, slotAt(section, Math.max(0, Math.min(section.columns - 1, to)), inside));
}

function slotAt({ columns, rows, turned, cells }: WallSection, column: number, row: number) {
  return Math.min(cells.length - 1, turned ? column * rows + row : row * columns + column);
}

function headIn({ kind, cells }: WallSection, slot: number) {
  return cells[slot] ? { kind, layer: cells[slot][0], head: cells[slot][1] } : null;
}
