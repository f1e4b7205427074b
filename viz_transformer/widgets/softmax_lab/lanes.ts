// Where the parts of the picture stand: keys are lanes from top to bottom, steps columns from left to right.

/** Pixels above the lanes of a column, for its title. */
export const HEAD = 34;
const GAP = 28; // between columns
const CHROME = 230; // of a view, above and below its picture
const [WIDE_MARGIN, NARROW_MARGIN] = [288 + 48, 32]; // of the picture; stage.css has the same
const LOWEST = 2.2; // a lane's height, in units: its text and a finger
const HIGHEST = 160; // pixels; with few keys the lanes would be bars
const READABLE = 30; // the least width of all columns side by side, in units
const SCORES = 1.4; // how many times as wide as the others the first column is: it has two sides

export interface Layout {
  width: number;
  height: number;
  unit: number;
  lane: number;
  /** Where the names end. */
  names: number;
  /** Of the scores' column: its left end, the middle, and half its width. */
  scores: { left: number; zero: number; half: number };
  /** Of the other columns: the longest bar, the left ends, and where their lanes begin. */
  longest: number;
  columns: { left: number; top: number; named: boolean }[];
}

/**
 * Lay out the picture of a view.
 *
 * @param nKeys
 * @param widest the width of the widest name, in units
 * @param nSteps columns besides the scores
 * @param view the size of the whole view in pixels
 * @param textSize 1 is the usual
 */
export function layOut(
  nKeys: number,
  widest: number,
  nSteps: number,
  view: { width: number; height: number },
  textSize: number,
): Layout {
  const unit = Math.min(26, Math.max(16, view.width / 80)) * textSize;
  const width = view.width - (view.width >= 900 ? WIDE_MARGIN : NARROW_MARGIN);
  const names = Math.min(width / (view.width >= 900 ? 4 : 3), unit * (1 + widest));
  const room = width - names;
  const isRow = room > READABLE * unit; // else, as on a phone, one column below the other
  const nBlocks = isRow ? 1 : nSteps + 1;
  const share = (view.height - CHROME) / nBlocks - HEAD;
  const lane = Math.max(LOWEST * unit, Math.min(HIGHEST, share / nKeys));
  const block = HEAD + lane * nKeys;
  const scored = (isRow ? (room * SCORES) / (nSteps + SCORES) : room) - GAP;
  const column = isRow ? (room - scored - GAP) / nSteps - GAP : scored;
  const left = names + GAP;
  return {
    width,
    height: nBlocks * block,
    unit,
    lane,
    names,
    scores: { left, zero: left + scored / 2, half: scored / 2 - 12 },
    longest: column - 3.4 * unit, // beside its number
    columns: Array.from({ length: nSteps }, (_, at) => ({
      left: isRow ? left + scored + GAP + at * (column + GAP) : left,
      top: HEAD + (isRow ? 0 : (at + 1) * block),
      named: !isRow,
    })),
  };
}
