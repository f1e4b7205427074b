// Shares as the stage prints them.

/** A share in whole percents, finer where it is small; none but the whole is 100%. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "<\u00a00.1%";
  if (share > 0.995 && share < 1) return ">\u00a099%";
  return share > 0 && share < 0.1 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}
