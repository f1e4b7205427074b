// Controls: native elements, so that keyboards and screen readers know them.

import { formatNumber } from "./text.ts";

let nextId = 0;

/** A new element inside `parent`. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  parent: ParentNode,
  tag: Tag,
  className = "",
  attributes: Record<string, unknown> = {},
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  parent.append(node);
  return node;
}

/** Set a node's text if it differs: the same text, set again, would be laid out and spoken again. */
export function setText(node: Element, text: string) {
  if (node.textContent !== text) node.textContent = text;
}

/** A canvas that can have the keyboard focus. */
export function focusableCanvas(parent: HTMLElement, label: string) {
  return element(parent, "canvas", "vt-canvas", {
    tabindex: "0",
    role: "application",
    "aria-label": label,
    // Without this attribute on the focused element, JupyterLab takes the arrow keys.
    "data-lm-suppress-shortcuts": "true",
  });
}

/** A push button. */
export function button(parent: ParentNode, text: string, onClick: () => void) {
  const node = element(parent, "button", "vt-button", {
    type: "button",
    "data-lm-suppress-shortcuts": "true",
  });
  node.textContent = text;
  node.addEventListener("click", onClick);
  return node;
}

/** A button that stays pressed: {node, set(pressed)}; `onChange(pressed)` is called on a click. */
export function toggle(parent: HTMLElement, text: string, onChange: (pressed: boolean) => void) {
  const node = button(parent, text, () => {
    set(node.getAttribute("aria-pressed") !== "true");
    onChange(node.getAttribute("aria-pressed") === "true");
  });
  const set = (pressed: boolean) => node.setAttribute("aria-pressed", String(Boolean(pressed)));
  set(false);
  return { node, set };
}

/** A slider with its value beside it: {node, set(value)}; `onInput(value)` is called while it is dragged. */
export function slider(
  parent: Element,
  {
    label,
    min,
    max,
    step,
    digits = 2,
  }: { label: string; min: number; max: number; step: number; digits?: number },
  onInput: (value: number) => void,
) {
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
  const set = (value: number) => {
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
 * @param onInput called while it is dragged
 */
export function listSlider(
  parent: Element,
  { label, texts }: { label: string; texts: string[] },
  onInput: (place: number) => void,
) {
  const scale = { label, min: 0, max: texts.length - 1, step: 1, digits: 0 };
  const { node, set } = slider(parent, scale, (place) => {
    showText(place);
    onInput(place);
  });
  const [input, output] = [node.querySelector("input")!, node.querySelector("output")!];
  const showText = (place: number) => {
    output.textContent = texts[place];
    input.setAttribute("aria-valuetext", texts[place]);
  };
  return {
    node,
    set(place: number) {
      set(place);
      showText(place);
    },
  };
}

/** A drop-down list: {node, set(value)}; options are [value, text]; `onChange(value)` is called on a choice. */
export function choice(
  parent: HTMLElement,
  label: string,
  options: readonly (readonly string[])[],
  onChange: (value: string) => void,
) {
  const node = element(parent, "label", "vt-choice");
  element(node, "span").textContent = label;
  const select = element(node, "select", "", { "aria-label": label, "data-lm-suppress-shortcuts": "true" });
  for (const [value, text] of options) element(select, "option", "", { value }).textContent = text;
  select.addEventListener("change", () => onChange(select.value));
  return {
    node,
    set: (value: string) => {
      select.value = value;
    },
  };
}

/** An id that no other element of the page has. */
export function uniqueId() {
  return `vt-${Date.now().toString(36)}-${nextId++}`;
}
