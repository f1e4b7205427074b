// Elements of SVG.

const SVG = "http://www.w3.org/2000/svg";

/** A new SVG element inside `parent`, as `element` of controls.js makes those of HTML. */
export function svgElement(parent, tag, className = "", attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  if (className) node.setAttribute("class", className);
  setAttributes(node, attributes);
  parent.append(node);
  return /** @type {any} */ (node);
}

/** Exactly `count` children of one tag, those that are there first. */
export function childrenOf(parent, tag, count) {
  while (parent.childElementCount > count) parent.lastElementChild.remove();
  while (parent.childElementCount < count) svgElement(parent, tag);
  return Array.from(parent.children);
}

/** Set the attributes that differ: an attribute set again, to the same, would be laid out again. */
export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
  }
}
