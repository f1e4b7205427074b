// The parts of an encoder–decoder of any size: their shapes, and how many numbers they learn.
//
// model/model_summary.py asks a real model for the same; a test compares the two.

export interface Sizes {
  /** Tokens in the source sentence, and in the target sentence. */
  n_source: number;
  n_target: number;
  d_model: number;
  n_heads: number;
  d_ff: number;
  /** In each stack. */
  n_layers: number;
  vocab_size: number;
}

export type SizeName = keyof Sizes;

/** What follows from sizes. */
interface Following {
  from: SizeName[];
}

/** One axis of a shape. */
export interface Axis extends Following {
  length: number;
}

export interface Part extends Following {
  stack: "encoder" | "decoder";
  name: string;
  sort: (typeof SORTS)[number];
  /** What it makes, by name. */
  shapes: Record<string, Axis[]>;
  /** What it learns in one layer: how it is counted, and how many. `from` is what that follows from. */
  bill: [how: string, numbers: number][];
  /** How often it stands in its stack. */
  times: number;
  /** Whether every layer has one. */
  inLayer: boolean;
}

/** Sorts of parts, in the order of the bar. */
export const SORTS = ["attention", "feed-forward", "norms", "words and positions"] as const;

/** The encoder's parts, then the decoder's, each from the bottom up. */
export function modelParts(sizes: Sizes): Part[] {
  const { d_model, vocab_size } = sizes;
  const table = entry(`${count(vocab_size)} words × ${count(d_model)}`, vocab_size * d_model);
  return [
    embedding("encoder", sizes, [table], ["vocab_size", "d_model"]),
    attention("encoder", "self-attention", sizes),
    norm("encoder", sizes),
    feedForward("encoder", sizes),
    norm("encoder", sizes),
    embedding("decoder", sizes, [entry("it uses the encoder's table", 0)], []),
    attention("decoder", "masked self-attention", sizes),
    norm("decoder", sizes),
    attention("decoder", "cross-attention", sizes),
    norm("decoder", sizes),
    feedForward("decoder", sizes),
    norm("decoder", sizes),
    logits(sizes),
  ];
}

/** How many parameters a part has in one layer. */
export function learnedBy(part: Part): number {
  return part.bill.reduce((sum, [, numbers]) => sum + numbers, 0);
}

/** How many parameters all parts have together. */
export function learnedByAll(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + learnedBy(part) * part.times, 0);
}

/** The share of the parameters in each of SORTS, 0 to 1. */
export function sharesOf(parts: readonly Part[]): number[] {
  const total = learnedByAll(parts);
  return SORTS.map((sort) => learnedByAll(parts.filter((part) => part.sort === sort)) / total);
}

/** Whether an axis or a count follows from a size. */
export function follows({ from }: Following, size: SizeName | ""): boolean {
  return size !== "" && from.includes(size);
}

/** How many shapes and counts follow from a size, and how many there are. */
export function consequences(parts: readonly Part[], size: SizeName) {
  const shapes = parts.flatMap((part) => Object.values(part.shapes));
  return {
    shapes: shapes.filter((axes) => axes.some((axis) => follows(axis, size))).length,
    allShapes: shapes.length,
    counts: parts.filter((part) => follows(part, size)).length,
    allCounts: parts.length,
  };
}

/** A count with commas between its thousands. */
export function count(number: number): string {
  return number.toLocaleString("en-US");
}

function entry(how: string, numbers: number): [string, number] {
  return [how, numbers];
}

function axis(length: number, ...from: SizeName[]): Axis {
  return { length, from };
}

/** The axes of a batch of one sentence: [1, word]. */
function wordAxes(side: "n_source" | "n_target", sizes: Sizes): [Axis, Axis] {
  return [axis(1), axis(sizes[side], side)];
}

/** What is told of a part, and whether each layer has one: then it stands in its stack as often. */
const part = (told: Omit<Part, "times" | "inLayer">, layers?: number): Part => ({
  ...told,
  times: layers ?? 1,
  inLayer: layers !== undefined,
});

/** The axes of a stack's sentence: [1, word]. */
const sentenceOf = (stack: Part["stack"], sizes: Sizes) =>
  wordAxes(stack === "encoder" ? "n_source" : "n_target", sizes);

function embedding(stack: Part["stack"], sizes: Sizes, bill: Part["bill"], from: SizeName[]): Part {
  const words = sentenceOf(stack, sizes);
  const shapes = { ids: words, vectors: [...words, axis(sizes.d_model, "d_model")] };
  return part({ stack, name: "embedding + positions", sort: SORTS[3], shapes, bill, from });
}

function attention(stack: Part["stack"], name: string, sizes: Sizes): Part {
  const { d_model, n_heads, n_layers } = sizes;
  const answers = name === "masked self-attention" ? "n_target" : "n_source";
  const heads = axis(n_heads, "n_heads");
  const width = axis(d_model / n_heads, "d_model", "n_heads");
  const [one, query] = sentenceOf(stack, sizes);
  const [, key] = wordAxes(answers, sizes);
  const shapes = {
    query: [one, heads, query, width],
    key: [one, heads, key, width],
    value: [one, heads, key, width],
    weights: [one, heads, query, key],
    output: [one, query, axis(d_model, "d_model")],
  };
  const bill = [entry(`W^Q, W^K, W^V and W^O, each ${count(d_model)} × ${count(d_model)}`, 4 * d_model ** 2)];
  return part({ stack, name, sort: "attention", shapes, bill, from: ["d_model"] }, n_layers);
}

function feedForward(stack: Part["stack"], sizes: Sizes): Part {
  const { d_model, d_ff, n_layers } = sizes;
  const words = sentenceOf(stack, sizes);
  const shapes = { hidden: [...words, axis(d_ff, "d_ff")], output: [...words, axis(d_model, "d_model")] };
  const matrix = (name: string, from: number, to: number) =>
    entry(`${name}: ${count(from)} × ${count(to)}, with ${count(to)} biases`, from * to + to);
  const bill = [matrix("W_1", d_model, d_ff), matrix("W_2", d_ff, d_model)];
  const name = "feed-forward";
  return part({ stack, name, sort: name, shapes, bill, from: ["d_model", "d_ff"] }, n_layers);
}

function norm(stack: Part["stack"], sizes: Sizes): Part {
  const { d_model, n_layers } = sizes;
  const shapes = { output: [...sentenceOf(stack, sizes), axis(d_model, "d_model")] };
  const bill = [entry(`${count(d_model)} gains`, d_model), entry(`${count(d_model)} biases`, d_model)];
  return part({ stack, name: "Add & Norm", sort: "norms", shapes, bill, from: ["d_model"] }, n_layers);
}

function logits(sizes: Sizes): Part {
  const shapes = { output: [...wordAxes("n_target", sizes), axis(sizes.vocab_size, "vocab_size")] };
  const bill = [entry("it uses the encoder's table", 0)];
  return part({ stack: "decoder", name: "logits", sort: SORTS[3], shapes, bill, from: [] });
}

const [SIDE, GAP, MOST_HEADS, MOST_LINES] = [22, 4, 16, 10];

interface Grid {
  width: number;
  height: number;
  rows: number;
  cols: number;
}

/** The outline of the grids as the path of an SVG, and its size. */
export function headGrids({ heads, queries, keys }: { heads: number; queries: number; keys: number }) {
  const cell = SIDE / Math.max(queries, keys);
  const long = (cells: number) => Math.max(2, round(cells * cell));
  const [width, height] = [long(keys), long(queries)];
  const shown = Math.min(heads, MOST_HEADS);
  const lines = (cells: number) => (cells <= MOST_LINES ? cells : 1);
  const [rows, cols] = [lines(queries), lines(keys)];
  const path = Array.from({ length: shown }, (_, head) =>
    gridPath(1 + head * (width + GAP), 1, { width, height, rows, cols }),
  ).join("");
  return { path, width: shown * (width + GAP) - GAP + 2, height: height + 2 };
}

function gridPath(left: number, top: number, { width, height, rows, cols }: Grid): string {
  const across = Array.from(
    { length: rows + 1 },
    (_, row) => `M${round(left)} ${round(top + (row * height) / rows)}h${width}`,
  );
  const down = Array.from(
    { length: cols + 1 },
    (_, col) => `M${round(left + (col * width) / cols)} ${round(top)}v${height}`,
  );
  return [...across, ...down].join("");
}

function round(number: number): number {
  return Math.round(number * 100) / 100;
}
