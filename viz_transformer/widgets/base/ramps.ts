// The colour scales of the stage: indigo for attention weights, brown to green for signed numbers.
//
// Nine stops of about equal steps in lightness; on light pages more is darker, on dark pages lighter.

import { colourOf, type Rgb, type Theme } from "./js/colour.js";

const WEIGHT = {
  light: ["#f7f7fd", "#dfe1f6", "#c3c7ed", "#a5a9e1", "#868ad3", "#6569c2", "#464aad", "#2f3091", "#1d1a6e"],
  dark: ["#1f2233", "#2a2e50", "#373c70", "#464d90", "#5861af", "#6d77cb", "#8790e3", "#a5acf5", "#c9cdff"],
};
const SIGNED = {
  light: ["#5f2f08", "#8a4b14", "#b9793e", "#dfb78d", "#f6f5f0", "#bfd3ab", "#86ab66", "#557f37", "#2c5412"],
  dark: ["#ffd3a3", "#e0a56b", "#a8703a", "#60401f", "#20242f", "#33502a", "#5c8a45", "#a3d37e", "#d6f5c0"],
};

/** The colour of a weight from 0 to 1. */
export function weightRgb(weight: number, { name }: Theme): Rgb {
  return colourOf(weight, WEIGHT[name]);
}

/** The colour of a number from -limit to limit. */
export function signedRgb(value: number, limit: number, { name }: Theme): Rgb {
  return colourOf(0.5 + value / (2 * limit), SIGNED[name]);
}

/** A colour for a style. */
export const css = (rgb: Rgb) => `rgb(${rgb.join(",")})`;
