// Caches: matrices from the kernel, limited in bytes, and values that are recomputed when what they
// depend on changes.

/**
 * A cache of Float32Arrays, least recently used evicted first, that holds at most `limit` bytes; those to `keep`,
 * which are on the screen, are not evicted whatever the limit.
 */
export function createLruCache(limit: number, keep: (name: string) => boolean = (_) => false) {
  const held: Map<string, Float32Array> = new Map(); // in the order of their last use
  let bytes = 0;

  function get(name: string) {
    const matrix = held.get(name);
    if (matrix) {
      held.delete(name);
      held.set(name, matrix);
    }
    return matrix ?? null;
  }

  function set(name: string, matrix: Float32Array) {
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
    has: (name: string) => held.has(name),
    /** Whether so many bytes more fit without an eviction. */
    hasRoom: (more: number) => bytes + more <= limit,
    get bytes() {
      return bytes;
    },
  };
}

export type Memo = (<Value>(slot: string, dependencies: unknown[], make: () => Value) => Value) & {
  clear: () => void;
};

/**
 * A memo with one value per slot: `memo(slot, dependencies, make)` is the value that was made last
 * for the slot while the dependencies are the same (===), and `make()` otherwise.
 */
export function createMemo(): Memo {
  const made = new Map<string, { dependencies: unknown[]; value: unknown }>();

  function memo<Value>(slot: string, dependencies: unknown[], make: () => Value): Value {
    const last = made.get(slot);
    if (last && dependencies.every((each, i) => each === last.dependencies[i])) return last.value as Value;
    const value = make();
    made.set(slot, { dependencies, value });
    return value;
  }

  return Object.assign(memo, { clear: () => made.clear() });
}
