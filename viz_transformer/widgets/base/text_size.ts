// The two buttons for the size of all text and pictures of a view, and the trait `text_size`.

import { button } from "./controls.ts";

const SIZES = [0.8, 1, 1.25, 1.5, 1.75, 2, 2.5];

/** The next text size, larger (`direction` 1) or smaller (-1); the same at either end. */
export function nextTextSize(size: number, direction: 1 | -1 | number) {
  const other = SIZES.filter((one) => (direction > 0 ? one > size + 0.01 : one < size - 0.01));
  return (direction > 0 ? other[0] : other.at(-1)) ?? size;
}

/**
 * Add the buttons A− and A+ to `parent`.
 *
 * @param get a trait of the model
 * @param set traits of the model
 */
export function addTextSizeButtons(
  parent: HTMLElement,
  get: (trait: "text_size") => number | null | undefined,
  set: (change: { text_size: number }) => void,
) {
  const add = (text: string, label: string, direction: 1 | -1) => {
    const node = button(parent, text, () =>
      set({ text_size: nextTextSize(get("text_size") ?? 1, direction) }),
    );
    node.setAttribute("aria-label", label);
  };
  add("A−", "A− smaller text", -1);
  add("A+", "A+ larger text", 1);
}
