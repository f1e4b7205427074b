// The sizes of the model as the viewer sets them: what is typed or slid to becomes a model that exists.

import { count, type SizeName, type Sizes } from "./model_parts.ts";

/** What sets a size: a slider with stops, and a field for any number up to `most`. */
export interface Control {
  name: SizeName;
  label: string;
  stops: number[];
  most: number;
}

/**
 * The sizes with one of them changed. A size out of range goes to the nearest in it. The number of
 * heads must divide d_model, which is even: of the two, the one that was not set gives way.
 */
export function withSize(sizes: Sizes, { name, most }: Pick<Control, "name" | "most">, value: number): Sizes {
  if (!Number.isFinite(value)) return sizes;
  const changed = { ...sizes, [name]: Math.min(most, Math.max(1, Math.round(value))) };
  if (name === "d_model") {
    changed.d_model = Math.max(2, changed.d_model - (changed.d_model % 2));
    changed.n_heads = divisorUpTo(changed.d_model, changed.n_heads);
  }
  if (name === "n_heads") changed.n_heads = divisorUpTo(changed.d_model, changed.n_heads);
  return changed;
}

/** What was set otherwise than asked for, and why; nothing where all is as asked. */
export function correctionInWords(before: Sizes, control: Control, value: number): string {
  const { name, label, most } = control;
  const after = withSize(before, control, value);
  if (!Number.isFinite(value)) return `“${label}” is still ${count(before[name])}.`;
  if (name === "n_heads" && after.n_heads !== value && value >= 1 && value <= most)
    return `${count(value)} heads do not divide d_model = ${count(after.d_model)}: there are ${after.n_heads}.`;
  if (name === "d_model" && value % 2 && value >= 2 && value <= most)
    return `d_model is even: it is ${count(after.d_model)}.`;
  if (after[name] !== value) return `“${label}” is ${count(after[name])}, of 1 to ${count(most)}.`;
  if (after.n_heads !== before.n_heads && name === "d_model")
    return `${before.n_heads} heads do not divide d_model = ${count(value)}: there are ${after.n_heads}.`;
  return "";
}

function divisorUpTo(width: number, most: number): number {
  let number = Math.min(width, most);
  while (width % number) number--;
  return number;
}

/** The index of the stop nearest to a value, by their ratio. */
export function nearestStop(stops: readonly number[], value: number): number {
  const apart = stops.map((stop) => Math.abs(Math.log(stop / value)));
  return apart.indexOf(Math.min(...apart));
}
