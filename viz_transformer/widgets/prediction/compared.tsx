// The guess beside what was measured: ghost bars under solid ones, and the options with their marks.

import { percent, visible } from "../base/text.ts";
import { type Asked, largest, measured } from "./verdict.ts";

/** What was guessed and measured of one key or number, or how one option is marked. */
interface Lane {
  name: string;
  guess?: number;
  truth?: number;
  mark?: string;
}

/** The lanes of a guess; its truth is null until it is known. */
export function lanesOf({ kind, options, guess, truth }: Asked): Lane[] {
  if (kind === "number") return [{ name: "", guess: guess as number, truth: (truth ?? undefined) as number }];
  const weights = Array.isArray(truth) ? (truth as number[]) : [];
  if (kind === "row")
    return options.map((key, at) => ({
      name: visible(key),
      guess: (guess as number[])[at],
      truth: weights[at],
    }));
  const mine = kind === "key" ? guess : options.indexOf(guess as string);
  const right = kind === "key" ? largest(weights) : options.indexOf(truth as string);
  const markOf = (at: number) => {
    const whose = at === mine ? "your answer" : at === right ? "the answer" : "";
    return whose && truth !== null ? `${at === right ? "✓" : "✗"} ${whose}` : whose;
  };
  return options.map((option, at) => ({
    name: kind === "key" ? visible(option) : option,
    truth: weights[at],
    mark: markOf(at),
  }));
}

export function Compared({ asked }: { asked: Asked }) {
  const lanes = lanesOf(asked);
  const told = (value: number) => (asked.kind === "number" ? measured(value, asked.unit) : percent(value));
  const values = lanes.flatMap(({ guess = 0, truth = 0 }) => [guess, truth]);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const share = (value: number) => `${(100 * value) / (high - low || 1)}%`;
  const bar = (value: number) => ({ left: share(Math.min(0, value) - low), width: share(Math.abs(value)) });
  return (
    <>
      <ul class="vt-lanes" data-kind={asked.kind}>
        {lanes.map(({ name, guess, truth, mark }, place) => (
          <li class="vt-lane" key={place}>
            <bdi class="vt-lane-name">{name}</bdi>
            {asked.kind !== "choice" && (
              <span class="vt-lane-bars">
                {guess ? <span class="vt-ghost" style={bar(guess)} /> : null}
                {truth ? <span class="vt-measured" style={bar(truth)} /> : null}
                {low < 0 && <span class="vt-zero" style={{ left: share(-low) }} />}
              </span>
            )}
            {truth !== undefined && <b class="vt-lane-number">{told(truth)}</b>}
            {guess !== undefined && <span class="vt-lane-said vt-of-query">you: {told(guess)}</span>}
            {mark && (
              <b class="vt-lane-said" data-mark={mark[0]}>
                {mark}
              </b>
            )}
          </li>
        ))}
      </ul>
      {(asked.kind === "row" || asked.kind === "number") && (
        <p class="vt-how" aria-hidden="true">
          <span class="vt-ghost" /> your guess <span class="vt-measured" /> measured
        </p>
      )}
    </>
  );
}
