// Numbers and names as the softmax lab prints them.

import { elide, formatNumber, visible } from "../base/text.ts";

const LETTERS = 24; // of a key's name in a sentence

/** A number with three decimals. */
export const three = (value: number) => formatNumber(value, 3);

/** A key as sentences name it. */
export const named = (label: string) =>
  elide(visible(label), LETTERS, (text: string) => Array.from(text).length);
