// Numbers as the softmax lab prints them.

/** A number with so many decimals, and a minus as it is printed. */
export function decimals(value: number, places: number): string {
  return value.toFixed(places).replace("-", "−");
}

/** A number with three decimals. */
export const three = (value: number) => decimals(value, 3);

/** A name of so many letters at most; what is cut off shows as an ellipsis. */
export function shortened(name: string, letters: number): string {
  const all = Array.from(name);
  return all.length <= letters ? name : `${all.slice(0, Math.max(1, letters - 1)).join("")}…`;
}

/** A share in whole percents; below half a percent in words. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1%";
  return share > 0 && share < 0.1 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}
