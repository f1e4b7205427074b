// The parts of the explorer's page: canvases, lines of text and the table, empty as yet.

import { ariaGrid } from "../base/js/aria_grid.js";
import { element, focusableCanvas } from "../base/js/controls.js";
import { offscreenCanvas } from "../base/js/heatmap.js";
import { addDataTable } from "./data_table.js";
import { addReadout } from "./readout.js";

/** @typedef {ReturnType<typeof addParts>} Parts */

/**
 * Add the parts to a view's root.
 *
 * @param {HTMLElement} root
 */
export function addParts(root) {
  const panel = element(root, "div", "vt-panel");
  const table = addDataTable(root); // where it opens, it is in sight
  const wall = element(root, "div", "vt-wall");
  const overview = element(root, "div", "vt-heads");
  const title = element(root, "div", "vt-title", { role: "heading", "aria-level": "3" });
  const heatmap = element(root, "div", "vt-head");
  const readout = addReadout(root);
  const tokens = element(root, "div", "vt-words");
  const picture = element(root, "div", "vt-picture");
  return {
    root,
    bar: /** @type {HTMLElement} */ (root.querySelector(".vt-about")),
    panel,
    wall,
    title,
    overview: addOverview(overview),
    heatmap: addHeatmap(heatmap),
    readout,
    tokens: addTokens(tokens),
    picture: addPicture(picture),
    table,
  };
}

function addOverview(parent) {
  const canvas = focusableCanvas(
    parent,
    "All heads: the arrow keys choose layer and head, Space selects several, W shows all large, Enter opens one",
  );
  const line = element(parent, "div", "vt-labels");
  return {
    canvas,
    label: element(line, "span", "vt-label"),
    legend: element(line, "span"),
    announce: ariaGrid(canvas),
  };
}

function addHeatmap(parent) {
  const canvas = focusableCanvas(
    parent,
    "Weights of the chosen head: the arrow keys choose query and key, plus and minus zoom",
  );
  const line = element(parent, "div", "vt-scale");
  const range = element(line, "span", "vt-range");
  const scale = {
    low: element(range, "span"),
    bar: element(range, "span", "vt-bar"),
    high: element(range, "span"),
  };
  return {
    node: parent,
    canvas,
    cells: offscreenCanvas(),
    scale,
    notes: element(line, "span", "vt-notes"),
    zooms: element(line, "span", "vt-zooms", { role: "group", "aria-label": "Zoom" }),
    announce: ariaGrid(canvas),
  };
}

function addTokens(parent) {
  const titles = element(parent, "div", "vt-columns", { "aria-hidden": "true" });
  const scroller = element(parent, "div", "vt-scroll");
  const scrolled = element(scroller, "div", "vt-scrolled"); // as high as all tokens; the canvas stays in view
  const canvas = focusableCanvas(
    scrolled,
    "Tokens and who attends to whom: the arrow keys choose query and key",
  );
  return { node: parent, titles, scroller, scrolled, canvas, announce: ariaGrid(canvas) };
}

function addPicture(parent) {
  const canvas = focusableCanvas(parent, "The picture: the arrow keys choose the patch that attends");
  return { node: parent, canvas, caption: element(parent, "div", "vt-caption"), announce: ariaGrid(canvas) };
}
