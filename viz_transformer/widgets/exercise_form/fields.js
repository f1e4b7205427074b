// What an exercise is answered with: a field, a row or a table of them, cells to switch, or options.

import { button, element, setText, toggle } from "../base/controls.ts";
import { placeOf } from "./checking.js";
import { isTruthTable, MOST_LETTERS } from "./reading.js";

/**
 * @import { Asked } from "./checking.js"
 * @typedef {object} Fields
 * @property {(answer: any) => void} show puts an answer into the fields
 */

const NUMBERS_NOTE = "One number in each field, such as 0.25 or 1/4.";
const ROW_NOTE = `${NUMBERS_NOTE} If you have fewer, leave the last fields empty.`;
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** A text field for a number; Enter submits. */
function numberField(parent, label, size, { submit, onInput }) {
  const field = element(parent, "input", "", {
    type: "text",
    size,
    maxlength: MOST_LETTERS,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    "aria-label": label,
    "data-lm-suppress-shortcuts": "true",
  });
  field.addEventListener("input", onInput);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && !event.shiftKey && !event.ctrlKey && !event.metaKey)
      submit();
  });
  return field;
}

/** One number, with its unit and a button to check it. */
function oneNumber(parent, { unit }, onAnswer, onInput) {
  const submit = () => onAnswer(field.value);
  const field = numberField(parent, "your number", 18, { submit, onInput });
  field.placeholder = "such as 0.25 or 1/4";
  if (unit) element(parent, "span").textContent = unit;
  button(parent, "Check", submit);
  return {
    show(answer) {
      field.value = answer;
    },
  };
}

/** A field or a cell to switch for each value of an array, in rows of its last axis. */
function manyValues(parent, { kind, value, n_fields }, onAnswer, onInput) {
  const switched = isTruthTable(value);
  if (!switched) element(parent, "p", "vt-how").textContent = kind === "row" ? ROW_NOTE : NUMBERS_NOTE;
  const shape = kind === "row" ? [n_fields] : value.shape;
  const perRow = shape.at(-1);
  const grid = element(parent, "div", `vt-cells${switched ? " vt-switched" : ""}`, {
    role: "group",
    "aria-label": switched ? "cells to switch between True and False" : "your numbers",
  });
  grid.style.setProperty("--vt-columns", perRow);
  const submit = () => onAnswer(cells.map((cell) => cell.read()));
  const cells = Array.from({ length: n_fields }, (_, at) => {
    const place = placeOf(at, shape);
    const label = `[${place.join(", ")}]`;
    const cell = switched ? truthCell(grid, label, onInput) : textCell(grid, label, { submit, onInput });
    // A table of more axes falls into blocks.
    cell.node.classList.toggle("vt-block", at >= 2 * perRow && place.at(-2) === 0);
    return cell;
  });
  grid.addEventListener("keydown", (event) => moveFocus(event, cells, perRow));
  button(parent, "Check", submit);
  return {
    show(answer) {
      for (const [at, cell] of cells.entries()) cell.show(answer[at]);
    },
  };
}

function textCell(parent, label, on) {
  const node = numberField(parent, label, 7, on);
  return {
    node,
    read: () => node.value,
    show(text) {
      node.value = text;
    },
  };
}

/** A button that says True or False, and changes between them. */
function truthCell(parent, label, onInput) {
  let value = false;
  const node = button(parent, "", () => {
    show(!value);
    onInput();
  });
  function show(newest) {
    value = newest;
    setText(node, value ? "True" : "False");
    node.setAttribute("aria-label", `${label} ${node.textContent}`);
    node.classList.toggle("vt-true", value);
  }
  show(false);
  return { node, show, read: () => value };
}

/** Arrow keys lead from cell to cell; in a text to its end first. */
function moveFocus(event, cells, perRow) {
  const step = STEPS[event.key];
  const at = cells.findIndex(({ node }) => node === event.target);
  if (!step || at < 0 || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
  const { node } = cells[at];
  const within = step[1] > 0 ? node.value?.length : 0;
  if (step[1] && node.selectionStart !== undefined && node.selectionStart !== within) return;
  const [row, column] = [Math.floor(at / perRow) + step[0], (at % perRow) + step[1]];
  const next = column >= 0 && column < perRow && cells[row * perRow + column];
  if (!next) return;
  event.preventDefault();
  next.node.focus();
}

/** A button for each option, which is checked when it is clicked. */
function optionButtons(parent, { options }, onAnswer) {
  const buttons = options.map((option) => toggle(parent, option, () => onAnswer(option)));
  return {
    show(answer) {
      for (const [at, { set }] of buttons.entries()) set(options[at] === answer);
    },
  };
}

/** A button to check what is chosen in another view. */
function chosenElsewhere(parent, { traits, chosenIn }, onAnswer) {
  element(parent, "p", "vt-how").textContent = "Choose it in the view above.";
  button(parent, "Check what is chosen", async () => {
    const other = await chosenIn();
    onAnswer(traits.map((name) => other.get(name)));
  });
  return { show() {} }; // the other view shows it
}

/**
 * What an exercise is answered with; `onAnswer(answer)` is called when it is to be checked, and
 * `onInput()` when it changes before that.
 *
 * @param {HTMLElement} parent
 * @param {Asked & { chosenIn: () => Promise<any> }} asked with the model of the view to choose in
 * @param {(answer: any) => void} onAnswer
 * @param {() => void} onInput
 * @returns {Fields}
 */
export function addFields(parent, asked, onAnswer, onInput) {
  if (asked.kind === "choice") return optionButtons(parent, asked, onAnswer);
  if (asked.kind === "view") return chosenElsewhere(parent, asked, onAnswer);
  return (asked.kind === "number" ? oneNumber : manyValues)(parent, asked, onAnswer, onInput);
}
