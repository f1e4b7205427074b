// Scales of charts: from values to pixels and back, and the values that an axis names. No DOM.

import { powerOfTen } from "./text.ts";

export interface Scale {
  /** Where a value stands. */
  pixel: (value: number) => number;
  /** What stands at a pixel. */
  value: (pixel: number) => number;
  /** The values at both ends. */
  domain: [number, number];
  /** The pixels at both ends. */
  range: [number, number];
}

/**
 * A scale on which equal distances are equal differences, or with `log` equal factors.
 *
 * @param domain with `log` both above 0
 * @param range may fall, as that of a vertical axis does
 */
export function makeScale(
  domain: [number, number],
  range: [number, number],
  { log = false }: { log?: boolean } = {},
): Scale {
  const [inner, outer] = log ? [Math.log, Math.exp] : [Number, Number];
  const [low, high] = domain.map(inner);
  const [start, end] = range;
  return {
    pixel: (value) => start + ((inner(value) - low) / (high - low)) * (end - start),
    value: (pixel) => outer(low + ((pixel - start) / (end - start)) * (high - low)),
    domain,
    range,
  };
}

/** Round values inside a domain, at most `most` of them, in steps of 1, 2 or 5 times a power of ten. */
export function roundTicks([low, high]: [number, number], most: number) {
  const rough = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999)!;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  // Divided where the step is a fraction: 3 · 0.1 would be 0.30000000000000004.
  const places = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  return places.map((place) => (step < 1 ? place / Math.round(1 / step) : place * step));
}

/** Powers of `base` inside a domain, at most `most` of them: every one, or every second, third, …. */
export function powerTicks([low, high]: [number, number], most: number, base = 10) {
  const [first, last] = [Math.ceil(logOf(low, base) - 1e-9), Math.floor(logOf(high, base) + 1e-9)];
  const powers = Array.from({ length: last - first + 1 }, (_, i) => base ** (first + i));
  const every = Math.ceil(powers.length / Math.max(1, most));
  return powers.filter((_, i) => i % every === 0);
}

/** A tick's value as text: no more digits than it needs, a true minus sign. */
export function tickText(value: number) {
  const size = Math.abs(value);
  if (size && (size < 1e-4 || size >= 1e6)) return powerOfTen(value);
  return String(Number(value.toFixed(6))).replace("-", "−");
}

/** The index of the value of a list that is nearest to a value; `scale` says what is near on the page. */
export function nearestValue(
  values: ArrayLike<number>,
  value: number,
  scale: (value: number) => number = Number,
) {
  const wanted = scale(value);
  let best = 0;
  for (let at = 1; at < values.length; at++) {
    if (Math.abs(scale(values[at]) - wanted) < Math.abs(scale(values[best]) - wanted)) best = at;
  }
  return best;
}

/** The numbers from 0 up to a count. */
export const indices = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** The values from `low` to `high` in steps, both ends among them. */
export function stepsBetween(low: number, high: number, step: number) {
  return Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => low + i * step);
}

function logOf(value: number, base: number) {
  return Math.log(value) / Math.log(base);
}
