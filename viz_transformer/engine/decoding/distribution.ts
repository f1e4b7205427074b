// Logits as probabilities, summed in double precision.

/** The logarithm of the sum of all exponentials. */
export function logSumExp(logits: ArrayLike<number>) {
  let [largest, sum] = [-Infinity, 0];
  for (let id = 0; id < logits.length; id++) largest = Math.max(largest, logits[id]);
  for (let id = 0; id < logits.length; id++) sum += Math.exp(logits[id] - largest);
  return largest + Math.log(sum);
}

/** Natural log-probabilities of logits [vocab]. */
export function logProbabilities(logits: ArrayLike<number>) {
  const total = logSumExp(logits);
  return Float64Array.from(logits, (logit) => logit - total); // [vocab]
}

/** The probabilities of logits [vocab]. */
export function probabilities(logits: ArrayLike<number>) {
  return logProbabilities(logits).map(Math.exp); // [vocab]
}

/** The ids of the `n` largest values, of equal ones the lower id first; -Infinity is no value. */
export function topIds(values: ArrayLike<number>, n: number) {
  const ids: number[] = [];
  for (let id = 0; id < values.length; id++) {
    const value = values[id];
    if (value === -Infinity || (ids.length === n && value <= values[ids[n - 1]])) continue;
    let at = Math.min(ids.length, n - 1);
    for (; at > 0 && values[ids[at - 1]] < value; at--) ids[at] = ids[at - 1];
    ids[at] = id;
  }
  return ids;
}
