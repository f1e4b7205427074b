// Controls: native elements, so that keyboards and screen readers know them.

import { formatNumber } from "./text.js";

let nextId = 0;

/**
 * A new element inside `parent`.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {ParentNode} parent
 * @param {Tag} tag
 * @param {string} className
 * @param {Record<string, unknown>} attributes
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(parent, tag, className = "", attributes = {}) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  parent.append(node);
  return node;
}

/** Set a node's text if it differs: the same text, set again, would be laid out and spoken again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A canvas that can have the keyboard focus. */
export function focusableCanvas(parent, label) {
  return element(parent, "canvas", "vt-canvas", {
    tabindex: "0",
    role: "application",
    "aria-label": label,
    // Without this attribute on the focused element, JupyterLab takes the arrow keys.
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

/** A button that stays pressed: {node, set(pressed)}; `onChange(pressed)` is called on a click. */
export function toggle(parent, text, onChange) {
  const node = button(parent, text, () => {
    set(node.getAttribute("aria-pressed") !== "true");
    onChange(node.getAttribute("aria-pressed") === "true");
  });
  const set = (pressed) => node.setAttribute("aria-pressed", String(Boolean(pressed)));
  set(false);
  return { node, set };
}

/** A slider with its value beside it: {node, set(value)}; `onInput(value)` is called while it is dragged. */
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
    // While it is dragged, the slider is not moved by the change that it caused.
    if (Number(input.value) !== value) input.value = String(value);
    shown.textContent = formatNumber(Number(value), digits);
  };
  input.addEventListener("input", () => {
    shown.textContent = formatNumber(Number(input.value), digits);
    onInput(Number(input.value));
  });
  return { node, set };
}

/**
 * A slider over the places of a list, with their texts beside it: {node, set(place)}.
 *
 * @param {Element} parent
 * @param {{label: string, texts: string[]}} list
 * @param {(place: number) => void} onInput called while it is dragged
 */
export function listSlider(parent, { label, texts }, onInput) {
  const scale = { label, min: 0, max: texts.length - 1, step: 1, digits: 0 };
  const { node, set } = slider(parent, scale, (place) => {
    showText(place);
    onInput(place);
  });
  const [input, output] = [node.querySelector("input"), node.querySelector("output")];
  const showText = (place) => {
    output.textContent = texts[place];
    input.setAttribute("aria-valuetext", texts[place]);
  };
  return {
    node,
    set(place) {
      set(place);
      showText(place);
    },
  };
}

/** A drop-down list: {node, set(value)}; options are [value, text]; `onChange(value)` is called on a choice. */
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

/** An id that no other element of the page has. */
export function uniqueId() {
  return `vt-${Date.now().toString(36)}-${nextId++}`;
}
