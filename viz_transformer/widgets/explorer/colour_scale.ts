// How weights become colours: as they are, as shares of the largest in their row, by their logarithm, or as
// shares of what the first token leaves: heads that attend to it by default are pale otherwise.

import type { Memo } from "./caches.ts";
import type { DisplayedHead } from "./displayed_head.ts";

const SMALLEST = 1e-3; // of the logarithmic scale

/** The scales, and what the legend says of each: at its ends, and why. */
export const COLOUR_SCALES: Record<string, { name: string; ends: [string, string]; told: string }> = {
  linear: { name: "0 to 100%", ends: ["0", "100%"], told: "" },
  row: {
    name: "each row's own",
    ends: ["0", "largest of its row"],
    told: "Colours are shares of the largest weight in each row.",
  },
  log: {
    name: "logarithmic",
    ends: ["≤ 0.1%", "100%"],
    told: "Colours are logarithmic: each step from 0.1% to 1%, 10% and 100% is as large.",
  },
  rest: {
    name: "without the first token",
    ends: ["0", "100% of the rest"],
    told: "Colours leave the first token out: they are shares of what the others get.",
  },
};

/** What stands for each weight of a row. */
const COLOURS: Record<string, (own: Float32Array) => (weight: number, col: number) => number> = {
  row(own) {
    const most = own.reduce((largest, weight) => Math.max(largest, weight), 0) || 1;
    return (weight) => weight / most;
  },
  log: () => (weight) => 1 - Math.log(Math.max(weight, SMALLEST)) / Math.log(SMALLEST),
  rest(own) {
    const rest = own.reduce((sum, weight) => sum + weight, -own[0]);
    return (weight, col) => (col && rest > 0 ? weight / rest : 0);
  },
};

/** The head with weights that stand for colours; weaker ones than `least` are 0. */
export function scaled(shown: DisplayedHead, scale: string, least: number, memo: Memo): DisplayedHead {
  if (scale === "linear" || shown.limit !== null || !shown.weights) return shown;
  const name = `${shown.name} ${scale} ${least}`;
  const weights = memo("scaled", [name], () => {
    const { weights: plain, rows, cols } = shown;
    const colours = new Float32Array(plain!.length);
    for (let row = 0; row < rows; row++) {
      const own = plain!.subarray(row * cols, (row + 1) * cols);
      const colourOf = COLOURS[scale](own);
      own.forEach((weight, col) => {
        colours[row * cols + col] = weight < least ? 0 : colourOf(weight, col);
      });
    }
    return colours;
  });
  return { ...shown, name, weights };
}
