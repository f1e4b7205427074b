// The controls of a prediction: a number to type, answers or words to choose from, a row to draw.

import { button, element } from "../base/controls.ts";

/**
 * @typedef {object} Controls
 * @property {(guess: any, truth: any) => void} lock shows the answer, and takes no other
 */

/** A field for a number, and its unit. Enter submits. */
function numberControls(parent, { unit, question }, submit, onInput) {
  const field = element(parent, "input", "", {
    type: "text",
    inputmode: "decimal",
    size: 10,
    placeholder: "a number",
    "aria-label": question,
    "data-lm-suppress-shortcuts": "true",
  });
  if (unit) element(parent, "span").textContent = unit;
  const done = button(parent, "Predict", () => submit(field.value));
  field.addEventListener("input", onInput);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && !event.shiftKey && !event.ctrlKey && !event.metaKey)
      submit(field.value);
  });
  return {
    lock(guess) {
      field.value = String(guess);
      field.disabled = done.disabled = true;
    },
  };
}

/** A button for each answer, or for each word by its place. */
function choiceControls(parent, { kind, options }, submit) {
  const value = (place) => (kind === "key" ? place : options[place]);
  const buttons = options.map((text, place) => button(parent, text, () => submit(value(place))));
  return {
    lock(guess, truth) {
      const best = kind === "key" && truth ? truth.indexOf(Math.max(...truth)) : truth;
      buttons.forEach((each, place) => {
        const [mine, right] = [value(place) === guess, truth !== null && value(place) === best];
        each.disabled = true;
        each.classList.toggle("vt-mine", mine);
        each.classList.toggle("vt-true", right);
        if (truth !== null && (mine || right)) mark(each, right, mine);
      });
    },
  };
}

/** Mark an answer as right or wrong, and as the learner's own. The verdict says the same in words. */
function mark(answer, right, mine) {
  const sign = element(answer, "span", "vt-mark", { "aria-hidden": "true" });
  sign.textContent = right ? "✓" : "✗";
  answer.prepend(sign);
  if (mine) element(answer, "span", "vt-whose", { "aria-hidden": "true" }).textContent = "your answer";
}

/** A slider for each key. */
function rowControls(parent, { options }, submit, onInput) {
  const grid = element(parent, "div", "vt-keys");
  const sliders = options.map((key) => {
    const label = element(grid, "label");
    element(label, "bdi").textContent = key;
    const input = element(label, "input", "", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.05,
      value: 0,
      "data-lm-suppress-shortcuts": "true",
    });
    const shown = element(label, "span"); // the slider tells its value itself
    const show = () => {
      shown.textContent = Number(input.value).toFixed(2);
    };
    input.addEventListener("input", () => {
      show();
      onInput();
    });
    show();
    return { input, show };
  });
  const done = button(parent, "Predict", () => submit(sliders.map(({ input }) => Number(input.value))));
  return {
    lock(guess) {
      done.disabled = true;
      sliders.forEach(({ input, show }, key) => {
        input.step = "any"; // the row is scaled, and seldom ends on a step
        input.value = String(guess[key]);
        input.disabled = true;
        show();
      });
    },
  };
}

/**
 * The controls of a kind of prediction; `submit(given)` is called with what was typed or drawn.
 *
 * @returns {Controls}
 */
export function addControls(parent, asked, submit, onInput) {
  if (asked.kind === "number") return numberControls(parent, asked, submit, onInput);
  if (asked.kind === "row") return rowControls(parent, asked, submit, onInput);
  return choiceControls(parent, asked, submit);
}
