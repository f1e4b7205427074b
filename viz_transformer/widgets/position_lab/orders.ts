// Orders of words.

/** The order with the word at one place put at another, and those between moved up. */
export function placed(order: readonly number[], from: number, to: number): number[] {
  const next = [...order];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}

/** A random order (Fisher and Yates), never the same as before where there are others. */
export function shuffled(order: readonly number[], random = Math.random): number[] {
  const next = [...order];
  for (let last = next.length - 1; last > 0; last--) {
    const place = Math.floor(random() * (last + 1));
    [next[last], next[place]] = [next[place], next[last]];
  }
  return next.length > 1 && next.every((word, place) => word === order[place]) ? placed(next, 0, 1) : next;
}
