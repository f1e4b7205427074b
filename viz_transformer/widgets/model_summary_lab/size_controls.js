// The controls of the sizes: a slider with stops, and a field for any number.

import { element } from "../base/js/controls.js";
import { nearestStop } from "./sizes.js";

/**
 * @typedef {object} SizeControl
 * @property {string} name
 * @property {string} label
 * @property {number[]} stops
 * @property {number} most
 */

/**
 * Add a control for each size. `onSet(control, value)` is called when the viewer sets it, and
 * `onMark(name)` when the control gets the focus.
 *
 * @param {Element} parent
 * @param {SizeControl[]} controls
 * @param {(control: SizeControl, value: number) => void} onSet
 * @param {(name: string) => void} onMark
 */
export function addSizeControls(parent, controls, onSet, onMark) {
  const box = element(parent, "div", "vt-sizes");
  const parts = controls.map((control) => addControl(box, control, onSet, onMark));
  return {
    /** @param {Record<string, number>} sizes @param {string} marked */
    update(sizes, marked) {
      for (const part of parts) part.set(sizes[part.name], part.name === marked);
    },
  };
}

function addControl(parent, control, onSet, onMark) {
  const { name, label, stops, most } = control;
  const row = element(parent, "div", "vt-slider vt-size");
  element(row, "span", "vt-size-name").textContent = label;
  const common = { "data-lm-suppress-shortcuts": "true" };
  const range = element(row, "input", "", {
    type: "range",
    min: 0,
    max: stops.length - 1,
    step: 1,
    "aria-label": label,
    ...common,
  });
  const field = element(row, "input", "", {
    type: "number",
    min: 1,
    max: most,
    "aria-label": `${label}, any number`,
    ...common,
  });
  row.addEventListener("focusin", () => onMark(name));
  range.addEventListener("input", () => onSet(control, stops[Number(range.value)]));
  // When it is done, not at each digit: 1 on the way to 128 is no size that was meant.
  let typing = false; // what is being typed stays, whatever is drawn meanwhile
  field.addEventListener("input", () => {
    typing = true;
  });
  field.addEventListener("change", () => {
    typing = false;
    if (field.value !== "") onSet(control, Number(field.value));
  });

  return {
    name,
    set(value, marked) {
      const [stop, text] = [String(nearestStop(stops, value)), String(value)];
      if (range.value !== stop) range.value = stop;
      range.setAttribute("aria-valuetext", text);
      if (!typing && field.value !== text) field.value = text;
      row.dataset.marked = String(marked);
    },
  };
}
