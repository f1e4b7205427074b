// The colours of numbers on the stage: indigo for attention weights, brown to green for signed numbers, magenta for
// what a change has moved.

import { colourOf, type Rgb, type Theme } from "./colour.ts";

/** The colour of a weight from 0 to 1. */
export const weightRgb = (weight: number, { stops }: Theme): Rgb => colourOf(weight, stops);

/** The colour of a number from -limit to limit. */
export const signedRgb = (value: number, limit: number, { signedStops }: Theme): Rgb =>
  colourOf(0.5 + value / (2 * limit), signedStops);

/** A colour for a style. */
export const css = (rgb: Rgb) => `rgb(${rgb.join(",")})`;

/** The colour of how much a change has moved, from 0 to 1. */
export const changeRgb = (share: number, { changes }: Theme): Rgb => colourOf(share, changes);
