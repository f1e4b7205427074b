// Matrices in double precision: products, sums and sizes.

/** @typedef {{values: Float64Array, rows: number, cols: number}} Matrix values in C order */

/**
 * @param {Float64Array} values
 * @param {number} rows
 * @param {number} cols
 * @returns {Matrix}
 */
export function matrixOf(values, rows, cols) {
  return { values, rows, cols };
}

/**
 * a · bᵀ: the dot product of every row of one with every row of the other.
 *
 * @param {Matrix} a
 * @param {Matrix} b
 */
export function dotProducts(a, b) {
  const values = new Float64Array(a.rows * b.rows);
  for (let row = 0; row < a.rows; row++) {
    for (let col = 0; col < b.rows; col++) {
      let sum = 0;
      for (let i = 0; i < a.cols; i++) sum += a.values[row * a.cols + i] * b.values[col * b.cols + i];
      values[row * b.rows + col] = sum;
    }
  }
  return matrixOf(values, a.rows, b.rows);
}

/**
 * Some rows of a matrix.
 *
 * @param {Matrix} matrix
 * @param {number} first
 * @param {number} count
 */
export function rowsOf({ values, cols }, first, count) {
  return matrixOf(values.subarray(first * cols, (first + count) * cols), count, cols);
}

/**
 * @param {Matrix} matrix
 * @param {number} factor
 */
export function scaled({ values, rows, cols }, factor) {
  return matrixOf(
    values.map((value) => value * factor),
    rows,
    cols,
  );
}

/**
 * a − b.
 *
 * @param {Matrix} a
 * @param {Matrix} b
 */
export function differenceOf(a, b) {
  return matrixOf(
    a.values.map((value, i) => value - b.values[i]),
    a.rows,
    a.cols,
  );
}

/**
 * Root mean square.
 *
 * @param {Pick<Matrix, "values">} matrix
 */
export function rmsOf({ values }) {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

/**
 * The largest absolute value; 1 for zeros, so that it can be divided by.
 *
 * @param {...Matrix} matrices
 */
export function limitOf(...matrices) {
  const largest = Math.max(
    ...matrices.map(({ values }) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)),
  );
  return largest || 1;
}
