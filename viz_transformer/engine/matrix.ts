// Matrices, row after row in one array, and the sums over them that a Transformer is made of.
//
// Letters in the shapes: `row` mostly counts positions, `in` and `out` the widths of vectors.

export interface Matrix {
  rows: number;
  cols: number;
  /** Row after row: the number at [row, col] is data[row * cols + col]. */
  data: Float32Array;
}

export interface Linear {
  /** [out, in], as in torch */
  weight: Matrix;
  /** [out] */
  bias: Float32Array | null;
}

export interface Norm {
  /** [d_model] */
  weight: Float32Array;
  /** [d_model] */
  bias: Float32Array;
  /** Added to the variance. */
  eps: number;
}

/** A matrix of these numbers, or of zeros. */
export function makeMatrix(
  rows: number,
  cols: number,
  data: Float32Array = new Float32Array(rows * cols),
): Matrix {
  return { rows, cols, data };
}

/** Compute x Wᵀ + b: compare every row of x with every row of W. [row, out] */
export function linear(x: Matrix, { weight, bias }: Linear): Matrix {
  const y = makeMatrix(x.rows, weight.rows); // [row, out]
  if (bias) for (let row = 0; row < y.rows; row++) y.data.set(bias, row * y.cols);
  const inPairs = x.rows - (x.rows % 2);
  for (let row = 0; row < inPairs; row += 2) addTwoRows(y, x, weight, row);
  if (inPairs < x.rows) addRow(y, x, weight, inPairs);
  return y;
}

/**
 * Add x Wᵀ to two rows of y, four columns at a time: eight sums share six numbers, and none waits for
 * the one before it.
 */
function addTwoRows(y: Matrix, x: Matrix, weight: Matrix, row: number) {
  const [from, w, to] = [x.data, weight.data, y.data];
  const [nIn, nOut] = [weight.cols, weight.rows];
  const x0 = row * nIn;
  const x1 = x0 + nIn;
  const y0 = row * nOut;
  const y1 = y0 + nOut;
  const byFours = nOut - (nOut % 4);
  for (let col = 0; col < byFours; col += 4) {
    const w0 = col * nIn;
    const w1 = w0 + nIn;
    const w2 = w1 + nIn;
    const w3 = w2 + nIn;
    let a0 = 0; // a double: it is rounded once, at the end
    let a1 = 0;
    let a2 = 0;
    let a3 = 0;
    let b0 = 0;
    let b1 = 0;
    let b2 = 0;
    let b3 = 0;
    for (let i = 0; i < nIn; i++) {
      const a = from[x0 + i];
      const b = from[x1 + i];
      const c0 = w[w0 + i];
      const c1 = w[w1 + i];
      const c2 = w[w2 + i];
      const c3 = w[w3 + i];
      a0 += a * c0;
      b0 += b * c0;
      a1 += a * c1;
      b1 += b * c1;
      a2 += a * c2;
      b2 += b * c2;
      a3 += a * c3;
      b3 += b * c3;
    }
    to[y0 + col] += a0;
    to[y0 + col + 1] += a1;
    to[y0 + col + 2] += a2;
    to[y0 + col + 3] += a3;
    to[y1 + col] += b0;
    to[y1 + col + 1] += b1;
    to[y1 + col + 2] += b2;
    to[y1 + col + 3] += b3;
  }
  for (let col = byFours; col < nOut; col++) {
    to[y0 + col] += dotProduct(from, x0, w, col * nIn, nIn);
    to[y1 + col] += dotProduct(from, x1, w, col * nIn, nIn);
  }
}

/**
 * Add x Wᵀ to one row of y, four columns at a time. Decoding reads a row at a time, and given to
 * `addTwoRows` twice over, it would take 1.4 times as long.
 */
function addRow(y: Matrix, x: Matrix, weight: Matrix, row: number) {
  const [from, w, to] = [x.data, weight.data, y.data];
  const [nIn, nOut] = [weight.cols, weight.rows];
  const x0 = row * nIn;
  const y0 = row * nOut;
  const byFours = nOut - (nOut % 4);
  for (let col = 0; col < byFours; col += 4) {
    const w0 = col * nIn;
    const w1 = w0 + nIn;
    const w2 = w1 + nIn;
    const w3 = w2 + nIn;
    let a0 = 0;
    let a1 = 0;
    let a2 = 0;
    let a3 = 0;
    for (let i = 0; i < nIn; i++) {
      const a = from[x0 + i];
      a0 += a * w[w0 + i];
      a1 += a * w[w1 + i];
      a2 += a * w[w2 + i];
      a3 += a * w[w3 + i];
    }
    to[y0 + col] += a0;
    to[y0 + col + 1] += a1;
    to[y0 + col + 2] += a2;
    to[y0 + col + 3] += a3;
  }
  for (let col = byFours; col < nOut; col++) to[y0 + col] += dotProduct(from, x0, w, col * nIn, nIn);
}

/** The dot product of `length` numbers of x from `i` on and as many of y from `j` on. */
function dotProduct(x: Float32Array, i: number, y: Float32Array, j: number, length: number) {
  let sum = 0;
  for (let k = 0; k < length; k++) sum += x[i + k] * y[j + k];
  return sum;
}

/** Add two matrices of one shape. */
export function addMatrices(x: Matrix, y: Matrix) {
  const sum = makeMatrix(x.rows, x.cols);
  for (let i = 0; i < sum.data.length; i++) sum.data[i] = x.data[i] + y.data[i];
  return sum;
}

/**
 * Bring each row to mean 0 and variance 1, then scale and shift its numbers by what was learned.
 *
 * Source: Ba et al. 2016, "Layer Normalization".
 */
export function layerNorm(x: Matrix, { weight, bias, eps }: Norm): Matrix {
  const y = makeMatrix(x.rows, x.cols);
  for (let first = 0; first < x.data.length; first += x.cols) {
    let [total, squares] = [0, 0];
    for (let i = 0; i < x.cols; i++) total += x.data[first + i];
    const mean = total / x.cols;
    for (let i = 0; i < x.cols; i++) squares += (x.data[first + i] - mean) ** 2;
    const deviation = Math.sqrt(squares / x.cols + eps);
    for (let i = 0; i < x.cols; i++) {
      y.data[first + i] = ((x.data[first + i] - mean) / deviation) * weight[i] + bias[i];
    }
  }
  return y;
}

/** Some rows of a matrix, [count, cols], which stay where they are: a view, not a copy. */
export function rowsFrom(x: Matrix, first: number, count = 1): Matrix {
  return makeMatrix(count, x.cols, x.data.subarray(first * x.cols, (first + count) * x.cols));
}

/** A matrix with the rows of another below its own. */
export function stackRows(x: Matrix, below: Matrix): Matrix {
  const stacked = makeMatrix(x.rows + below.rows, x.cols);
  stacked.data.set(x.data);
  stacked.data.set(below.data, x.data.length);
  return stacked;
}

/** The numbers of one row, as a view of them. */
export function rowOf(x: Matrix, row: number): Float32Array {
  return rowsFrom(x, row).data;
}

/** Arrays one after another in one. */
export function concatenated(arrays: Float32Array[]) {
  const whole = new Float32Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const each of arrays) {
    whole.set(each, end);
    end += each.length;
  }
  return whole;
}

/** The numbers from 0 up to a length: the positions of a text's words. */
export function countTo(length: number) {
  return Array.from({ length }, (_, i) => i);
}

/** How far a vector moved, in lengths of the vector before. */
export function movedShare(before: Float32Array, after: Float32Array) {
  return Math.hypot(...after.map((value, i) => value - before[i])) / Math.hypot(...before);
}
