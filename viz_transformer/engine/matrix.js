// Matrices, row after row in one array, and the sums over them that a Transformer is made of.
//
// Letters in the shapes: `row` mostly counts positions, `in` and `out` the widths of vectors.

/**
 * @typedef {object} Matrix
 * @property {number} rows
 * @property {number} cols
 * @property {Float32Array} data row after row: the number at [row, col] is data[row * cols + col]
 *
 * @typedef {object} Linear
 * @property {Matrix} weight [out, in], as in torch
 * @property {Float32Array | null} bias [out]
 *
 * @typedef {object} Norm
 * @property {Float32Array} weight [d_model]
 * @property {Float32Array} bias [d_model]
 * @property {number} eps added to the variance
 */

/**
 * A matrix of these numbers, or of zeros.
 *
 * @param {number} rows
 * @param {number} cols
 * @param {Float32Array} [data]
 * @returns {Matrix}
 */
export function makeMatrix(rows, cols, data = new Float32Array(rows * cols)) {
  return { rows, cols, data };
}

/**
 * Compute x Wᵀ + b: compare every row of x with every row of W.
 *
 * @param {Matrix} x [row, in]
 * @param {Linear} layer
 * @returns {Matrix} [row, out]
 */
export function linear(x, { weight, bias }) {
  const [nIn, nOut] = [weight.cols, weight.rows];
  const y = makeMatrix(x.rows, nOut);
  const [from, w, to] = [x.data, weight.data, y.data];
  const byFours = nOut - (nOut % 4);
  for (let row = 0; row < x.rows; row++) {
    const first = row * nIn;
    const out = row * nOut;
    if (bias) to.set(bias, out);
    // Four sums at once: they share each number of x, and none waits for the one before it.
    for (let col = 0; col < byFours; col += 4) {
      const w0 = col * nIn;
      const w1 = w0 + nIn;
      const w2 = w1 + nIn;
      const w3 = w2 + nIn;
      let sum0 = 0; // a double: it is rounded once, at the end
      let sum1 = 0;
      let sum2 = 0;
      let sum3 = 0;
      for (let i = 0; i < nIn; i++) {
        const number = from[first + i];
        sum0 += number * w[w0 + i];
        sum1 += number * w[w1 + i];
        sum2 += number * w[w2 + i];
        sum3 += number * w[w3 + i];
      }
      to[out + col] += sum0;
      to[out + col + 1] += sum1;
      to[out + col + 2] += sum2;
      to[out + col + 3] += sum3;
    }
    for (let col = byFours; col < nOut; col++) {
      let sum = 0;
      for (let i = 0; i < nIn; i++) sum += from[first + i] * w[col * nIn + i];
      to[out + col] += sum;
    }
  }
  return y;
}

/**
 * Add two matrices of one shape.
 *
 * @param {Matrix} x
 * @param {Matrix} y
 */
export function addMatrices(x, y) {
  const sum = makeMatrix(x.rows, x.cols);
  for (let i = 0; i < sum.data.length; i++) sum.data[i] = x.data[i] + y.data[i];
  return sum;
}

/**
 * Bring each row to mean 0 and variance 1, then scale and shift its numbers by what was learned.
 *
 * Source: Ba et al. 2016, "Layer Normalization".
 *
 * @param {Matrix} x [row, d_model]
 * @param {Norm} norm
 * @returns {Matrix} [row, d_model]
 */
export function layerNorm(x, { weight, bias, eps }) {
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

/**
 * Some rows of a matrix, which stay where they are: a view, not a copy.
 *
 * @param {Matrix} x
 * @returns {Matrix} [count, cols]
 */
export function rowsFrom(x, first, count = 1) {
  return makeMatrix(count, x.cols, x.data.subarray(first * x.cols, (first + count) * x.cols));
}

/**
 * A matrix with the rows of another below its own.
 *
 * @param {Matrix} x
 * @param {Matrix} below
 * @returns {Matrix}
 */
export function stackRows(x, below) {
  const stacked = makeMatrix(x.rows + below.rows, x.cols);
  stacked.data.set(x.data);
  stacked.data.set(below.data, x.data.length);
  return stacked;
}
