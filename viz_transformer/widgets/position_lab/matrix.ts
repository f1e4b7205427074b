// Matrices in double precision: products, sums and sizes.

/** Values in C order. */
export interface Matrix {
  values: Float64Array;
  rows: number;
  cols: number;
}

export const matrixOf = (values: Float64Array, rows: number, cols: number): Matrix => ({
  values,
  rows,
  cols,
});

/** The number in a row and column. */
export const at = ({ values, cols }: Matrix, row: number, col: number) => values[row * cols + col];

/** The dot product of a row of one with a row of another. */
export function dot(a: Matrix, row: number, b: Matrix, other: number): number {
  let sum = 0;
  for (let i = 0; i < a.cols; i++) sum += at(a, row, i) * at(b, other, i);
  return sum;
}

/** a · bᵀ: the dot product of every row of one with every row of the other. */
export function dotProducts(a: Matrix, b: Matrix): Matrix {
  const values = new Float64Array(a.rows * b.rows);
  for (let row = 0; row < a.rows; row++)
    for (let col = 0; col < b.rows; col++) values[row * b.rows + col] = dot(a, row, b, col);
  return matrixOf(values, a.rows, b.rows);
}

/** Some rows of a matrix. */
export const rowsOf = ({ values, cols }: Matrix, first: number, count: number) =>
  matrixOf(values.subarray(first * cols, (first + count) * cols), count, cols);

export const scaled = ({ values, rows, cols }: Matrix, factor: number) =>
  matrixOf(
    values.map((value) => value * factor),
    rows,
    cols,
  );

/** a + times · b. */
export const sumOf = (a: Matrix, b: Matrix, times = 1) =>
  matrixOf(
    a.values.map((value, i) => value + times * b.values[i]),
    a.rows,
    a.cols,
  );

/** Root mean square. */
export const rmsOf = ({ values }: Pick<Matrix, "values">) =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
