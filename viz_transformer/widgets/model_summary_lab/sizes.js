// The sizes of the model as the viewer sets them: what is typed or slid to becomes a model that exists.

/** @import { Sizes } from "./model_parts.js" */

/**
 * The sizes with one of them changed. A size out of range goes to the nearest in it. The number of
 * heads must divide d_model, which is even: of the two, the one that was not set gives way.
 *
 * @param {Sizes} sizes
 * @param {{name: string, most: number}} control
 * @param {number} value
 * @returns {Sizes}
 */
export function withSize(sizes, { name, most }, value) {
  if (!Number.isFinite(value)) return sizes;
  const changed = { ...sizes, [name]: Math.min(most, Math.max(1, Math.round(value))) };
  if (name === "d_model") {
    changed.d_model = Math.max(2, changed.d_model - (changed.d_model % 2));
    changed.n_heads = divisorUpTo(changed.d_model, changed.n_heads);
  }
  if (name === "n_heads") changed.n_heads = divisorUpTo(changed.d_model, changed.n_heads);
  return changed;
}

/** The largest number up to `most` that divides a width. */
export function divisorUpTo(width, most) {
  let number = Math.min(width, most);
  while (width % number) number--;
  return number;
}

/** The index of the stop nearest to a value, by their ratio. */
export function nearestStop(stops, value) {
  const apart = stops.map((stop) => Math.abs(Math.log(stop / value)));
  return apart.indexOf(Math.min(...apart));
}
