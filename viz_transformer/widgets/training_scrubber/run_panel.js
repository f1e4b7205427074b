// The panel of one run at its moment: its translation, all heads small, and one of them large.

import { element } from "../base/controls.ts";
import { canvasCache } from "./canvas_cache.js";
import { headDetail } from "./head_detail.js";
import { headOverview } from "./head_overview.js";
import { translationText } from "./translation.js";

/**
 * What one frame shows of a run.
 *
 * @typedef {object} RunSnapshot
 * @property {import("./runs.js").Run} run
 * @property {number} moment its index
 * @property {number} sentence its index
 * @property {import("./runs.js").KindEntry | null} entry the heads, or null until they have come
 * @property {{ kind: string, layer: number, head: number }} chosen
 * @property {boolean} named whether the run's name is shown
 * @property {number} width
 * @property {number} height of the heads
 * @property {number} longest the width of the sentence's longest translation in any run, in pixels
 * @property {import("../base/colour.ts").Theme} theme
 */

/**
 * The panel of a run; `chosenHead` returns the head that is chosen now.
 *
 * @param {import("../base/view.ts").View} view
 * @param {Element} parent
 * @param {object} options
 * @param {() => number} options.scale
 * @param {(entry: import("./runs.js").KindEntry | null) => { layer: number, head: number }} options.chosenHead
 * @param {(head: { layer: number, head: number }) => void} options.onHead
 * @returns {{ draw: (snapshot: RunSnapshot) => void, clear: () => void }} `clear` drops what is painted
 */
export function runPanel(view, parent, { scale, chosenHead, onHead }) {
  const node = element(parent, "section", "vt-run");
  const cache = canvasCache();
  const translation = translationText(node);
  const pictures = element(node, "div", "vt-pictures");
  const overview = headOverview(view, pictures, { scale, cache, chosenHead, onHead });
  const detail = headDetail(view, pictures, { scale, cache });
  let last = null; // the heads of the frame before

  function draw(snapshot) {
    const { entry, named, width } = snapshot;
    if (entry !== last) detail.unpoint();
    last = entry;
    translation.draw(snapshot);
    pictures.hidden = !entry;
    if (!entry) return;
    // A run alone has room for its large head beside all the rest.
    const layout = !named && width >= 760 ? "split" : width >= 380 ? "beside" : "below";
    node.dataset.layout = layout;
    const half = (width - 28) / 2;
    const room = { split: half, beside: Math.min(320, width * (width < 460 ? 0.3 : 0.42)), below: width }[
      layout
    ];
    const taken = overview.draw(snapshot, room);
    detail.draw(snapshot, { split: half, beside: width - taken - 22, below: width }[layout]);
  }

  return { draw, clear: cache.clear };
}
