// What is said beside the pictures: what the step does, and where one number comes from.

import { button, element } from "../base/js/controls.js";
import { cellInCode, formulaOf } from "./derivation.js";
import { writeParts } from "./equation.js";
import { meaningOf, sentenceOf, titleOf } from "./narration.js";
import { codeLine } from "./step_code.js";

/** @typedef {import("./stage.js").Snapshot} Snapshot */

const HINT =
  "Point at any number to see where it comes from. Click one to follow it; one that an earlier step made leads there.";

/**
 * A number to six significant digits, to compare with.
 *
 * @param {number} value
 * @returns {string}
 */
export function sixDigits(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : value > 0 ? "inf" : "-inf";
}

/** A function that writes only what differs from the last: a screen reader speaks each change once. */
function onChange(write) {
  let last = "";
  return (...values) => {
    const key = JSON.stringify(values);
    if (key === last) return;
    last = key;
    write(...values);
  };
}

/**
 * The step in words, between the buttons that go to the step before and after it.
 *
 * @param {Element} parent
 * @param {{ onBack: () => void, onNext: () => void }} listeners
 * @returns {{ draw: (snapshot: Snapshot) => void }}
 */
export function stepNarration(parent, { onBack, onNext }) {
  const row = element(parent, "div", "vt-told");
  const back = button(row, "← Back", onBack);
  const text = element(row, "div", "vt-says", { role: "status", "aria-live": "polite" });
  const [heading, sentence] = [element(text, "div", "vt-step-title"), element(text, "p")];
  const next = button(row, "Next →", onNext);
  next.classList.add("vt-next");

  const write = onChange((index, title, says) => {
    heading.textContent = `${index + 1}. ${title}`;
    sentence.textContent = says;
  });

  function draw({ layer, worked, chosen, step }) {
    write(chosen.step, titleOf(step), sentenceOf(layer, worked, chosen, step));
    back.disabled = chosen.step === 0;
    next.disabled = chosen.step === layer.steps.length - 1;
  }

  return { draw };
}

/**
 * A number of the stage: what it is, its sum with the terms, and the line of code that computes it.
 *
 * @param {Element} parent
 * @param {() => void} onMore called to show all terms, or the largest alone again
 * @returns {{ draw: (snapshot: Snapshot) => void }}
 */
export function numberReadout(parent, onMore) {
  const node = element(parent, "div", "vt-readout", { "aria-live": "polite" });
  const meaning = element(node, "div", "vt-meaning");
  const formula = element(node, "div", "vt-formula");
  const code = element(node, "pre", "vt-code");
  element(node, "div", "vt-hint").textContent = HINT;
  formula.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).closest(".vt-more")) onMore();
  });

  const write = onChange((name, words, parts, line, number, whole) => {
    meaning.textContent = `${name} is ${words}:`;
    writeParts(formula, parts);
    if (whole) element(formula, "button", "vt-more").textContent = "fewer terms";
    code.textContent = `${line ? `${line}\n` : ""}${name}  # ${number}`;
  });

  function draw({ layer, worked, chosen, cell, whole }) {
    write(
      cellInCode(layer, chosen, cell),
      meaningOf(layer, chosen, cell),
      formulaOf(layer, worked, chosen, cell, whole),
      codeLine(layer, worked, chosen, cell.name),
      sixDigits(worked[cell.name].at(cell.row, cell.col)),
      whole,
    );
  }

  return { draw };
}
