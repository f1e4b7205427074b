// Pointer and keys on the explorer's canvases.

import { placeIn } from "./canvas.js";
import { panBy, WHOLE, zoomAround } from "./heatmap.js";

export const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

/**
 * Let a canvas answer: `find(x, y)` what is at a point, `point(at)` as the pointer goes over it,
 * `click(at, event)`, `press(event)` whether it took a key. `scale` is what the canvas is drawn at.
 */
export function onCanvas(
  { listen, redraw },
  canvas,
  { scale, find, point, click, press, drag = () => false },
) {
  const found = (event) => find(...placeIn(canvas, event).map((value) => value / scale()));
  listen(canvas, "pointermove", (event) => {
    if (drag(event)) return;
    const at = found(event);
    canvas.style.cursor = at ? "pointer" : "default";
    point(at);
    redraw();
  });
  listen(canvas, "pointerleave", () => {
    point(null);
    redraw();
  });
  listen(canvas, "click", (event) => {
    const at = found(event);
    if (at) click(at, event);
  });
  listen(canvas, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !press(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/**
 * Zoom and pan of the matrix: Ctrl and wheel, + − 0, buttons, drag, double click.
 *
 * `layout()` is the matrix as drawn, `move(view)` shows another window.
 */
export function onZoom({ listen }, canvas, { scale, layout, move }) {
  let [from, dragged] = [null, false];
  listen(canvas, "wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = placeIn(canvas, event).map((value) => value / scale());
    move(zoomAround(layout(), Math.exp(-event.deltaY / 300), ...at));
  });
  listen(canvas, "pointerdown", (event) => {
    [from, dragged] = [[event.clientX, event.clientY], false];
  });
  listen(canvas, "dblclick", () => move(WHOLE));
  return {
    zoom: (times) => move(zoomAround(layout(), times)),
    key(event) {
      const times = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[event.key];
      if (times) move(zoomAround(layout(), times));
      else if (event.key === "0") move(WHOLE);
      else return false;
      return true;
    },
    drag(event) {
      if (!from || !(event.buttons & 1) || layout().zoom === 1) return false;
      const [across, down] = [event.clientX - from[0], event.clientY - from[1]];
      if (!dragged && Math.hypot(across, down) < 4) return false;
      [from, dragged] = [[event.clientX, event.clientY], true];
      move(panBy(layout(), across / scale(), down / scale()));
      return true;
    },
    /** Whether the click that ends a drag is only that. */
    dragged: () => dragged,
  };
}
