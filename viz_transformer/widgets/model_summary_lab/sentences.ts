// What the model summary lab says.

import {
  type Axis,
  consequences,
  count,
  learnedBy,
  learnedByAll,
  type Part,
  type SizeName,
  SORTS,
  sharesOf,
} from "./model_parts.ts";

/** A share as text, as in 28.6%. */
export const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;

/** How many parameters there are, and the sort of part that has most of them. */
export function headlineOf(parts: readonly Part[]): string {
  const shares = sharesOf(parts);
  const most = shares.indexOf(Math.max(...shares));
  return `${count(learnedByAll(parts))} parameters, ${percent(shares[most]!)} of them in ${SORTS[most]}`;
}

/** What follows from the size that is marked. */
export function consequencesInWords(parts: readonly Part[], size: SizeName | "", label = ""): string {
  if (!size) return "Change a size, and everything that depends on it is marked.";
  const { shapes, allShapes, counts, allCounts } = consequences(parts, size);
  if (size === "n_layers") return `“${label}”: every shape stays the same, and the total changes.`;
  const inShapes = `${shapes} of ${allShapes} shapes change`;
  return `“${label}”: ${inShapes}, and ${counts ? `${counts} of ${allCounts}` : "none of the"} counts.`;
}

/** A part's shapes, the names of those that are alike together: [["query, key, value", axes], …]. */
export function shapeLines({ shapes }: Part): [string, Axis[]][] {
  const lines = new Map<string, [string, Axis[]]>();
  for (const [name, axes] of Object.entries(shapes)) {
    // An output has the shape of no query, though the numbers may be the same.
    const key = name === "output" ? name : JSON.stringify(axes);
    const same = lines.get(key);
    lines.set(key, [same ? `${same[0]}, ${name}` : name, axes]);
  }
  const found = Array.from(lines.values());
  return found.length === 1 ? [["", found[0]![1]]] : found;
}

/** How a part's parameters are counted; `total` is that of all parts. */
export function billInWords(part: Part, total: number): string {
  const learned = learnedBy(part);
  const sum = part.bill.map(([how, numbers]) => (numbers ? `${how}: ${count(numbers)}` : how)).join("; ");
  if (!learned) return sum;
  const layers = part.times === 1 ? "1 layer" : `${part.times} layers`;
  const all = part.inLayer ? ` In ${layers} ${count(learned * part.times)},` : " That is";
  return `${sum}.${all} ${percent((learned * part.times) / total)} of all parameters.`;
}
