// The steps of a tour as plain data: where a key leads, what is remembered, put in and taken out.

/** The step that a key leads to, or null if it is no such key. A presenter's remote sends PageUp and PageDown. */
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

/** What is chosen in a view now, as plain data of its own. */
export function chosenState(names, get) {
  const set = names.map((name) => [name, get(name)]).filter(([, value]) => value !== undefined);
  return JSON.parse(JSON.stringify(Object.fromEntries(set)));
}

/** The traits of a state that differ from what a view has: [[name, value], …], in the order of `names`. */
export function differing(names, state, get) {
  return names
    .filter((name) => Object.hasOwn(state, name) && JSON.stringify(state[name]) !== JSON.stringify(get(name)))
    .map((name) => [name, structuredClone(state[name])]);
}

/** The steps with a new one after `step`, and its place: {steps, step}. */
export function withStep(steps, step, added) {
  const at = Math.min(step + 1, steps.length);
  return { steps: [...steps.slice(0, at), added, ...steps.slice(at)], step: at };
}

/** The steps with some of one step changed. */
export function withChange(steps, step, change) {
  return steps.map((each, index) => (index === step ? { ...each, ...change } : each));
}

/** The steps without one, and the place to be at then: {steps, step}. */
export function withoutStep(steps, step) {
  const left = steps.filter((_, index) => index !== step);
  return { steps: left, step: Math.max(0, Math.min(step, left.length - 1)) };
}

/** Where the tour is, in words. */
export function placeInTour(step, count) {
  return count ? `step ${step + 1} of ${count}` : "no step yet";
}
