// What this browser keeps between visits: the theme, what was read, what was answered.

const STORE = "viz-transformer";

/**
 * What is kept; nothing, where the browser may keep nothing.
 *
 * @returns {{ theme?: string, read?: Record<string, true>, answers?: Record<string, unknown> }}
 */
export function kept() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

/**
 * Keep some more.
 *
 * @param {Partial<ReturnType<typeof kept>>} change
 */
export function keep(change) {
  try {
    localStorage.setItem(STORE, JSON.stringify({ ...kept(), ...change }));
  } catch {
    // Private windows and full disks keep nothing; the page works without.
  }
}

/**
 * Call a function when the page is shown, also when one goes back to it, and whenever another page has kept
 * something.
 *
 * A browser may write what a page kept only after the next page has begun to read.
 *
 * @param {() => void} show
 */
export function followKept(show) {
  addEventListener("storage", show);
  addEventListener("pageshow", show);
}
