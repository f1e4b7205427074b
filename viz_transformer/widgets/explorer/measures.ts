// Measures of a head: the sums of its rows, the keys that a query can reach, and entropy. Python has the
// same in analysis/measures.py, and a test holds the two equal.

/** How far from 1 a row may sum: half precision and a few hundred keys stay well within it. */
export const ROW_TOLERANCE = 0.01;

/** The weights of one kind of attention. */
export interface KindWeights {
  kind: string;
  layers: number;
  heads: number;
  /** Queries. */
  rows: number;
  /** Keys. */
  cols: number;
  /** [layer, head, query, key] */
  weights: Float32Array;
}

/** The sum of each row, [layer · head · query]. */
export function sumsOfRows({ layers, heads, rows, cols, weights }: KindWeights) {
  const sums = new Float64Array(layers * heads * rows);
  for (let row = 0; row < sums.length; row++) {
    for (let i = row * cols; i < (row + 1) * cols; i++) sums[row] += weights[i];
  }
  return sums;
}

/**
 * How many keys each query may attend to, [query].
 *
 * A decoder's query reaches itself and the past, unless some weight lies on the future: then the decoder
 * was run without its causal mask. Every other query reaches all keys.
 */
export function reachableKeys({ kind, layers, heads, rows, cols, weights }: KindWeights): number[] {
  let looksAhead = kind !== "decoder";
  for (let row = 0; row < layers * heads * rows && !looksAhead; row++) {
    for (let key = (row % rows) + 1; key < cols; key++) looksAhead ||= weights[row * cols + key] > 0;
  }
  return Array.from({ length: rows }, (_, query) => (looksAhead ? cols : query + 1));
}

/** The entropy of one row in bits, scaled to sum to exactly 1; 0 for a row of zeros. */
export function entropyBits(row: Float32Array) {
  let total = 0;
  for (const weight of row) total += weight;
  let bits = 0;
  for (const weight of row) if (weight > 0) bits -= (weight / total) * Math.log2(weight / total);
  return bits;
}

/**
 * The entropy of each row of a head as a share of its maximum, log2 of the keys within reach;
 * NaN for a row that attends to nothing, or that has one key and so no choice.
 *
 * @param head [query, key]
 * @param reachable [query]
 */
export function entropyShares(head: Float32Array, reachable: number[]) {
  const cols = head.length / reachable.length;
  return reachable.map((keys, query) => {
    const row = head.subarray(query * cols, (query + 1) * cols);
    return keys > 1 && row.some((weight) => weight > 0) ? entropyBits(row) / Math.log2(keys) : NaN;
  });
}

/** The mean of some numbers, NaN where there is none. */
export function mean(values: number[]) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Two decimals as Python writes them: a number right between two, such as 0.125, goes to the even one. */
export function twoDecimals(value: number) {
  const eighths = value * 8; // right between are the odd eighths alone, and eighths are exact
  if (Math.abs(eighths % 2) !== 1) return value.toFixed(2);
  const below = Math.floor(value * 100);
  return ((below % 2 ? below + 1 : below) / 100).toFixed(2);
}
