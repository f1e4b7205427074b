// Caches: matrices from the kernel, limited in bytes, and values that are recomputed when what they
// depend on changes.

/**
 * A cache of Float32Arrays, least recently used evicted first, that holds at most `limit` bytes.
 *
 * @param {number} limit
 * @param {(name: string) => boolean} keep which of them are not evicted, whatever the limit: those
 *   that are on the screen
 */
export function createLruCache(limit, keep = (_) => false) {
  /** @type {Map<string, Float32Array>} */
  const held = new Map(); // in the order of their last use
  let bytes = 0;

  function get(name) {
    const matrix = held.get(name);
    if (matrix) {
      held.delete(name);
      held.set(name, matrix);
    }
    return matrix ?? null;
  }

  function set(name, matrix) {
    bytes += matrix.byteLength - (held.get(name)?.byteLength ?? 0);
    held.delete(name);
    held.set(name, matrix);
    for (const [old, { byteLength }] of held) {
      if (bytes <= limit) return;
      if (old === name || keep(old)) continue;
      held.delete(old);
      bytes -= byteLength;
    }
  }

  function clear() {
    held.clear();
    bytes = 0;
  }

  return {
    get,
    set,
    clear,
    has: (name) => held.has(name),
    /** Whether so many bytes more fit without an eviction. */
    hasRoom: (more) => bytes + more <= limit,
    get bytes() {
      return bytes;
    },
  };
}

/**
 * @typedef {(<Value>(slot: string, dependencies: unknown[], make: () => Value) => Value) & {clear: () => void}} Memo
 */

/**
 * A memo with one value per slot: `memo(slot, dependencies, make)` is the value that was made last
 * for the slot while the dependencies are the same (===), and `make()` otherwise.
 *
 * @returns {Memo}
 */
export function createMemo() {
  const made = new Map();

  function memo(slot, dependencies, make) {
    const last = made.get(slot);
    if (last && dependencies.every((each, i) => each === last.dependencies[i])) return last.value;
    const value = make();
    made.set(slot, { dependencies, value });
    return value;
  }

  return Object.assign(memo, { clear: () => made.clear() });
}
