// The colours of numbers on the stage: indigo for attention weights, brown to green for signed numbers.

import { colourOf, type Rgb, type Theme } from "./js/colour.js";

/** The colour of a weight from 0 to 1. */
export const weightRgb = (weight: number, { stops }: Theme): Rgb => colourOf(weight, stops);

/** The colour of a number from -limit to limit. */
export const signedRgb = (value: number, limit: number, { signedStops }: Theme): Rgb =>
  colourOf(0.5 + value / (2 * limit), signedStops);

/** A colour for a style. */
export const css = (rgb: Rgb) => `rgb(${rgb.join(",")})`;
