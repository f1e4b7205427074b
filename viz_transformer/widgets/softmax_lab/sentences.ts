// Numbers as the softmax lab prints them.

/** A number with so many decimals, and a minus as it is printed. */
export function decimals(value: number, places: number): string {
  return value.toFixed(places).replace("-", "−");
}

/** A number with three decimals. */
export const three = (value: number) => decimals(value, 3);

/** A share in whole percents; below half a percent in words. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1%";
  return share > 0 && share < 0.1 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}
