// Shares as the stage prints them.

/**
 * A share in whole percents, finer where it is small; none but the whole is 100%.
 *
 * @param isCoarse whether no more than whole percents are known of it
 */
export function percent(share: number, isCoarse = false): string {
  if (share > 0.995 && share < 1) return ">\u00a099%";
  if (isCoarse) return share > 0 && share < 0.005 ? "<\u00a01%" : `${Math.round(100 * share)}%`;
  if (share > 0 && share < 0.001) return "<\u00a00.1%";
  return share > 0 && share < 0.1 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}
