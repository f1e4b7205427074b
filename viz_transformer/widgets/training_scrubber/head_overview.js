// All heads of one run at a moment, small, to choose one from.

import { ariaGrid } from "../base/aria_grid.ts";
import { element, focusableCanvas } from "../base/controls.ts";
import { addCanvasListeners, ARROWS } from "../base/gestures.ts";
import { drawHeadGrid, headAt, headGridLayout, moveHead, paintThumbnails } from "../base/head_grid.ts";
import { overviewAtMoment } from "./runs.js";

/** @typedef {import("./run_panel.js").RunSnapshot} RunSnapshot */

/**
 * The overview; `chosenHead` returns the head that is chosen now, which may not be drawn yet.
 *
 * @param {import("../base/view.ts").View} view
 * @param {Element} parent
 * @param {object} options
 * @param {() => number} options.scale
 * @param {ReturnType<typeof import("./canvas_cache.js").canvasCache>} options.cache
 * @param {(entry: import("./runs.js").KindEntry | null) => { layer: number, head: number }} options.chosenHead
 * @param {(head: { layer: number, head: number }) => void} options.onHead
 * @returns {{ draw: (snapshot: RunSnapshot, width: number) => number }} `draw` returns the width taken
 */
export function headOverview(view, parent, { scale, cache, chosenHead, onHead }) {
  const canvas = focusableCanvas(
    element(parent, "div", "vt-small"),
    "All heads at this moment: arrow keys choose",
  );
  const announce = ariaGrid(canvas);
  let [layout, drawn, hovered] = [null, null, null];

  addCanvasListeners(view, canvas, {
    scale,
    hitTest: (x, y) => (layout ? headAt(layout, x, y) : null),
    onPoint: (head) => {
      hovered = head;
    },
    onClick: onHead,
    onKey(event) {
      if (!layout || !ARROWS.includes(event.key)) return false;
      // From what is chosen, not from what is drawn: two keys may come in one frame.
      onHead(moveHead(layout.sections, { ...drawn.chosen, ...chosenHead(drawn.entry) }, event.key));
      return true;
    },
  });

  function draw(snapshot, width) {
    drawn = snapshot;
    const { entry, chosen, sentence, moment, height, theme } = snapshot;
    const { kind, layers, heads } = entry;
    const section = { kind, layers, heads, labels: null, slots: null, signed: false, limit: null };
    layout = headGridLayout([section], width, height);
    const name = `${sentence} ${kind} ${moment} ${layout.pitch} ${layout.width}`;
    const thumbnails = cache.get(name, () =>
      paintThumbnails(() => overviewAtMoment(entry, moment), layout, theme),
    );
    if (hovered?.kind !== kind) hovered = null; // another kind was chosen by keyboard, under the pointer
    const state = { chosen, shown: [[chosen.layer, chosen.head]], others: [], hovered };
    drawHeadGrid(canvas, layout, thumbnails, state, theme);
    const text = `layer ${chosen.layer}, head ${chosen.head}`;
    announce({ rows: layers, cols: heads, row: chosen.layer, col: chosen.head, text });
    return layout.width;
  }

  return { draw };
}
