// The tabs of the steps: each a small picture of what it computed, the later ones still blank.

import { fitCanvas, strokeBox } from "../base/js/canvas.js";
import { element } from "../base/js/controls.js";
import { sourcesOf, stepOf } from "./derivation.js";
import { resultOf } from "./layout.js";
import { markColour, paintSheet } from "./large_matrix.js";
import { signOf, titleOf } from "./narration.js";

/** @typedef {import("../base/js/colour.js").Theme} Theme */
/** @typedef {import("./stage.js").Snapshot} Snapshot */
/** @typedef {import("./derivation.js").Cell} Cell */

const PICTURE_HEIGHT = 20; // pixels

/**
 * How wide the small pictures are, so that all steps stand in one line, or else in two.
 *
 * @param {number} width of the page
 * @param {number} count
 * @returns {number}
 */
export function pictureWidth(width, count) {
  const room = Math.floor((width + 4) / count) - 14;
  return room < 46 ? 68 : Math.min(68, room);
}

/**
 * The place of a cell in a step's small picture, or null: a column of kᵀ is a row of k.
 *
 * @param {import("./attention_math.js").Layer} layer
 * @param {Cell} cell
 * @param {string} step
 * @returns {{ row: number | null, col: number | null } | null}
 */
export function placeInPicture(layer, { name, row, col }, step) {
  if (stepOf(layer, name) !== step) return null;
  if (name === pictured(layer, step)) return { row, col };
  return name === "k_t" ? { row: col, col: row } : null;
}

/** The matrix that a step's small picture shows. */
function pictured(layer, step) {
  return step === "x" ? "x" : resultOf(layer, step);
}

/**
 * A tab for each step; arrow keys go from one to the next.
 *
 * @param {Element} parent
 * @param {(step: number) => void} onStep
 * @returns {{ draw: (snapshot: Snapshot, width: number, theme: Theme) => void }}
 */
export function stepTabs(parent, onStep) {
  const node = element(parent, "div", "vt-steps", { role: "tablist", "aria-label": "Steps" });
  let [built, tabs, current] = ["", [], 0];

  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const inside = Math.min(tabs.length - 1, Math.max(0, to));
    tabs[inside].tab.focus();
    if (inside !== current) onStep(inside);
  });

  function draw(snapshot, pageWidth, theme) {
    const { layer, chosen } = snapshot;
    const key = layer.steps.join();
    if (key !== built) {
      built = key;
      node.replaceChildren();
      tabs = layer.steps.map((step, index) => addTab(node, step, index, onStep));
    }
    current = chosen.step;
    const width = pictureWidth(pageWidth, tabs.length);
    for (const [index, { tab, canvas }] of tabs.entries()) {
      tab.setAttribute("aria-selected", String(index === current));
      tab.tabIndex = index === current ? 0 : -1;
      tab.classList.toggle("vt-to-come", index > current);
      const context = fitCanvas(canvas, width, PICTURE_HEIGHT);
      if (index <= current) drawPicture(context, snapshot, layer.steps[index], width, theme);
    }
  }

  return { draw };
}

function addTab(parent, step, index, onStep) {
  const tab = element(parent, "button", "vt-step", {
    type: "button",
    role: "tab",
    "aria-label": `${signOf(step)}, step ${index + 1}: ${titleOf(step)}`,
    "data-lm-suppress-shortcuts": "true",
  });
  tab.addEventListener("click", () => onStep(index));
  element(tab, "span", "vt-sign").textContent = signOf(step);
  return { tab, canvas: element(tab, "canvas", "", { "aria-hidden": "true" }) };
}

/** What a step computed, with the explained cell and its terms outlined. */
function drawPicture(context, { layer, worked, cell }, step, width, theme) {
  const matrix = worked[pictured(layer, step)];
  const scale = step === "weights" ? "weight" : "signed";
  paintSheet(context, matrix, scale, theme, 0, 0, width, PICTURE_HEIGHT);
  const [cellWidth, cellHeight] = [width / matrix.cols, PICTURE_HEIGHT / matrix.rows];
  const marks = sourcesOf(layer, cell).map((source, i) => ({ ...source, role: i ? "b" : "a" }));
  for (const mark of [...marks, { ...cell, role: "is" }]) {
    const place = placeInPicture(layer, mark, step);
    if (!place) continue;
    // Around the numbers, not over them: a row may be four pixels high.
    strokeBox(
      context,
      place.col === null ? 0 : place.col * cellWidth - 1,
      place.row === null ? 0 : place.row * cellHeight - 1,
      place.col === null ? width : cellWidth + 2,
      place.row === null ? PICTURE_HEIGHT : cellHeight + 2,
      markColour(mark.role, theme),
      1.5,
    );
  }
}
