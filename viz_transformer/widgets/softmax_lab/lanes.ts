// Where the parts of the picture stand: keys are lanes from top to bottom, steps columns from left to right.

/** Pixels above the lanes of a column, for its title. */
export const HEAD = 34;
const GAP = 20; // between columns
// What is beside the picture and above and below it, in pixels; stage.css has the same. A narrow view has its
// inspector below.
const [WIDE, NARROW] = [
  { beside: 288 + 48, above: 200 },
  { beside: 32, above: 240 },
];
const LOWEST = 2.2; // a lane's height, in units: its text and a finger
const HIGHEST = 160; // pixels; with few keys the lanes would be bars
const READABLE = 30; // the least width of all columns side by side, in units
const SCORES = 1.4; // the share of the first column, which has two sides
const NUMBER = 3.2; // the width of a number beside its bar, in units

export interface Layout {
  width: number;
  height: number;
  unit: number;
  lane: number;
  /** Where the names end. */
  names: number;
  /** Of the scores' column: its left end, the middle, and half its width. */
  scores: { left: number; zero: number; half: number };
  /** Of the other columns: the left ends, where their lanes begin, and the longest bars. */
  columns: { left: number; top: number; longest: number; named: boolean }[];
}

/**
 * Lay out the picture of a view.
 *
 * @param nKeys
 * @param widest the width of the widest name, in units
 * @param shares of the columns besides the scores: how wide each is against the others
 * @param view the size of the whole view, and its unit, in pixels
 */
export function layOut(
  nKeys: number,
  widest: number,
  shares: readonly number[],
  view: { width: number; height: number; unit: number },
): Layout {
  const { unit } = view;
  const { beside, above } = view.width >= 900 ? WIDE : NARROW;
  const width = view.width - beside;
  const names = Math.min(width / (view.width >= 900 ? 4 : 3), unit * (1 + widest));
  const room = width - names;
  const isRow = room > READABLE * unit; // else, as on a phone, one column below the other
  const nBlocks = isRow ? 1 : shares.length + 1;
  const share = (view.height - above) / nBlocks - HEAD;
  const lane = Math.max(LOWEST * unit, Math.min(HIGHEST, share / nKeys));
  const block = HEAD + lane * nKeys;
  const left = names + GAP;
  const all = isRow ? SCORES + shares.reduce((sum, share) => sum + share, 0) : 1;
  const widthOf = (share: number) => (isRow ? (room * share) / all : room) - GAP;
  const scored = widthOf(SCORES);
  let next = left + scored + GAP;
  return {
    width,
    height: nBlocks * block,
    unit,
    lane,
    names,
    scores: { left, zero: left + scored / 2, half: scored / 2 - 12 },
    columns: shares.map((share, at) => {
      const column = isRow
        ? { left: next, top: HEAD, named: false }
        : { left, top: HEAD + (at + 1) * block, named: true };
      next += widthOf(share) + GAP;
      return { ...column, longest: widthOf(share) - NUMBER * unit };
    }),
  };
}
