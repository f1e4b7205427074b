// A cache of canvases by name, limited by their pixels.

const MAX_PIXELS = 12e6; // the pictures of some dozens of moments

/**
 * Canvases by name; the least recently used go first.
 *
 * @param {number} [limit] in pixels
 * @returns {{ get: <T extends { width: number, height: number }>(name: string, paint: () => T) => T,
 *   clear: () => void, readonly count: number }}
 */
export function canvasCache(limit = MAX_PIXELS) {
  const canvases = new Map();
  let pixels = 0;
  return {
    get(name, paint) {
      const canvas = canvases.get(name) ?? paint();
      if (canvases.has(name)) canvases.delete(name);
      else pixels += canvas.width * canvas.height;
      canvases.set(name, canvas);
      for (const [oldName, old] of canvases) {
        if (pixels <= limit || oldName === name) break;
        canvases.delete(oldName);
        pixels -= old.width * old.height;
      }
      return canvas;
    },
    clear() {
      canvases.clear();
      pixels = 0;
    },
    get count() {
      return canvases.size;
    },
  };
}
