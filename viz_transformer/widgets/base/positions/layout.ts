// Where the parts of the picture of positions stand: at the left the hands, at the right, above each other, what
// is drawn over the positions. All share one axis.

export interface Layout {
  width: number;
  height: number;
  unit: number;
  /** The pixels of the axis: where the first position's cells begin, and the last one's end. */
  left: number;
  right: number;
  /** What stands above the table. */
  above: { top: number; bottom: number };
  table: { top: number; bottom: number };
  dial: { x: number; y: number; radius: number };
  /** The small hands: how many have room, their middle, their size, and whether their names have room. */
  hands: { count: number; x: number; radius: number; named: boolean };
}

const FOOT = 3.1; // the axis below the table, its knob and numbers, in units
const HEAD = 1.7; // names above a picture
const EDGE = 24; // pixels at the right, for the knob of the pair

/** Lay out the picture; `isWhole` leaves nothing above the table, and `gutter` pixels beside it. */
export function layOut(
  { width, height }: { width: number; height: number },
  unit: number,
  isWhole = false,
  gutter = 0,
): Layout {
  const column = Math.max(5.4 * unit, Math.min(0.26 * width, 0.44 * height));
  const named = column > 9.5 * unit;
  const scale = 2.4 * unit; // of the waves' height, between dial and axis
  const foot = height - FOOT * unit;
  const above = { top: HEAD * unit, bottom: isWhole ? HEAD * unit : 0.47 * height };
  const table = { top: isWhole ? HEAD * unit : above.bottom + 1.2 * unit, bottom: foot };
  const radius = Math.max(16, Math.min(column / 2 - 13, (above.bottom - above.top) / 2));
  const hand = Math.min(1.15 * unit, 22);
  return {
    ...{ width, height, unit, above, table },
    left: column + scale,
    right: Math.max(column + scale + 1, width - EDGE - Math.min(gutter, 0.17 * width)), // in any room
    dial: { x: column / 2, y: (above.top + above.bottom) / 2, radius },
    hands: {
      count: Math.floor((table.bottom - table.top) / (2 * hand + 6)),
      x: column - hand,
      radius: hand,
      named,
    },
  };
}

/** The middle of a position's cells. */
export const xOf = ({ left, right }: Layout, rows: number, position: number) =>
  left + ((position + 0.5) / rows) * (right - left);

/** The position at a place on the axis. */
export const positionAt = ({ left, right }: Layout, rows: number, x: number) =>
  Math.min(rows - 1, Math.max(0, Math.floor(((x - left) / (right - left)) * rows)));

/** The middle of a pair's two lines in the table. */
export const yOf = ({ table: { top, bottom } }: Layout, cols: number, pair: number) =>
  top + ((2 * pair + 1) / cols) * (bottom - top);

/** The dimension at a height in the table. */
export const dimensionAt = ({ table: { top, bottom } }: Layout, cols: number, y: number) =>
  Math.min(cols - 1, Math.max(0, Math.floor(((y - top) / (bottom - top)) * cols)));

/** Whole numbers along an axis of `count`, at least some pixels apart. */
export function ticksOf(count: number, room: number, least: number): number[] {
  let step = 1;
  while ((step / count) * room < least && step < count) step *= 2;
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
}

/** The positions whose waves are drawn: all of them, or as many around the chosen one as can be told apart. */
export interface Lens {
  from: number;
  count: number;
  isWhole: boolean;
  x: (position: number) => number;
  positionAt: (x: number) => number;
}

const [TURN, STEP] = [40, 6]; // least pixels of a wave's turn, and of a position without one

/** The page of positions that the chosen one is on; `turn` is how many a turn of the wave takes, if it is one. */
export function lensOf(layout: Layout, rows: number, position: number, turn: number | null): Lens {
  const room = layout.right - layout.left;
  const most = Math.round(turn === null ? room / STEP : (room / TURN) * turn);
  const count = Math.min(rows, Math.max(2, most));
  const from = Math.min(rows - count, Math.floor(position / count) * count);
  return {
    ...{ from, count, isWhole: count === rows },
    x: (at) => xOf(layout, count, Math.min(count - 1, Math.max(0, at - from))),
    positionAt: (x) => from + positionAt(layout, count, x),
  };
}
