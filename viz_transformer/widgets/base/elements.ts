// Controls: native elements, so that keyboards and screen readers know them.

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

/** An id that no other element of the page has. */
export function uniqueId() {
  return `vt-${Date.now().toString(36)}-${nextId++}`;
}
