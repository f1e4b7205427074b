// The sizes that all text and pictures of a view can have, the trait `text_size`.

const SIZES = [0.8, 1, 1.25, 1.5, 1.75, 2, 2.5];

/** The next text size, larger (`direction` 1) or smaller (-1); the same at either end. */
export function nextTextSize(size: number, direction: 1 | -1 | number) {
  const other = SIZES.filter((one) => (direction > 0 ? one > size + 0.01 : one < size - 0.01));
  return (direction > 0 ? other[0] : other.at(-1)) ?? size;
}
