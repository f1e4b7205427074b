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
 * Call a function once what is kept may be read: after the page's first frame.
 *
 * Chromium shows an empty store to a page from a disk that asks before then, for as long as the page is open;
 * what such a page keeps can replace all that was kept.
 *
 * @param {() => void} then
 */
export function whenReadable(then) {
  requestAnimationFrame(() => setTimeout(then));
}

/**
 * Show what is kept: once it may be read, whenever another page has kept something, and when one goes back to
 * this page.
 *
 * @param {() => void} show
 */
export function followKept(show) {
  whenReadable(() => {
    show();
    addEventListener("storage", show);
    addEventListener("pageshow", show);
  });
}
