// The steps of a tour as plain data: keys that move, and steps inserted, changed and removed.

/** @typedef {{caption: string, state: Record<string, unknown>}} Step */

/**
 * The step that a key moves to, or null for another key. A presenter's remote sends PageUp and PageDown.
 *
 * @param {string} key
 * @param {number} step
 * @param {number} count
 */
export function stepOnKey(key, step, count) {
  const last = Math.max(0, count - 1);
  const places = {
    ArrowRight: step + 1,
    ArrowDown: step + 1,
    PageDown: step + 1,
    ArrowLeft: step - 1,
    ArrowUp: step - 1,
    PageUp: step - 1,
    Home: 0,
    End: last,
  };
  return Object.hasOwn(places, key) ? Math.min(last, Math.max(0, places[key])) : null;
}

/**
 * The state of a view as a copy in plain data.
 *
 * @param {string[]} names
 * @param {(name: string) => unknown} get
 */
export function chosenState(names, get) {
  const set = names.map((name) => [name, get(name)]).filter(([, value]) => value !== undefined);
  return JSON.parse(JSON.stringify(Object.fromEntries(set)));
}

/**
 * The traits of a state that differ from a view's, in the order of `names`.
 *
 * @param {string[]} names
 * @param {Record<string, unknown>} state
 * @param {(name: string) => unknown} get
 * @returns {[name: string, value: unknown][]}
 */
export function differing(names, state, get) {
  return names
    .filter((name) => Object.hasOwn(state, name) && JSON.stringify(state[name]) !== JSON.stringify(get(name)))
    .map((name) => [name, structuredClone(state[name])]);
}

/**
 * The steps with a new one after `step`, and its index.
 *
 * @param {Step[]} steps
 * @param {number} step
 * @param {Step} added
 */
export function withStep(steps, step, added) {
  const at = Math.min(step + 1, steps.length);
  return { steps: [...steps.slice(0, at), added, ...steps.slice(at)], step: at };
}

/**
 * The steps with one of them changed.
 *
 * @param {Step[]} steps
 * @param {number} step
 * @param {Partial<Step>} change
 */
export function withChange(steps, step, change) {
  return steps.map((each, index) => (index === step ? { ...each, ...change } : each));
}

/**
 * The steps without one, and the index of the step to show then.
 *
 * @param {Step[]} steps
 * @param {number} step
 */
export function withoutStep(steps, step) {
  const left = steps.filter((_, index) => index !== step);
  return { steps: left, step: Math.max(0, Math.min(step, left.length - 1)) };
}

/**
 * Where the tour is, in words.
 *
 * @param {number} step
 * @param {number} count
 */
export function placeInTour(step, count) {
  return count ? `step ${step + 1} of ${count}` : "no step yet";
}
