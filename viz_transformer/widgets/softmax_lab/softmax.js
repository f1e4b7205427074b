// Softmax, step by step: from a row of scores to its weights and their slopes.

/**
 * What a softmax makes of scores, in double precision.
 *
 * @param {number[]} scores [key]
 * @param {number} times what multiplies all of them first
 */
export function softmaxSteps(scores, times) {
  const row = scores.map((score) => score * times); // [key]
  const largest = Math.max(...row);
  const parts = row.map((score) => Math.exp(score - largest)); // none above 1, so none overflows
  const sum = parts.reduce((total, part) => total + part, 0);
  const weights = parts.map((part) => part / sum);
  return { row, parts, weights, slopes: weights.map((weight) => weight * (1 - weight)) };
}

/**
 * A row with one of its numbers changed, as a new list.
 *
 * @param {number[]} row
 * @param {number} at
 * @param {number} value
 */
export function withScore(row, at, value) {
  return row.map((score, place) => (place === at ? value : score));
}
