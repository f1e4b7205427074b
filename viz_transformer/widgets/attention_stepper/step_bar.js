// The bar of steps: each a small picture of what it made, the steps to come still blank.

import { fitCanvas, strokeBox } from "../base/js/canvas.js";
import { element } from "../base/js/controls.js";
import { madeIn, sourcesOf } from "./derivation.js";
import { resultOf } from "./layout.js";
import { markColour, paintSheet } from "./large_matrix.js";
import { signOf, titleOf } from "./narration.js";

const HEIGHT = 20; // pixels of a small picture

/** How wide the small pictures are, that all steps stand in one line, or else in two. */
export function smallWidth(width, count) {
  const room = Math.floor((width + 4) / count) - 14;
  return room < 46 ? 68 : Math.min(68, room);
}

/** The place in a step's small picture of a source, or null: a column of kᵀ is a row of k. */
export function smallMark(layer, { name, row, col }, step) {
  if (madeIn(layer, name) !== step) return null;
  const shown = smallMatrix(layer, step);
  if (name === shown) return { row, col };
  if (name === "k_t") return { row: col, col: row };
  return null;
}

function smallMatrix(layer, step) {
  return step === "x" ? "x" : resultOf(layer, step);
}

/** A tab for each step; arrow keys go from one to the next. `onStep(index)` hears the viewer. */
export function stepBar(parent, onStep) {
  const node = element(parent, "div", "vt-steps", { role: "tablist", "aria-label": "Steps" });
  let [built, tabs, at] = ["", [], 0];

  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const inside = Math.min(tabs.length - 1, Math.max(0, to));
    tabs[inside].tab.focus();
    if (inside !== at) onStep(inside);
  });

  function build(steps) {
    node.replaceChildren();
    tabs = steps.map((step, index) => {
      const tab = element(node, "button", "vt-step", {
        type: "button",
        role: "tab",
        "aria-label": `${signOf(step)}, step ${index + 1}: ${titleOf(step)}`,
        "data-lm-suppress-shortcuts": "true",
      });
      tab.addEventListener("click", () => onStep(index));
      const sign = element(tab, "span", "vt-sign");
      sign.textContent = signOf(step);
      return { tab, canvas: element(tab, "canvas", "", { "aria-hidden": "true" }) };
    });
  }

  function draw({ layer, worked, cell, index }, pageWidth, theme) {
    const wanted = layer.steps.join();
    if (wanted !== built) {
      built = wanted;
      build(layer.steps);
    }
    at = index;
    const width = smallWidth(pageWidth, layer.steps.length);
    const marks = sourcesOf(layer, worked, cell).map((source, i) => ({ ...source, role: i ? "b" : "a" }));
    tabs.forEach(({ tab, canvas }, i) => {
      const step = layer.steps[i];
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
      tab.classList.toggle("vt-to-come", i > index);
      const context = fitCanvas(canvas, width, HEIGHT);
      if (i > index) return;
      const name = smallMatrix(layer, step);
      const matrix = worked[name];
      paintSheet(context, matrix, step === "weights" ? "weight" : "signed", theme, 0, 0, width, HEIGHT);
      for (const mark of [...marks, { ...cell, role: "is" }]) {
        const place = smallMark(layer, mark, step);
        if (!place) continue;
        const [wide, high] = [width / matrix.cols, HEIGHT / matrix.rows];
        // Around the numbers, not over them: a row may be four pixels high.
        strokeBox(
          context,
          place.col === null ? 0 : place.col * wide - 1,
          place.row === null ? 0 : place.row * high - 1,
          place.col === null ? width : wide + 2,
          place.row === null ? HEIGHT : high + 2,
          markColour(mark.role, theme),
          1.5,
        );
      }
    });
  }

  return { node, draw };
}
