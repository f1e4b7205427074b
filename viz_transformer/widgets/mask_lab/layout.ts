// Where the parts of the picture stand: at the left how far outputs move and what they write, then the mask.

import type { Cell } from "../base/keys.ts";

const LEAST_ROW = 23; // pixels of a row, of which a text has up to 40
const LEAST_CELL = 14;
const FLAT = 2.5; // a cell is at most so many times as wide as high
const GAP = 10;
const SMALL = 0.85; // of the usual size
const TWO_LINES = 2; // units
const SIGNS = 4.4; // a verdict's sign and a number, in units
const HATCH = 9; // pixels between its lines

/** What the picture has to hold; widths in pixels, 0 where there is nothing. */
export interface Contents {
  queries: number;
  keys: number;
  names: { query: number; key: number; now: number; right: number };
  /** Whether anything was measured. */
  isMeasured: boolean;
}

export interface Layout {
  width: number;
  height: number;
  unit: number;
  row: number;
  cell: number;
  /** The upper left corner of the mask. */
  left: number;
  top: number;
  /** Where names end, and where the words end that are written now, and were written before; null: not shown. */
  names: number;
  now: number | null;
  right: number | null;
  /** Whether the words that are written stand below the names, because there is no room at their left. */
  isStacked: boolean;
  /** How wide names and words may be. */
  widths: { query: number; key: number; now: number; right: number };
  /** Bars end here, and are at most so long. */
  bars: number;
  bar: number;
  /** Where verdicts stand in words, besides their signs. */
  hasWords: boolean;
  /** Whether the keys' names stand upright, and their size in units. */
  isUpright: boolean;
  keyShare: number;
}

/** Lay out a picture in the room that there is. */
export function layOut(
  room: { width: number; height: number },
  unit: number,
  { queries, keys, names, isMeasured }: Contents,
): Layout {
  const within = (name: keyof Contents["names"], most: number) => Math.min(most * unit, names[name]);
  const key = within("key", 7);
  const [now, right] = [within("now", 8), within("right", 7)];
  const signs = (isMeasured ? SIGNS * unit : 0) + 2 * GAP;
  const hasNow = now > 0 && room.width - signs - within("query", 8) - 24 * keys > now + 2 * GAP;
  const query = hasNow ? within("query", 8) : Math.max(within("query", 8), SMALL * now);
  const least = signs + query;
  const spare = room.width - least - 24 * keys; // for all else
  const written = hasNow ? now + 2 * GAP : 0;
  const hasWords = isMeasured && spare - written > 12 * unit;
  const hasRight = hasNow && hasWords && right > 0;
  const verdicts = hasWords ? 5.2 * unit : 0;
  const bar = hasWords ? 0.1 * (spare - written - verdicts) : 0;
  const fixed = least + written + verdicts + bar + (hasRight ? right + GAP : 0);
  const across = (room.width - fixed) / keys;
  const isUpright = SMALL * key > across - 4;
  const top = isUpright ? key + 18 : unit * 3.3;
  const row = Math.max(LEAST_ROW, (room.height - top - 2) / queries);
  const cell = Math.max(LEAST_CELL, Math.min(FLAT * row, across));
  const left = Math.max(fixed, room.width - keys * cell);
  const nowEnd = left - query - 2.5 * GAP;
  const rightEnd = nowEnd - now - GAP;
  const bars = (hasNow ? rightEnd : nowEnd) - (hasRight ? right + GAP : 0);
  return {
    ...{ unit, row, cell, left, top, hasWords, isUpright, bars },
    isStacked: !hasNow && now > 0 && row > TWO_LINES * unit,
    keyShare: !isUpright && key > across - 4 ? SMALL : 1,
    width: left + keys * cell,
    height: top + queries * row + 2,
    names: left - GAP,
    now: hasNow ? nowEnd : null,
    right: hasRight ? rightEnd : null,
    widths: { query, key: isUpright ? key : cell - 2, now, right },
    bar: Math.max(0, bars - verdicts - SIGNS * unit),
  };
}

/** The cell at a place of the picture, or null. */
export function cellAt(
  { left, top, row, cell }: Layout,
  x: number,
  y: number,
  size: { queries: number; keys: number },
): Cell | null {
  const at = { row: Math.floor((y - top) / row), col: Math.floor((x - left) / cell) };
  return at.row >= 0 && at.row < size.queries && at.col >= 0 && at.col < size.keys ? at : null;
}

/** The cells that a pointer crosses on its way: it may skip some between two events. */
export function cellsBetween(from: Cell, to: Cell): Cell[] {
  const steps = Math.max(Math.abs(to.row - from.row), Math.abs(to.col - from.col));
  return Array.from({ length: steps }, (_, at) => {
    const share = (at + 1) / steps;
    return {
      row: Math.round(from.row + share * (to.row - from.row)),
      col: Math.round(from.col + share * (to.col - from.col)),
    };
  });
}

/** The hatching of closed cells, as one path. */
export function hatchPath({ left, top, row, cell }: Layout, closed: readonly Cell[]): string {
  return closed
    .flatMap(({ row: q, col }) => {
      const [x, y, width, height] = [left + col * cell + 1, top + q * row + 1, cell - 2, row - 2];
      const lines = [];
      for (let at = HATCH / 2; at < width + height; at += HATCH) {
        const [x0, x1] = [Math.max(0, at - height), Math.min(width, at)];
        lines.push(`M${x + x0} ${y + at - x0}L${x + x1} ${y + at - x1}`);
      }
      return lines;
    })
    .join("");
}

export interface Stream {
  row: number;
  width: number;
  /** Where it comes down from its key. */
  x: number;
  y: number;
}

/** A stream from a key to each output that it moves, as wide as the change; side by side where they come down. */
export function streamsOf(
  { left, top, row, cell }: Layout,
  key: number,
  changes: readonly number[],
): Stream[] {
  const sum = changes.reduce((total, change) => total + change, 0);
  const per = Math.min((0.6 * cell) / sum, (0.4 * row) / Math.max(...changes));
  const moved = changes.flatMap((change, at) =>
    change > 0 ? [{ row: at, width: Math.max(1.5, change * per) }] : [],
  );
  let next = left + (key + 0.5) * cell - moved.reduce((total, { width }) => total + width, 0) / 2;
  return moved.map((stream) => {
    next += stream.width;
    return { ...stream, x: next - stream.width / 2, y: top + (stream.row + 0.5) * row };
  });
}
