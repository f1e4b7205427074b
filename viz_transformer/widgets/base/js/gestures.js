// Pointer and keyboard events on a canvas, and the zoom and pan of a heatmap.

import { pointerPosition } from "./canvas.js";
import { panBy, WHOLE, zoomAround } from "./heatmap.js";

export const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

/**
 * Listen to the pointer and the keyboard on a canvas.
 *
 * @template Hit
 * @param {Pick<import("./view.js").View, "listen" | "redraw">} view
 * @param {HTMLCanvasElement} canvas
 * @param {object} handlers
 * @param {() => number} handlers.scale that the canvas is drawn at
 * @param {(x: number, y: number) => Hit | null} handlers.hitTest what is drawn at a point
 * @param {(hit: Hit | null) => void} handlers.onPoint as the pointer moves; null where nothing is
 * @param {(hit: Hit, event: MouseEvent) => void} handlers.onClick
 * @param {(event: KeyboardEvent) => boolean} handlers.onKey whether the key was used
 * @param {(event: PointerEvent) => boolean} [handlers.onDrag] whether the movement was used
 */
export function addCanvasListeners(
  { listen, redraw },
  canvas,
  { scale, hitTest, onPoint, onClick, onKey, onDrag = (_) => false },
) {
  const hitAt = (/** @type {MouseEvent} */ event) => {
    const [x, y] = pointerPosition(canvas, event);
    return hitTest(x / scale(), y / scale());
  };
  listen(canvas, "pointermove", (event) => {
    if (onDrag(event)) return;
    const hit = hitAt(event);
    canvas.style.cursor = hit ? "pointer" : "default";
    onPoint(hit);
    redraw();
  });
  listen(canvas, "pointerleave", () => {
    onPoint(null);
    redraw();
  });
  listen(canvas, "click", (event) => {
    const hit = hitAt(event);
    if (hit) onClick(hit, event);
  });
  listen(canvas, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !onKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/**
 * Zoom and pan of a heatmap: Ctrl and wheel, + − 0, drag, double click.
 *
 * @param {Pick<import("./view.js").View, "listen">} view
 * @param {HTMLCanvasElement} canvas
 * @param {object} handlers
 * @param {() => number} handlers.scale that the canvas is drawn at
 * @param {() => import("./heatmap.js").HeatmapLayout | undefined} handlers.layout of the heatmap as drawn, if it is
 * @param {(window: import("./heatmap.js").Window) => void} handlers.onMove called with the window to show
 */
export function addZoom({ listen }, canvas, { scale, layout, onMove }) {
  let [from, dragged] = [null, false];
  listen(canvas, "wheel", (event) => {
    if ((!event.ctrlKey && !event.metaKey) || !layout()) return;
    event.preventDefault();
    const [x, y] = pointerPosition(canvas, event);
    onMove(zoomAround(layout(), Math.exp(-event.deltaY / 300), x / scale(), y / scale()));
  });
  listen(canvas, "pointerdown", (event) => {
    [from, dragged] = [[event.clientX, event.clientY], false];
  });
  listen(canvas, "dblclick", () => onMove(WHOLE));
  return {
    zoomBy: (times) => layout() && onMove(zoomAround(layout(), times)),
    onKey(event) {
      const times = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[event.key];
      if (!layout()) return false;
      if (times) onMove(zoomAround(layout(), times));
      else if (event.key === "0") onMove(WHOLE);
      else return false;
      return true;
    },
    onDrag(event) {
      if (!from || !(event.buttons & 1) || !layout() || layout().zoom === 1) return false;
      const [across, down] = [event.clientX - from[0], event.clientY - from[1]];
      if (!dragged && Math.hypot(across, down) < 4) return false;
      [from, dragged] = [[event.clientX, event.clientY], true];
      onMove(panBy(layout(), across / scale(), down / scale()));
      return true;
    },
    /** Whether the last click only ended a drag. */
    wasDragged: () => dragged,
  };
}
