// Where pages keep text: in the browser, or, where that keeps nothing (blocked storage, a private window, a
// sandboxed frame), in the page's own memory for as long as it is open.

const memory = new Map<string, string>();

/** The text that is kept under a key; null if there is none. */
export function readText(key: string): string | null {
  const inPage = memory.get(key);
  if (inPage !== undefined) return inPage;
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a text under a key. */
export function keepText(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
    memory.delete(key);
  } catch {
    memory.set(key, text);
  }
}

/** Whether what is kept is still there after the page was closed. */
export function isLasting(): boolean {
  try {
    localStorage.getItem("");
    return true;
  } catch {
    return false;
  }
}
