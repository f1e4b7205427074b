// The stage of the stepper: the pictures of one step, with what a number is made of marked in them.
//
// A product stands as it is done by hand: what is multiplied at the left and above, the result
// where their rows and columns meet.

import { element } from "../base/js/controls.js";
import { equationOf, writeParts } from "./equation.js";
import { planOf, stageSizes } from "./layout.js";
import { isPerKey } from "./matrix_names.js";
import { MatrixPanel } from "./matrix_panel.js";

/** @typedef {import("../base/js/colour.js").Theme} Theme */
/** @typedef {import("./derivation.js").Cell} Cell */

/**
 * What one frame shows: the layer, every number of the chosen head, and the cell that is explained.
 *
 * @typedef {object} Snapshot
 * @property {import("./attention_math.js").Layer} layer
 * @property {import("./attention_math.js").ComputedHead} worked
 * @property {import("./attention_math.js").Choice} chosen
 * @property {string} step
 * @property {Cell} cell
 * @property {boolean} whole whether every term of a long sum is written
 */

/**
 * The stage; the listeners get the cell with the name of its matrix.
 *
 * @param {Element} parent
 * @param {{ onPoint: (cell: Cell | null) => void, onChoose: (cell: Cell) => void }} listeners
 * @returns {{ draw: (snapshot: Snapshot, width: number, theme: Theme) => void }}
 */
export function openStage(parent, listeners) {
  const node = element(parent, "div", "vt-stage");
  let [built, panels] = ["", []];
  let [equation, written] = [null, ""];

  function build(snapshot, fits) {
    const add = (place, name, part, room = fits) => {
      const panel = new MatrixPanel(place, snapshot, { name, part, fits: room }, listeners);
      panels.push(panel);
      return panel;
    };
    node.replaceChildren();
    [panels, written] = [[], ""];
    const plan = planOf(snapshot.layer, snapshot.step);
    if (!plan.c) {
      equation = element(node, "div", "vt-equation");
      for (const name of plan.rows) add(node, name, isPerKey(name) ? "row" : "c");
      panels[0].node.classList.add("vt-first"); // the words that the columns stand for are named once
      return;
    }
    const grid = element(node, "div", "vt-product");
    equation = element(grid, "div", "vt-equation");
    const above = element(grid, "div", "vt-above");
    add(above, plan.b, "b");
    if (plan.bias) add(above, plan.bias, "bias");
    add(grid, plan.a, "a", true);
    add(grid, plan.c, "c");
  }

  function draw(snapshot, width, theme) {
    const sizes = stageSizes(snapshot, width, theme);
    const key = shapeKey(snapshot, sizes.fits);
    if (key !== built) {
      built = key;
      build(snapshot, sizes.fits);
    }
    const names = panels.map(({ name }) => name);
    for (const panel of panels) panel.draw(snapshot, sizes, names, theme);
    const parts = equationOf(snapshot);
    const text = JSON.stringify(parts);
    if (text === written) return;
    written = text;
    equation.hidden = !parts.length;
    writeParts(equation, parts);
  }

  return { draw };
}

/** What the panels are built for: with another of these they are built again. */
function shapeKey({ layer, worked, step }, fits) {
  const shapes = ["x", "seen", "q", "k"].map((name) => `${worked[name].rows}×${worked[name].cols}`);
  return [step, ...shapes, Boolean(layer.memory), Boolean(layer.b_q), layer.heads, fits].join();
}
