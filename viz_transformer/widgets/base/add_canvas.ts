// A canvas for a picture that is drawn by its own code, with what it tells screen readers.

import { ariaGrid } from "./aria_grid.ts";
import { focusableCanvas } from "./controls.ts";

/** A canvas inside a node, what it tells screen readers, and listeners that end with it. */
export function addCanvas(node: HTMLElement, label: string, redraw: () => void) {
  const canvas = focusableCanvas(node, label);
  const stops: (() => void)[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: an event of any kind, as its listener knows
  function listen(target: EventTarget, type: string, handler: (event: any) => void): void {
    target.addEventListener(type, handler);
    stops.push(() => target.removeEventListener(type, handler));
  }
  return {
    canvas,
    announce: ariaGrid(canvas),
    // As the listeners of `gestures.js` take it.
    view: { listen, redraw },
    close: () => {
      for (const stop of stops) stop();
    },
  };
}
