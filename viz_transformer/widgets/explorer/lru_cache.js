// Matrices that came from the kernel, the least recently used forgotten first.

/**
 * A cache of Float32Arrays that holds at most `limit` bytes; `keep(name)` tells which of them may
 * not be forgotten, whatever the limit: those that are on the screen.
 */
export function openCache(limit, keep = () => false) {
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
    /** Whether so many bytes more fit without anything being forgotten. */
    hasRoom: (more) => bytes + more <= limit,
    get bytes() {
      return bytes;
    },
  };
}
