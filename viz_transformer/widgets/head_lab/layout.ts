// Where the words, the arcs and the bars of the head lab stand.

import type { Column } from "./changes.ts";

/** Sizes of words, in units, and the room around each, in letters; the largest with which all fit. */
const SIZES: [size: number, around: number][] = [
  ...[1.9, 1.6, 1.35, 1.15, 1, 0.85].map((size): [number, number] => [size, 1.7]),
  [0.85, 0.9],
  [0.85, 0.5],
];
const PADDING = 0.7; // of that room, inside a chip
const LEAST_SLOT = 2.6; // units of a bar with its number
const [ARC_SHARE, BAR_SHARE] = [0.3, 0.3]; // of the height

/** Middles of the words that are read and of the columns of written ones, whose widths are `slots`. */
export type Layout = Record<"read" | "written" | "slots", number[]> &
  Record<"unit" | "font" | "padding" | "chip" | "width" | "height" | "yRead" | "yWritten", number> & {
    /** The column of a word of the unchanged answer. */
    columnOf: (index: number) => number;
    /** Where bars stand, and how high the highest is. */
    floor: number;
    tallest: number;
  };

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
  const tried = SIZES.map(([size, around]) => ({
    font: size * unit,
    around,
    rows: rowsOf(words, size * unit, around, room),
  }));
  const neededBy = (rows: number[][]) => Math.max(...rows.map(sum));
  const yWritten = (chip: number) => height * (1 - BAR_SHARE) - 1.5 * unit - chip / 2;
  const yRead = (chip: number) =>
    words.isCross
      ? chip / 2 + 2
      : Math.max((words.under ? 1 : 1.2) * ARC_SHARE * height, 3 * unit) - chip / 4;
  /** What a word that is struck through takes between the rows. */
  const between = (font: number) => 3.1 * font + 1.5 * unit;
  const isLow = (font: number) => yWritten(2 * font) - yRead(2 * font) >= between(font);
  const fitting = tried.find(({ font, rows }) => neededBy(rows) <= room.width && isLow(font));
  const { font, around, rows } = fitting ?? tried.at(-1)!;
  const width = Math.max(room.width, neededBy(rows));
  const [first, second] = rows.map((row) => spread(row, width));
  const slot = slotOfRead(words);
  const chip = 2 * font;
  return {
    ...{ unit, font, width, height, chip, padding: PADDING * around * font, floor: height - 1.5 * unit },
    read: words.read.map((_, i) => first!.middles[second ? i : slot(i)]!),
    written: (second ?? first!).middles,
    slots: (second ?? first!).widths,
    columnOf: (index) => words.columns.findIndex((column) => column.index === index),
    yRead: words.isCross
      ? yRead(chip)
      : Math.min(yRead(chip), Math.max(3 * unit, yWritten(chip) - between(font))),
    yWritten: yWritten(chip),
    tallest: BAR_SHARE * height - 1.8 * unit,
  };
}

const sum = (widths: readonly number[]) => widths.reduce((all, each) => all + each, 0);

/** The least widths of the slots of each row of words, or of the one row that both share. */
function rowsOf(words: Words, font: number, around: number, { unit, measure }: Room): number[][] {
  const { read, columns, under } = words;
  const taken = (text: string | null) => (text === null ? 0 : measure(text, font) + around * font);
  const written = columns.map(({ before, after }) =>
    Math.max(LEAST_SLOT * unit, taken(before), taken(after)),
  );
  if (!under) return [read.map(taken), written];
  read.forEach((text, i) => {
    const at = slotOfRead(words)(i);
    written[at] = Math.max(written[at] ?? 0, taken(text));
  });
  return [written];
}

/** The slot of a word that is read: that of the column below it; those below which nothing is come last. */
const slotOfRead =
  ({ columns, under }: Words) =>
  (i: number): number => {
    const at = under?.indexOf(i) ?? -1;
    return at >= 0 ? at : columns.length + i - (under ?? []).filter((each) => each !== null).length;
  };

function spread(widths: readonly number[], width: number) {
  const spare = (width - sum(widths)) / Math.max(1, widths.length);
  const middles = widths.map((each, i) => sum(widths.slice(0, i)) + i * spare + (each + spare) / 2);
  return { middles, widths: widths.map((each) => each + spare) };
}

/** The path of an arc over the words, or of a line down to a written one, and the point halfway. */
export function pathOf(layout: Layout, query: number, key: number, isCross: boolean) {
  const { read, written, yRead, yWritten, chip, columnOf } = layout;
  const from = read[key]!;
  if (isCross) {
    const [to, top, bottom] = [written[columnOf(query)]!, yRead + chip / 2, yWritten - chip / 2];
    const middle = (top + bottom) / 2;
    return curve(from, top, from, middle, to, middle, to, bottom);
  }
  const [to, y, isOwn] = [read[query]!, yRead - chip / 2, query === key];
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
