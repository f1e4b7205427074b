// Elements of SVG.

/**
 * A new element of SVG inside `parent`.
 *
 * @param {Element} parent
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @returns {SVGElement}
 */
export function svgElement(parent, tag, attributes = {}) {
  const node = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", tag));
  setAttributes(node, attributes);
  parent.append(node);
  return node;
}

/** Set attributes that differ: the same ones, set again, would be drawn again. */
export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
  }
}
