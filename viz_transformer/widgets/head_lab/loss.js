// The loss of an answer.

/**
 * The mean of −log p, in nats per token.
 *
 * @param {ArrayLike<number>} logProbs
 */
export function lossOf(logProbs) {
  return -Array.from(logProbs).reduce((sum, each) => sum + each, 0) / logProbs.length;
}
