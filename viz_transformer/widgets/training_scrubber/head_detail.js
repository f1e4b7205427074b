// The chosen head of one run at a moment, large, with its weights and its entropy in words.

import { ariaGrid } from "../base/aria_grid.ts";
import { pixelRatio } from "../base/canvas.ts";
import { element, focusableCanvas, setText } from "../base/controls.ts";
import { addCanvasListeners, ARROWS } from "../base/gestures.ts";
import { cellAt, drawMatrix, matrixLayout, moveCell, paintCells } from "../base/heatmap.ts";
import { formatWeight, marksExplained, quoted, visible } from "../base/text.ts";
import { describeEntropy, describeStrongest, headAtMoment, strongestCell } from "./runs.js";

/** @typedef {import("./run_panel.js").RunSnapshot} RunSnapshot */

const NO_CELL = { query: null, key: null };

/**
 * The large picture of a head.
 *
 * @param {import("../base/view.ts").View} view
 * @param {Element} parent
 * @param {{ scale: () => number, cache: ReturnType<typeof import("./canvas_cache.js").canvasCache> }} options
 * @returns {{ draw: (snapshot: RunSnapshot, width: number) => void, unpoint: () => void }}
 */
export function headDetail(view, parent, { scale, cache }) {
  const node = element(parent, "div", "vt-large");
  const title = element(node, "div", "vt-title", { role: "heading", "aria-level": "4" });
  const canvas = focusableCanvas(node, "Weights of the chosen head: arrow keys move");
  const readout = element(node, "p", "vt-weight", { role: "status", "aria-live": "polite" });
  const entropy = element(node, "p", "vt-entropy");
  const announce = ariaGrid(canvas);
  const weightsOf = weightsCache();
  let [layout, drawn, pointed] = [null, null, NO_CELL];

  addCanvasListeners(view, canvas, {
    scale,
    hitTest: (x, y) => (layout ? cellAt(layout, x, y) : null),
    onPoint: (cell) => {
      pointed = cell ?? NO_CELL;
    },
    onClick: () => {},
    onKey(event) {
      if (!layout || ![...ARROWS, "Escape"].includes(event.key)) return false;
      const { rows, cols } = drawn.entry;
      pointed = event.key === "Escape" ? NO_CELL : moveCell(pointed, rows, cols, event.key);
      view.redraw();
      return true;
    },
  });

  function draw(snapshot, width) {
    drawn = snapshot;
    const { entry, chosen, moment, run, sentence, theme } = snapshot;
    const { rows, cols, queries, keys, masked } = entry;
    const { layer, head } = chosen;
    const name = `${sentence} ${entry.kind} ${moment} ${layer} ${head}`;
    const weights = weightsOf(name, snapshot);
    layout = headLayout(snapshot, width);
    const shown = { weights, rows, cols, masked, limit: null, queries, keys };
    const cells = cache.get(`${name} ${layout.cell}`, () => paintCells(shown, layout, 0, theme));
    const active = pointed.query !== null && pointed.query < rows && pointed.key < cols ? pointed : NO_CELL;
    const [row, col] = strongestCell(entry, weights);
    const named = active.query === null ? { queries: [row], keys: [col] } : null;
    const marks = { active, pinned: NO_CELL, named, found: null, least: 0, waiting: "" };
    drawMatrix(canvas, layout, cells, shown, marks, theme);
    const text = describeWeight(entry, weights, active);
    readout.setAttribute("aria-live", active.query === null ? "off" : "polite"); // not while dragging
    setText(readout, text);
    announce({ rows, cols, row: active.query, col: active.key, text });
    setText(title, `Layer ${layer} · head ${head}`);
    const explained = marksExplained([...entry.queries, ...entry.keys]);
    setText(entropy, `${describeEntropy(entry, run.moments, moment, layer, head)} ${explained}`.trim());
  }

  function unpoint() {
    pointed = NO_CELL;
  }

  return { draw, unpoint };
}

/** The weights of the head that was asked for last, so that a frame need not read them again. */
function weightsCache() {
  let [name, weights] = ["", null];
  return (wanted, { entry, moment, chosen }) => {
    if (name !== wanted) [name, weights] = [wanted, headAtMoment(entry, moment, chosen.layer, chosen.head)];
    return weights;
  };
}

function headLayout({ entry, height, theme }, width) {
  const widthOf = (tokens) =>
    Math.ceil(Math.max(...tokens.map((token) => theme.measure(visible(token).slice(0, 40), 15, true))));
  entry.widest ??= [widthOf(entry.queries), widthOf(entry.keys)];
  return matrixLayout({
    rows: entry.rows,
    cols: entry.cols,
    width,
    maxHeight: Math.max(height - 20, 160),
    rowLabel: entry.widest[0],
    colLabel: entry.widest[1],
    ratio: pixelRatio() * theme.scale,
  });
}

/** The weight that is pointed at, or else the strongest, in words. */
function describeWeight(entry, weights, { query, key }) {
  if (query === null) return describeStrongest(entry, weights);
  const weight = formatWeight(weights[query * entry.cols + key]);
  return `${quoted(entry.queries[query])} to ${quoted(entry.keys[key])}: ${weight}.`;
}
