// The learning rate of each step, and the losses of trainings.

import { tickText } from "../base/scales.ts";

export interface Chosen {
  peak: number;
  warmup: number;
  seed: number;
}

/** A training that was made. */
export interface Training extends Chosen {
  /** Of each step, in nats per token. */
  losses: number[];
}

/**
 * The rate of a step, counted from 1: a straight line through the warm-up, then the peak.
 * viz_transformer/training/schedule.py has the same, and what may follow.
 */
export const rateOf = (step: number, peak: number, warmup: number): number =>
  step <= warmup ? (peak * step) / warmup : peak;

export const nameOf = ({ peak, warmup, seed }: Chosen): string =>
  `peak ${tickText(peak)}, warm-up ${warmup} steps, seed ${seed}`;

/** Where a loss ends. */
export function endOf(losses: readonly number[]): string {
  const last = losses.at(-1) ?? 0;
  return `The loss ends ${last < 0.001 ? "below 0.001" : `at ${last.toFixed(3)}`}`;
}

/** Where it stands highest after its first ten steps; nothing of a training that has no more. */
export function highestOf(losses: readonly number[]): string {
  const later = losses.slice(10);
  const highest = Math.max(...later);
  return later.length
    ? `After step 10 it is at most ${highest.toFixed(2)}, at step ${later.indexOf(highest) + 11}.`
    : "";
}

/** The rate of a step with its numbers. */
export function equationOf({ peak, warmup }: Chosen, step: number): string {
  const rate = tickText(rateOf(step, peak, warmup));
  return step < warmup
    ? `rate of step ${step} = peak · step / warm-up = ${tickText(peak)} · ${step} / ${warmup} = ${rate}`
    : `rate of step ${step} = peak = ${rate}`;
}
