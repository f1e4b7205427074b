// Where the words, the arcs and the bars of the head lab stand.

import type { Column } from "./flip.ts";

/** Sizes of words, in units, and the room around each, in letters; the largest with which all fit. */
const SIZES: [size: number, around: number][] = [
  ...[1.9, 1.6, 1.35, 1.15, 1, 0.85].map((size): [number, number] => [size, 1.7]),
  [0.85, 0.9],
];
const PADDING = 0.7; // of that room
const LEAST_SLOT = 2.6; // units of a bar with its number
const [ARC_SHARE, BAR_SHARE] = [0.3, 0.3]; // of the height

export interface Layout {
  unit: number;
  font: number;
  /** Of a chip beside its word, both sides together. */
  padding: number;
  width: number;
  height: number;
  /** Middles of the words that are read, and of the columns of written ones; `widths` are the columns' own. */
  read: number[];
  written: number[];
  slots: number[];
  chip: number;
  yRead: number;
  yWritten: number;
  /** Where bars stand, and how high the highest is. */
  floor: number;
  tallest: number;
}

interface Words {
  read: readonly string[];
  columns: readonly Column[];
  /** The word read below which each column stands; null where the rows are independent. */
  under: readonly (number | null)[] | null;
  /** Whether lines go from row to row, and none over the words that are read. */
  isCross: boolean;
}

interface Room {
  width: number;
  height: number;
  unit: number;
  measure: (text: string, size: number) => number;
}

/** Lay a state out in a room; where not all fits, it is wider than the room, and scrolled. */
export function layOut(words: Words, room: Room): Layout {
  const { unit, height } = room;
  const tried = SIZES.map(([size, around]) => ({ size, around, ...rowsOf(words, size, around, room) }));
  const { size, around, rows } = tried.find(({ needed }) => needed <= room.width) ?? tried.at(-1)!;
  const needed = Math.max(...rows.map(sum));
  const width = Math.max(room.width, needed);
  const font = size * unit;
  const chip = 2 * font;
  return {
    ...{ unit, font, width, height, chip, padding: PADDING * around * font, floor: height - 1.5 * unit },
    ...placesOf(words, rows, width),
    yRead: words.isCross ? chip / 2 + 2 : Math.max(ARC_SHARE * height, 3 * unit) - chip / 4,
    yWritten: height * (1 - BAR_SHARE) - 1.5 * unit - chip / 2,
    tallest: BAR_SHARE * height - 1.8 * unit,
  };
}

const sum = (widths: readonly number[]) => widths.reduce((all, each) => all + each, 0);

/** The least widths of the slots of each row of words; both rows have the same slots where they belong together. */
function rowsOf({ read, columns, under }: Words, size: number, around: number, { unit, measure }: Room) {
  const font = size * unit;
  const taken = (text: string | null) => (text === null ? 0 : measure(text, font) + around * font);
  const reads = read.map(taken);
  const written = columns.map(({ before, after }) =>
    Math.max(LEAST_SLOT * unit, taken(before), taken(after)),
  );
  const rows = under
    ? [
        slotOrder(under, read.length).map(({ read: i, column }) =>
          Math.max(reads[i] ?? 0, written[column] ?? 0),
        ),
      ]
    : [reads, written];
  return { rows, needed: Math.max(...rows.map(sum)) };
}

/** Where words and columns stand in their slots, which are as much wider than they must be as there is room. */
function placesOf({ read, columns, under }: Words, rows: readonly number[][], width: number) {
  const [first, second] = rows.map((row) => spread(row, width));
  if (second) return { read: first!.middles, written: second.middles, slots: second.widths };
  const order = slotOrder(under ?? [], read.length);
  const slots = columns.map((_, i) => order.findIndex(({ column }) => column === i));
  return {
    read: read.map((_, i) => first!.middles[order.findIndex((slot) => slot.read === i)]!),
    written: slots.map((slot) => first!.middles[slot]!),
    slots: slots.map((slot) => first!.widths[slot]!),
  };
}

function spread(widths: readonly number[], width: number) {
  const spare = (width - sum(widths)) / Math.max(1, widths.length);
  let x = 0;
  const middles = widths.map((each) => {
    x += each + spare;
    return x - (each + spare) / 2;
  });
  return { middles, widths: widths.map((each) => each + spare) };
}

/** Slots from left to right: which word is read there, and which column is written below it; −1 is none. */
function slotOrder(under: readonly (number | null)[], nRead: number): { read: number; column: number }[] {
  const slots: { read: number; column: number }[] = [];
  let next = 0;
  const upTo = (read: number) => {
    for (; next < read; next++) slots.push({ read: next, column: -1 });
  };
  under.forEach((read, column) => {
    if (read !== null) upTo(read);
    slots.push({ read: read ?? -1, column });
    if (read !== null) next = read + 1;
  });
  upTo(nRead);
  return slots;
}

/** The path of an arc over the words, or of a line down to a written one, and the point halfway. */
export function pathOf(layout: Layout, query: number, key: number, isCross: boolean) {
  const { read, written, yRead, yWritten, chip } = layout;
  const from = read[key]!;
  if (isCross) {
    const [to, top, bottom] = [written[query]!, yRead + chip / 2, yWritten - chip / 2];
    const middle = (top + bottom) / 2;
    return curve(from, top, from, middle, to, middle, to, bottom);
  }
  const to = read[query]!;
  const y = yRead - chip / 2;
  const isOwn = query === key;
  const rise = isOwn ? 0.8 * chip : Math.min(y - 8, 0.5 * chip + 0.25 * Math.abs(to - from)) * 1.33;
  const aside = isOwn ? 0.5 * chip : 0;
  return curve(from - aside / 4, y, from - aside, y - rise, to + aside, y - rise, to + aside / 4, y);
}

function curve(
  ...[a, b, c, d, e, f, g, h]: [number, number, number, number, number, number, number, number]
) {
  const half = (p: number, q: number, r: number, s: number) => (p + 3 * q + 3 * r + s) / 8;
  return { d: `M${a} ${b}C${c} ${d} ${e} ${f} ${g} ${h}`, x: half(a, c, e, g), y: half(b, d, f, h) };
}
