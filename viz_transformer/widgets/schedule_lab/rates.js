// The learning rate of each step, and the losses of trainings.

/**
 * The rate of a step, counted from 1: a straight line through the warm-up, then the peak.
 * viz_transformer/training/schedule.py has the same, and what may follow.
 *
 * @param {number} step
 * @param {number} peak
 * @param {number} warmup in steps
 */
export function rateOf(step, peak, warmup) {
  return step <= warmup ? (peak * step) / warmup : peak;
}

/**
 * The numbers of an array of float32.
 *
 * @param {DataView} bytes little-endian
 */
export function readFloats(bytes) {
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, i) => bytes.getFloat32(4 * i, true));
}

/**
 * How a loss goes, in words: where it ends, and where it stood highest after its first ten steps.
 *
 * @param {ArrayLike<number>} losses
 */
export function describeLosses(losses) {
  const later = Array.from(losses).slice(10);
  const highest = Math.max(...later);
  const step = later.indexOf(highest) + 11;
  const last = losses[losses.length - 1];
  const end = last < 0.001 ? "below 0.001" : `at ${last.toFixed(3)}`;
  return later.length
    ? `The loss ends ${end}; after step 10 it is at most ${highest.toFixed(2)}, at step ${step}.`
    : `The loss ends ${end}.`;
}
