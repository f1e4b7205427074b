// Where the tree of a search stands: a column for each step, each branch as high as it is probable.

import { type Candidate, heightsOf, keptIndices, parentOf, type Found, tokenChance } from "./candidates.ts";

const SEEN = 0.005; // what is less probable has no height, and stands among words below the branches
// In units of the text's size: a line, between lines, above a column, the start, between columns, and a rank.
const [LINE, GAP, HEAD, START, BETWEEN, RANK] = [1.5, 0.25, 1.7, 4, 1.6, 2];
const ASIDE = 1; // around a word below the branches
const [NARROWEST, WIDEST] = [4.4, 12]; // of a column
const MOST_LINES = 3; // of words below the branches
const LOWEST = 5; // of all of the probability: in more candidates than fit a screen a branch still has a height

/** The candidates of a step from top to bottom: those with a row each, and those below. */
function orderOf(result: Found): { rows: number[]; tail: number[] }[] {
  const { steps, sampled } = result;
  const heights = heightsOf(result);
  let lanes: number[] = []; // of each place in the beam, its row
  return steps.map((step, number) => {
    const zone = { kept: 0, finished: 0, pruned: 1, forbidden: 2 };
    const key = (index: number) => {
      const { status, parent } = step[index];
      return [sampled ? 0 : zone[status], lanes[parent] ?? 0, index];
    };
    const sorted = step
      .map((_, index) => index)
      .sort((a, b) => key(a).reduce((sum, part, at) => sum || part - key(b)[at], 0));
    const goesOn = ({ status }: Candidate) => status === "kept" && number < steps.length - 1;
    const hasRow = (index: number) =>
      goesOn(step[index]) || step[index].status === "finished" || heights[number][index] >= SEEN;
    const rows = sorted.filter(hasRow);
    lanes = keptIndices(step).map((index) => rows.indexOf(index));
    return { rows, tail: sorted.filter((index) => !hasRow(index)) };
  });
}

export interface Room {
  width: number;
  height: number;
}

export interface Box extends Room {
  left: number;
  top: number;
}

/** A candidate's row, and how high its branch is. */
export interface Branch extends Box {
  step: number;
  index: number;
  flow: number;
  /** What leads to it, as a path. */
  from: string;
}

interface Column {
  left: number;
  width: number;
  branches: Branch[];
  /** The words below the branches, their place, how many of them fit, and the lines that lead to them. */
  tail: number[];
  tailBox: Box;
  nWords: number;
  cuts: string[];
  /** All candidates from top to bottom. */
  order: number[];
}

export interface River extends Room {
  line: number;
  head: number;
  start: Box;
  columns: Column[];
}

/**
 * Lay out a search as high as its room, if all of its rows fit.
 *
 * @param result
 * @param shown the height of each candidate of each step, 0 to 1, on its way
 * @param room
 * @param unit in pixels
 * @param widthOf returns how wide a candidate's word is, in units
 */
export function layOut(
  result: Found,
  shown: readonly number[],
  room: Room,
  unit: number,
  widthOf: (candidate: Candidate) => number,
): River {
  const { steps } = result;
  const [line, gap, head, start] = [LINE * unit, GAP * unit, HEAD * unit, START * unit];
  const orders = orderOf(result);
  const widths = orders.flatMap(({ rows }, step) => rows.map((index) => widthOf(steps[step][index])));
  const least = (Math.min(9, Math.max(NARROWEST, Math.max(...widths) + 1.2)) + BETWEEN) * unit;
  const pitch = Math.max(least, (room.width - start - RANK * unit) / steps.length);
  const width = Math.min(WIDEST * unit, Math.max(least - BETWEEN * unit, 0.55 * pitch));
  const below = width + 0.7 * (pitch - width);
  const words = orders.map(({ tail }, step) => {
    const each = tail.map((index) => 0.85 * widthOf(steps[step][index]) + ASIDE);
    return fitWords(each, below / unit - ASIDE); // beside a mark
  });
  const starts = steps.map((_, step) => steps.slice(0, step).reduce((sum, { length }) => sum + length, 0));
  const heightAt = (step: number, index: number) => shown[starts[step] + index] ?? 0;
  const needed = (scale: number) =>
    Math.max(
      head + scale,
      ...orders.map(({ rows }, step) =>
        rows.reduce(
          (sum, index) => sum + gap + Math.max(line, scale * heightAt(step, index)),
          head + line * words[step].lines,
        ),
      ),
    );
  const scale = Math.max(
    LOWEST * unit,
    largest((each) => needed(each) <= room.height, room.height),
  );
  const river: River = {
    ...{ width: start + steps.length * pitch + RANK * unit, height: Math.max(room.height, needed(scale)) },
    ...{ line, head, start: { left: 0, top: head, width: start, height: scale }, columns: [] },
  };
  orders.forEach(({ rows, tail }, step) => {
    const left = start + (step + 1) * pitch - width;
    let top = head;
    const branches = rows.map((index) => {
      const flow = scale * heightAt(step, index);
      const branch = { step, index, left, top, width, height: Math.max(line, flow), flow, from: "" };
      top += branch.height + gap;
      return branch;
    });
    const [{ lines, count: nWords }, order] = [words[step], [...rows, ...tail]];
    const tailBox = { left, top, width: Math.min(below, river.width - left), height: line * lines };
    river.columns.push({ left, width, branches, tail, tailBox, nWords, order, cuts: [] });
    addFlows(river, steps, step);
    addCuts(river, steps, step);
  });
  return river;
}

/** The largest number up to `most` that fits, where each smaller one does too. */
function largest(fits: (value: number) => boolean, most: number): number {
  let [low, high] = [0, most];
  for (let halved = 0; halved < 24; halved++) {
    const middle = (low + high) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function originOf(river: River, steps: readonly Candidate[][], step: number, index: number) {
  const parent = parentOf(steps, step, index);
  if (step === 0) return { ...river.start, flow: river.start.height };
  return river.columns[step - 1].branches.find((each) => each.index === parent) ?? null;
}

/** Draw what leads to the branches of a step: each leaves its origin below the one before it. */
function addFlows(river: River, steps: readonly Candidate[][], step: number): void {
  const { branches } = river.columns[step];
  const shareOf = ({ index }: Branch) => steps[step][index].share ?? tokenChance(steps[step][index]);
  const taken = new Map<number, number>();
  for (const branch of branches) {
    const { parent } = steps[step][branch.index];
    const origin = originOf(river, steps, step, branch.index);
    if (!origin) continue;
    const siblings = branches.filter(({ index }) => steps[step][index].parent === parent);
    const all = Math.max(
      1,
      siblings.reduce((sum, each) => sum + shareOf(each), 0),
    );
    const leaves = (origin.flow * shareOf(branch)) / all;
    const top = origin.top + (taken.get(parent) ?? 0);
    taken.set(parent, (taken.get(parent) ?? 0) + leaves);
    const [from, to] = [origin.left + origin.width, branch.left];
    branch.from = ribbon(from, top, Math.max(1, leaves), to, branch.top, Math.max(1, branch.flow));
  }
}

/** Draw a line from each text to the words below that did not continue it. */
function addCuts(river: River, steps: readonly Candidate[][], step: number): void {
  const { tail, tailBox: box, cuts } = river.columns[step];
  const dropped = tail.filter((index) => steps[step][index].status !== "kept");
  const parents = new Map(dropped.map((index) => [steps[step][index].parent, index]));
  for (const index of parents.values()) {
    const origin = originOf(river, steps, step, index);
    if (!origin) continue;
    const [from, y] = [origin.left + origin.width, origin.top + Math.max(origin.flow, 1)];
    const [to, end, middle] = [box.left - 4, box.top + river.line / 2, (from + box.left) / 2];
    cuts.push(`M${from} ${y}C${middle} ${y} ${middle} ${end} ${to} ${end}`);
  }
}

function ribbon(
  from: number,
  top: number,
  height: number,
  to: number,
  end: number,
  endHeight: number,
): string {
  const middle = (from + to) / 2;
  const curve = (a: number, b: number, y: number, by: number) => `C${middle} ${a} ${middle} ${b} ${y} ${by}`;
  return (
    `M${from} ${top}${curve(top, end, to, end)}V${end + endHeight}` +
    `${curve(end + endHeight, top + height, from, top + height)}Z`
  );
}

/** How many lines words take, at most `MOST_LINES`, and how many of them fit, beside how many more there are. */
function fitWords(widths: readonly number[], room: number): { lines: number; count: number } {
  let [lines, used] = [widths.length ? 1 : 0, 0];
  for (const [at, width] of widths.entries()) {
    if (used && used + width > room) [lines, used] = [lines + 1, 0];
    if (lines > MOST_LINES) return { lines: MOST_LINES, count: at - 1 };
    used += Math.min(width, room) + GAP;
  }
  return { lines, count: widths.length };
}
