// Numbers and names as the softmax lab prints them.

import { elide, formatNumber, visible } from "../base/js/text.js";

const LETTERS = 24; // of a key's name in a sentence

/** A number with three decimals. */
export const three = (value: number) => formatNumber(value, 3);

/** A key as sentences name it. */
export const named = (label: string) =>
  elide(visible(label), LETTERS, (text: string) => Array.from(text).length);

/** A share in whole percents, finer where it is small; none but the whole is 100%. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1%";
  if (share > 0.995 && share < 1) return "> 99%";
  return share > 0 && share < 0.1 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}
