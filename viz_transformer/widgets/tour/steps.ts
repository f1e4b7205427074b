// The steps of a tour as plain data: keys that move, and steps inserted, changed and removed.

import { shortened } from "../base/text.ts";

export interface Step {
  caption: string;
  state: Record<string, unknown>;
}

const MOST_NAMED = 8; // steps whose captions' beginnings have room beside each other
const LETTERS = 20; // of a caption

/** The step that a key moves to, or null for another key. A presenter's remote sends PageUp and PageDown. */
export function stepOnKey(key: string, step: number, count: number): number | null {
  const last = Math.max(0, count - 1);
  const places = new Map([
    ["ArrowRight", step + 1],
    ["ArrowDown", step + 1],
    ["PageDown", step + 1],
    ["ArrowLeft", step - 1],
    ["ArrowUp", step - 1],
    ["PageUp", step - 1],
    ["Home", 0],
    ["End", last],
  ]);
  const to = places.get(key);
  return to === undefined ? null : Math.min(last, Math.max(0, to));
}

/** The names of the steps as chapters: the beginnings of their captions, or of many their numbers. */
export const chapters = (steps: readonly Step[]): string[] =>
  steps.map(({ caption }, at) =>
    caption && steps.length <= MOST_NAMED ? shortened(caption, LETTERS) : `${at + 1}`,
  );

/** The state of a view as a copy in plain data. */
export function chosenState(names: readonly string[], get: (name: string) => unknown): Step["state"] {
  const set = names.map((name) => [name, get(name)]).filter(([, value]) => value !== undefined);
  return JSON.parse(JSON.stringify(Object.fromEntries(set)));
}

/** The whole state at a step: that of the start, changed by every step up to it. */
export const stateAt = (start: Step["state"], steps: readonly Step[], step: number): Step["state"] =>
  Object.assign({}, start, ...steps.slice(0, step + 1).map(({ state }) => state));

/** The traits of a state that differ from a view's, with their values there. */
export function differing(
  names: readonly string[],
  state: Step["state"],
  get: (name: string) => unknown,
): Step["state"] {
  const news = names.filter(
    (name) => Object.hasOwn(state, name) && JSON.stringify(state[name]) !== JSON.stringify(get(name)),
  );
  return Object.fromEntries(news.map((name) => [name, structuredClone(state[name])]));
}

/** The steps with a new one after `step`, and its index. */
export function withStep(steps: readonly Step[], step: number, added: Step) {
  const at = Math.min(step + 1, steps.length);
  return { steps: [...steps.slice(0, at), added, ...steps.slice(at)], step: at };
}

/** The steps with one of them changed. */
export const withChange = (steps: readonly Step[], step: number, change: Partial<Step>): Step[] =>
  steps.map((each, index) => (index === step ? { ...each, ...change } : each));

/** The steps without one, and the index of the step to show then. */
export function withoutStep(steps: readonly Step[], step: number) {
  const left = steps.filter((_, index) => index !== step);
  return { steps: left, step: Math.max(0, Math.min(step, left.length - 1)) };
}
