// Attention paths: the lines between columns of tokens, of one step or of several, and their strength.

import type { DisplayedHead } from "./displayed_head.ts";

const FAINTEST = 0.02; // lines below this weight are left out: they are invisible, and there are many
const MANY_CELLS = 2 ** 17; // of more cells only the lines of the rows in view are computed
export const MOST_LINES = 250; // of one step between two columns: more lines are unreadable, and slow

/** Lines by the rows and columns that they join. */
interface Lines {
  row: Uint16Array;
  col: Uint16Array;
  value: Float32Array;
  count: number;
  all: number;
}

type Weights = Pick<DisplayedHead, "weights" | "rows" | "cols" | "limit">;

/**
 * The strongest lines of one picture of weights, as {row, col, value, count, all}: `value` is the
 * weight (of a difference, its share of the scale), times how strongly its row (`rowReach`) or
 * column (`colReach`) is reached from the focus. `all` counts those from `least` up, `count` those
 * that are returned. `inView`, [first, last + 1], are the rows that are considered.
 */
export function strongLines(
  { weights: found, rows, cols, limit }: Weights,
  {
    rowReach = null,
    colReach = null,
    least,
    most = MOST_LINES,
    inView = [0, rows],
  }: {
    rowReach?: Float32Array | null;
    colReach?: Float32Array | null;
    least: number;
    most?: number;
    inView?: number[];
  },
): Lines {
  const weights = found!; // a picture whose weights are here
  const from = reached(rowReach, rows, least).subarray(inView[0], inView[1]);
  const to = colReach && reached(colReach, cols, least); // null: all of them
  const across = to ? to.length : cols;
  const scale = 1 / (limit ?? 1);
  const steps = new Uint32Array(257);
  let all = 0;
  for (let i = 0; i < from.length; i++) {
    const start = from[i] * cols;
    const near = rowReach ? rowReach[from[i]] * scale : scale;
    for (let j = 0; j < across; j++) {
      const value = to ? weights[start + to[j]] * near * colReach![to[j]] : weights[start + j] * near;
      if (value < least && value > -least) continue;
      all += 1;
      steps[Math.min(256, Math.abs(value) * 256) | 0] += 1;
    }
  }
  let [cut, count] = [257, 0];
  while (cut > 0 && count + steps[cut - 1] <= most) count += steps[--cut];
  const edge = Math.max(least, cut / 256);
  const lines = {
    row: new Uint16Array(count),
    col: new Uint16Array(count),
    value: new Float32Array(count),
    count: 0,
    all,
  };
  for (let i = 0; i < from.length && lines.count < count; i++) {
    const start = from[i] * cols;
    const near = rowReach ? rowReach[from[i]] * scale : scale;
    for (let j = 0; j < across && lines.count < count; j++) {
      const value = to ? weights[start + to[j]] * near * colReach![to[j]] : weights[start + j] * near;
      if (value < edge && value > -edge) continue;
      lines.row[lines.count] = from[i];
      lines.col[lines.count] = to ? to[j] : j;
      lines.value[lines.count++] = value;
    }
  }
  return lines;
}

/** Whether a picture has so many cells that not all its lines are computed. */
export function isMany({ rows, cols }: DisplayedHead | Weights) {
  return rows * cols > MANY_CELLS;
}

/** The indices where `reach` is at least `least`; all indices where `reach` is null. */
function reached(reach: Float32Array | null, count: number, least: number) {
  const indices = new Int32Array(count);
  let size = 0;
  for (let index = 0; index < count; index++) {
    if (!reach || Math.abs(reach[index]) >= least) indices[size++] = index;
  }
  return indices.subarray(0, size);
}

/** How strongly each token of the other side is reached over one step: by its strongest path. */
export function spread(
  { weights, rows, cols }: Weights,
  near: Float32Array,
  fromRows: boolean,
  least = 0.002,
) {
  const far = new Float32Array(fromRows ? cols : rows);
  for (const index of reached(near, near.length, least)) {
    for (let other = 0; other < far.length; other++) {
      const weight = fromRows ? weights![index * cols + other] : weights![other * cols + index];
      const value = weight * near[index];
      if (Math.abs(value) > Math.abs(far[other])) far[other] = value;
    }
  }
  return far;
}

/**
 * What is highlighted, column by column: {reach: [Float32Array or null], lines: [of each link or null]}.
 *
 * `links[i]` joins column i to i + 1 and is {shown, flip}: its queries are on the left, or with
 * `flip` on the right. A path is as strong as the product of its weights. From `focus`, {column,
 * index}, paths run through all columns; of a difference, only one step: changes do not multiply.
 * Without a focus every link shows its own strongest weights, of many those of the rows `inView`.
 *
 * @param counts of the tokens of each column
 */
export function pathsOf(
  links: { shown: Weights; flip: boolean }[],
  counts: number[],
  focus: { column: number; index: number } | null,
  threshold: number,
  inView?: number[],
) {
  const reach: (Float32Array | null)[] = counts.map(() => null);
  if (!focus) {
    const lines = links.map(
      ({ shown }) =>
        shown.weights &&
        strongLines(shown, {
          least: Math.max(FAINTEST, threshold),
          ...(isMany(shown) && { inView }),
        }),
    );
    return { reach, lines };
  }
  const lines: (Lines | null)[] = links.map(() => null);
  const least = Math.max(0.005, threshold);
  const start = new Float32Array(counts[focus.column]);
  start[focus.index] = 1;
  reach[focus.column] = start;
  for (const way of [1, -1]) {
    for (let column = focus.column; links[Math.min(column, column + way)]; column += way) {
      const at = Math.min(column, column + way);
      const { shown, flip } = links[at];
      const near = reach[column];
      if (!near || !shown.weights || (shown.limit !== null && column !== focus.column)) break;
      const fromRows = (way === 1) !== flip;
      lines[at] = strongLines(shown, { [fromRows ? "rowReach" : "colReach"]: near, least });
      reach[column + way] = spread(shown, near, fromRows);
    }
  }
  return { reach, lines };
}
