// Pairs of columns of a table of positions, seen as the hands of clocks: how fast they turn, and when
// they point alike. In double precision, as viz_transformer/analysis/positions.py; a test compares them.

/** Nearer than this, two positions look alike to a pair of dimensions; Python has the same number. */
export const ALIKE = 0.3;

/**
 * The angular frequency of a pair of dimensions, in radians a token.
 *
 * @param {number} pair
 * @param {number} width
 */
export function angularFrequency(pair, width) {
  return 10000 ** (-(2 * pair) / width);
}

/**
 * The wavelength of a pair of dimensions, in tokens.
 *
 * @param {number} pair
 * @param {number} width
 */
export function wavelength(pair, width) {
  return (2 * Math.PI) / angularFrequency(pair, width);
}

/**
 * The other positions whose two numbers in a pair lie nearer to those of `position` than ALIKE.
 *
 * @param {{values: ArrayLike<number>, rows: number, cols: number}} table [position, dimension]
 * @param {number} position
 * @param {number} pair
 */
export function lookAlikes({ values, rows, cols }, position, pair) {
  const at = (row) => [values[row * cols + 2 * pair], values[row * cols + 2 * pair + 1]];
  const [x, y] = at(position);
  return Array.from({ length: rows }, (_, row) => row).filter(
    (row) => row !== position && Math.hypot(at(row)[0] - x, at(row)[1] - y) < ALIKE,
  );
}
