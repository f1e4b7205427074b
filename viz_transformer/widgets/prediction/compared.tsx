// The guess beside what was measured: ghost bars under solid ones, and the options with their marks.

import { visible } from "../base/js/text.js";
import { percent } from "../base/percent.ts";
import { type Asked, largest, measured } from "./verdict.ts";

/** One lane: what it is called, what was guessed and measured of it, and how it is marked. */
export interface Lane {
  name: string;
  guess?: number;
  truth?: number;
  mark?: "✓" | "✗";
  whose?: string;
}

/** The lanes of a guess; its truth is null until it is known. */
export function lanesOf({ kind, options, guess, truth }: Asked): Lane[] {
  if (kind === "number") return [{ name: "", guess: guess as number, truth: (truth as number) ?? undefined }];
  const weights = Array.isArray(truth) ? (truth as number[]) : null;
  if (kind === "row")
    return options.map((key, at) => ({
      name: visible(key),
      guess: (guess as number[])[at],
      truth: weights?.[at],
    }));
  const [mine, right] = [
    kind === "key" ? guess : options.indexOf(guess as string),
    weights ? largest(weights) : options.indexOf(truth as string),
  ];
  return options.map((option, at) => {
    const whose = [at === mine && "your answer", at === right && (at === mine ? "right" : "the answer")];
    return {
      name: kind === "key" ? visible(option) : option,
      truth: weights?.[at],
      mark: truth === null || (at !== mine && at !== right) ? undefined : at === right ? "✓" : "✗",
      whose: whose.filter(Boolean).join(", "),
    };
  });
}

export function Compared({ asked }: { asked: Asked }) {
  const lanes = lanesOf(asked);
  const told = (value: number) => (asked.kind === "number" ? measured(value, asked.unit) : percent(value));
  const values = lanes.flatMap(({ guess = 0, truth = 0 }) => [guess, truth]);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const at = (value: number) => `${(100 * value) / (high - low || 1)}%`;
  const bar = (value: number) => ({ left: at(Math.min(0, value) - low), width: at(Math.abs(value)) });
  const hasBars = lanes.some(({ guess, truth }) => guess !== undefined || truth !== undefined);
  return (
    <>
      <ul class={`vt-lanes ${hasBars ? "" : "vt-options"}`}>
        {lanes.map(({ name, guess, truth, mark, whose }, place) => (
          <li class="vt-lane" key={place} data-mark={mark}>
            <bdi class="vt-lane-name">{name}</bdi>
            {hasBars && (
              <span class="vt-lane-bars">
                {guess !== undefined && <span class="vt-ghost" style={bar(guess)} />}
                {truth !== undefined && <span class="vt-measured" style={bar(truth)} />}
              </span>
            )}
            {truth !== undefined && <b class="vt-lane-number">{told(truth)}</b>}
            {guess !== undefined && <span class="vt-lane-guess">you: {told(guess)}</span>}
            {mark && (
              <span class="vt-lane-mark">
                {mark} {whose}
              </span>
            )}
          </li>
        ))}
      </ul>
      {lanes.some(({ guess }) => guess !== undefined) && (
        <p class="vt-note" aria-hidden="true">
          <span class="vt-sample vt-ghost" /> your guess <span class="vt-sample vt-measured" /> measured
        </p>
      )}
    </>
  );
}
