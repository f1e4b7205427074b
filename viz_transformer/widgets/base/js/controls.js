// The controls that views share: native elements, so that keyboards and screen readers know them.

import { runningPieces } from "./text.js";

let nextId = 0;

/** A new element inside `parent`. */
export function element(parent, tag, className = "", attributes = {}) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent.append(node);
  return node;
}

/** Give a node its text, if it is another: the same text, given again, would be laid out again. */
export function retext(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A canvas that takes the keyboard. */
export function picture(parent, label) {
  return element(parent, "canvas", "vt-canvas", {
    tabindex: "0",
    role: "application",
    "aria-label": label,
    // JupyterLab keeps the arrow keys for itself unless the focused element says this.
    "data-lm-suppress-shortcuts": "true",
  });
}

/** A push button. */
export function button(parent, text, onClick) {
  const node = element(parent, "button", "vt-button", {
    type: "button",
    "data-lm-suppress-shortcuts": "true",
  });
  node.textContent = text;
  node.addEventListener("click", onClick);
  return node;
}

/** A button that stays pressed: {node, set(pressed)}; `onChange(pressed)` hears the viewer. */
export function toggle(parent, text, onChange) {
  const node = button(parent, text, () => {
    set(node.getAttribute("aria-pressed") !== "true");
    onChange(node.getAttribute("aria-pressed") === "true");
  });
  const set = (pressed) => node.setAttribute("aria-pressed", String(Boolean(pressed)));
  set(false);
  return { node, set };
}

/** A slider with its value beside it: {node, set(value)}; `onInput(value)` hears the viewer. */
export function slider(parent, { label, min, max, step, digits = 2 }, onInput) {
  const node = element(parent, "label", "vt-slider");
  element(node, "span").textContent = label;
  const input = element(node, "input", "", {
    type: "range",
    min,
    max,
    step,
    "aria-label": label,
    "data-lm-suppress-shortcuts": "true",
  });
  const shown = element(node, "output");
  const set = (value) => {
    // A slider that is being dragged is not pulled back by what its own change brought about.
    if (Number(input.value) !== value) input.value = value;
    shown.textContent = Number(value).toFixed(digits);
  };
  input.addEventListener("input", () => {
    shown.textContent = Number(input.value).toFixed(digits);
    onInput(Number(input.value));
  });
  return { node, set };
}

/** One of several: {node, set(value)}; options are [value, text]; `onChange(value)` hears the viewer. */
export function choice(parent, label, options, onChange) {
  const node = element(parent, "label", "vt-choice");
  element(node, "span").textContent = label;
  const select = element(node, "select", "", { "aria-label": label, "data-lm-suppress-shortcuts": "true" });
  for (const [value, text] of options) element(select, "option", "", { value }).textContent = text;
  select.addEventListener("change", () => onChange(select.value));
  return {
    node,
    set: (value) => {
      select.value = value;
    },
  };
}

/** Tokens as a text to read: a node for each, those that are marked as such. */
export function markedText(tokens, marked) {
  return runningPieces(tokens).flatMap(({ text, spaced }, i) => {
    const node = document.createElement(marked[i] ? "mark" : "bdi");
    node.textContent = text;
    return spaced ? [" ", node] : [node];
  });
}

/** A name that no other element of the page has. */
export function uniqueId() {
  return `vt-${Date.now().toString(36)}-${nextId++}`;
}
