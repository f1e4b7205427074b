// The grids of the pictures: layers from left to right, and positions or heads below one another. No DOM.

import { decodeWeights } from "../base/bytes.ts";
import { parseRgb, type Rgb, signedRgb, type Theme } from "../base/colour.ts";
import { formatSigned, joinPieces, shortened, visible } from "../base/text.ts";
import { indices } from "../base/scales.ts";

export type Picture = "positions" | "heads" | "lens" | "direct";
export type Place = { layer: number; at: number };

/** One of two runs: its tokens, the metric, and the likeliest words with their probabilities. */
export interface Run {
  tokens: string[];
  value: number;
  words: string[];
  shares: number[];
}

/** What is known from the beginning; a view of one finding has only its sizes and tokens. */
export interface Start {
  sizes: Partial<Record<Picture, number[]>>; // columns and rows
  tokens: string[];
  place?: number | null;
  metric?: string;
  kinds?: Record<string, string>;
  clean?: Run;
  corrupted?: Run;
}

/** A lens: what would be written at each place, in the order [row][position][k]. */
export interface Lens {
  rows: string[];
  tokens: string[];
  top: string[];
  probabilities: DataView;
  k: number;
  followed: string[];
  shares: DataView;
  ranks: DataView;
  metric: string | null;
  values: DataView | null;
}

/** The parts of a logit, float32 [layer, row]. */
export interface Direct {
  tokens: string[];
  position: number;
  target: string;
  rows: string[];
  values: DataView;
  embedding: number;
  bias: number;
  logit: number;
}

/** Numbers [column][row]; NaN where they are not known yet. */
export interface Grid {
  columns: string[];
  rows: string[];
  values: Float32Array;
  /** Signed numbers up to this have the darkest colour; of ranks, how many there are. */
  limit: number;
  kind: "signed" | "rank";
  /** What stands in a cell. */
  texts: (index: number) => string;
}

const MOST_LETTERS = 18; // of a word

/** A token as people write it: without the mark of a space before it. */
export const word = (token: string) => shortened(joinPieces([token], true), MOST_LETTERS);

/** How much of the clean answer each part brings back, from the layers that are known. */
export function patchGrid(start: Start, what: "positions" | "heads", layers: (number[] | undefined)[]): Grid {
  const [columns, rows] = start.sizes[what] as [number, number];
  const [clean, corrupted] = [start.clean!.value, start.corrupted!.value];
  const values = new Float32Array(columns * rows).fill(Number.NaN);
  layers.forEach((layer, column) => {
    layer?.forEach((value, row) => {
      values[column * rows + row] = (value - corrupted) / (clean - corrupted);
    });
  });
  return {
    columns: indices(columns).map(String),
    rows: what === "heads" ? indices(rows).map((head) => `head ${head}`) : start.clean!.tokens.map(word),
    values,
    limit: Math.max(1, ...values.filter(Number.isFinite).map(Math.abs)),
    kind: "signed",
    texts: (index) => percentBack(values[index]!),
  };
}

/** The ranks of the answers, or where a metric is measured, that. */
export function lensGrid(lens: Lens, isMetric: boolean): Grid {
  const values = decodeWeights(isMetric ? lens.values! : lens.ranks, "float32");
  return {
    columns: lens.rows.map((name) => name.replace("layer ", "").replace("embedding", "in")),
    rows: lens.tokens.map(word),
    values,
    limit: values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9),
    kind: isMetric ? "signed" : "rank",
    texts: (index) => (isMetric ? formatSigned(values[index]!, 1) : word(lens.top[index * lens.k]!)),
  };
}

/** What each head and each network adds. */
export function directGrid(direct: Direct): Grid {
  const values = decodeWeights(direct.values, "float32");
  const rows = direct.rows.map((name) => (/^\d/.test(name) ? `head ${name}` : name));
  return {
    columns: indices(values.length / rows.length).map(String),
    rows,
    values,
    limit: values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9),
    kind: "signed",
    texts: (index) => formatSigned(values[index]!, 2),
  };
}

/** The share of the clean answer that came back: "101%", "−3%". */
export const percentBack = (share: number) =>
  Number.isNaN(share) ? "" : `${visible(String(Math.round(100 * share) || 0)).replace("-", "−")}%`;

/** The colour of a cell. */
export function cellRgb(grid: Grid, index: number, theme: Theme): Rgb {
  const value = grid.values[index]!;
  if (Number.isNaN(value)) return parseRgb(theme.background);
  if (grid.kind === "signed") return signedRgb(value, grid.limit, theme);
  const share = grid.limit > 1 ? 1 - Math.log(value) / Math.log(grid.limit) : 1;
  const [from, to] = [parseRgb(theme.background), parseRgb(theme.query)];
  const mix = (i: 0 | 1 | 2) => Math.round(from[i] + (to[i] - from[i]) * share);
  return [mix(0), mix(1), mix(2)];
}

/** The cells of the largest numbers, the largest first. */
export function largest(grid: Grid, count: number): number[] {
  const known = indices(grid.values.length).filter((i) => Number.isFinite(grid.values[i]));
  return known.sort((a, b) => Math.abs(grid.values[b]!) - Math.abs(grid.values[a]!)).slice(0, count);
}

export const samePlace = (one: Place, other: Place) => one.layer === other.layer && one.at === other.at;

/** The patches after a press on a cell: that one alone, or with `isAdding` also that one, or without it. */
export function withPatch(patches: readonly Place[], place: Place, isAdding: boolean): Place[] {
  const isThere = patches.some((each) => samePlace(each, place));
  const others = isAdding ? patches.filter((each) => !samePlace(each, place)) : [];
  const isAlone = isThere && patches.length === 1;
  return (isAdding ? isThere : isAlone) ? others : inOrder([...others, place]);
}

/** The patches after one of them was dragged to another cell. */
export const movedPatch = (patches: readonly Place[], from: Place, to: Place): Place[] =>
  inOrder([...patches.filter((each) => !samePlace(each, from) && !samePlace(each, to)), to]);

/** As Python keeps them, so that a request has one form. */
const inOrder = (patches: Place[]) =>
  patches.sort((one, other) => one.layer - other.layer || one.at - other.at);
