// Each step as an equation, its parts in the colours that mark them in the pictures.

import { planOf } from "./layout.js";
import { symbolOf } from "./matrix_names.js";

/** @typedef {import("./derivation.js").Part} Part */

/** The equations of the steps that are not products; of other steps there is none. */
const EQUATIONS = {
  scaled({ layer, chosen }) {
    const parts = [
      ["is", "scaled"],
      ["op", " = "],
      ["a", "scores"],
    ];
    if (chosen.scale) parts.push(["op", " ÷ "], ["b", `√${layer.d_head}`]);
    if (chosen.temperature !== 1)
      parts.push(["op", " ÷ "], ["b", `temperature ${chosen.temperature.toFixed(1)}`]);
    return parts;
  },
  masked: ({ chosen }) => [
    ["is", "masked"],
    ["op", " = "],
    ["a", "scaled"],
    ["op", chosen.mask ? ", and −∞ where the mask is 0" : ", unchanged"],
  ],
  weights: ({ worked }) => [
    ["is", "weights"],
    ["op", " = "],
    ["a", "e to the score"],
    ["op", " ÷ "],
    ["b", "their sum"],
    ...(worked.sum ? [["op", ` ${worked.sum.toFixed(2)}`]] : []),
  ],
  concat: () => [
    ["is", "concat"],
    ["op", " = "],
    ["a", "outputs of all heads"],
    ["op", ", one after another"],
  ],
};

/**
 * A step's equation; empty if it has none.
 *
 * @param {import("./stage.js").Snapshot} snapshot
 * @returns {Part[]}
 */
export function equationOf(snapshot) {
  const { layer, step } = snapshot;
  const plan = planOf(layer, step);
  if (!plan.c) return EQUATIONS[step]?.(snapshot) ?? [];
  const bias = plan.bias
    ? [
        ["op", " + "],
        ["b", symbolOf(layer, plan.bias)],
      ]
    : [];
  return /** @type {Part[]} */ ([
    ["is", plan.c],
    ["op", " = "],
    ["a", symbolOf(layer, plan.a)],
    ["op", " · "],
    ["b", symbolOf(layer, plan.b)],
    ...bias,
  ]);
}

/**
 * Write the parts of a formula into a node; "more", the terms left out, is a button.
 *
 * @param {Element} node
 * @param {Part[]} parts
 */
export function writeParts(node, parts) {
  node.replaceChildren(
    ...parts.map(([kind, text]) => {
      const span = document.createElement(kind === "more" ? "button" : "span");
      span.className = kind === "more" ? "vt-more" : `vt-term-${kind}`;
      span.textContent = text;
      return span;
    }),
  );
}
