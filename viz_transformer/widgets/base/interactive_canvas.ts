// A canvas that answers the pointer, the keyboard and screen readers; the zoom and pan of a heatmap.

import { consume, hasModifier } from "./keys.ts";
import { pointerPosition } from "./canvas.ts";
import { element, focusableCanvas, uniqueId } from "./elements.ts";
import { type HeatmapLayout, panBy, WHOLE, type Window, zoomAround } from "./heatmap.ts";
import type { View } from "./view.ts";

/**
 * Listen to the pointer and the keyboard on a canvas.
 *
 * @param handlers.scale that the canvas is drawn at
 * @param handlers.hitTest what is drawn at a point
 * @param handlers.onPoint as the pointer moves; null where nothing is
 * @param handlers.onKey whether the key was used
 * @param handlers.onDrag whether the movement was used
 */
export function addCanvasListeners<Hit>(
  { listen, redraw }: Pick<View, "listen" | "redraw">,
  canvas: HTMLCanvasElement,
  {
    scale,
    hitTest,
    onPoint,
    onClick,
    onKey,
    onDrag = (_) => false,
  }: {
    scale: () => number;
    hitTest: (x: number, y: number) => Hit | null;
    onPoint: (hit: Hit | null) => void;
    onClick: (hit: Hit, event: MouseEvent) => void;
    onKey: (event: KeyboardEvent) => boolean;
    onDrag?: (event: PointerEvent) => boolean;
  },
) {
  const hitAt = (event: MouseEvent) => {
    const [x, y] = pointerPosition(canvas, event);
    return hitTest(x / scale(), y / scale());
  };
  listen(canvas, "pointermove", (event: PointerEvent) => {
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
  listen(canvas, "click", (event: MouseEvent) => {
    const hit = hitAt(event);
    if (hit) onClick(hit, event);
  });
  listen(canvas, "keydown", (event: KeyboardEvent) => {
    if (hasModifier(event) || !onKey(event)) return;
    consume(event);
  });
}

/**
 * Zoom and pan of a heatmap: Ctrl and wheel, + − 0, drag, double click.
 *
 * @param handlers.scale that the canvas is drawn at
 * @param handlers.layout of the heatmap as drawn, if it is
 * @param handlers.onMove called with the window to show
 */
export function addZoom(
  { listen }: Pick<View, "listen">,
  canvas: HTMLCanvasElement,
  {
    scale,
    layout,
    onMove,
  }: { scale: () => number; layout: () => HeatmapLayout | undefined; onMove: (window: Window) => void },
) {
  let from: [number, number] | null = null;
  let dragged = false;
  listen(canvas, "wheel", (event: WheelEvent) => {
    const drawn = layout();
    if ((!event.ctrlKey && !event.metaKey) || !drawn) return;
    event.preventDefault();
    const [x, y] = pointerPosition(canvas, event);
    onMove(zoomAround(drawn, Math.exp(-event.deltaY / 300), x / scale(), y / scale()));
  });
  listen(canvas, "pointerdown", (event: PointerEvent) => {
    [from, dragged] = [[event.clientX, event.clientY], false];
  });
  listen(canvas, "dblclick", () => onMove(WHOLE));
  return {
    zoomBy(times: number) {
      const drawn = layout();
      if (drawn) onMove(zoomAround(drawn, times));
    },
    onKey(event: KeyboardEvent) {
      const times = ({ "+": 1.5, "=": 1.5, "-": 1 / 1.5 } as Record<string, number>)[event.key];
      const drawn = layout();
      if (!drawn) return false;
      if (times) onMove(zoomAround(drawn, times));
      else if (event.key === "0") onMove(WHOLE);
      else return false;
      return true;
    },
    onDrag(event: PointerEvent) {
      const drawn = layout();
      if (!from || !(event.buttons & 1) || !drawn || drawn.zoom === 1) return false;
      const [across, down] = [event.clientX - from[0], event.clientY - from[1]];
      if (!dragged && Math.hypot(across, down) < 4) return false;
      [from, dragged] = [[event.clientX, event.clientY], true];
      onMove(panBy(drawn, across / scale(), down / scale()));
      return true;
    },
    /** Whether the last click only ended a drag. */
    wasDragged: () => dragged,
  };
}

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
    // As the listeners of gestures take it.
    view: { listen, redraw },
    close: () => {
      for (const stop of stops) stop();
    },
  };
}

/**
 * Make a canvas a grid to screen readers.
 *
 * @returns announces a cell; where `row` is null, no cell is active
 */
export function ariaGrid(
  canvas: HTMLCanvasElement,
): (cell: { rows: number; cols: number; row: number | null; col: number | null; text: string }) => void {
  canvas.setAttribute("role", "grid");
  const line = element(canvas, "div", "", { role: "row" });
  const cell = element(line, "div", "", { role: "gridcell", id: uniqueId() });
  let announced = "";
  return ({ rows, cols, row, col, text }) => {
    const wanted = JSON.stringify([rows, cols, row, col, text]);
    if (wanted === announced) return;
    announced = wanted;
    canvas.setAttribute("aria-rowcount", String(rows));
    canvas.setAttribute("aria-colcount", String(cols));
    line.setAttribute("aria-rowindex", String((row ?? 0) + 1));
    cell.setAttribute("aria-colindex", String((col ?? 0) + 1));
    cell.textContent = text;
    if (row === null) canvas.removeAttribute("aria-activedescendant");
    else canvas.setAttribute("aria-activedescendant", cell.id);
  };
}
