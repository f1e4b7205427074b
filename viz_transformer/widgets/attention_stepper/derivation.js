// Where a number of the stepper comes from: its terms, the rows and columns that they stand in, and
// the line of code that makes it.
//
// A cell is {name, row, col}: a place in one of the matrices that workThrough returns.

import { formatNumber } from "../base/js/text.js";
import { biasOf } from "./attention_math.js";

const FEW_TERMS = 9; // of a longer sum only the largest terms are shown
const LARGEST = 5;

/** The products: what is multiplied to make each, and whose bias is added. */
const PRODUCTS = {
  q: ["x", "w_q", "q"],
  k: ["seen", "w_k", "k"],
  v: ["seen", "w_v", "v"],
  scores: ["q", "k_t", null],
  output: ["weights", "v", null],
  result: ["concat", "w_o", "o"],
};

/** The step that makes a matrix, or null for one that is given. */
export function madeIn(layer, name) {
  const step =
    { all: "x", seen: "x", k_t: "k", allowed: "masked", exponentials: "weights", heads: "output" }[name] ??
    name;
  return layer.steps.includes(step) ? step : null;
}

/** The places that a cell is computed from: [{name, row, col}], a null row or column being all of it. */
export function sourcesOf(layer, worked, { name, row, col }) {
  if (PRODUCTS[name]) {
    const [a, b, biased] = PRODUCTS[name];
    const sources = [
      { name: a, row, col: null },
      { name: b, row: null, col },
    ];
    return biased && layer[`b_${biased}`] ? [...sources, { name: `b_${biased}`, row: 0, col }] : sources;
  }
  if (name === "k_t") return sourcesOf(layer, worked, { name: "k", row: col, col: row });
  if (name === "scaled") return [{ name: "scores", row, col }];
  if (name === "masked")
    return [
      { name: "scaled", row, col },
      { name: "allowed", row, col },
    ];
  if (name === "exponentials") return [{ name: lastScores(layer), row, col }];
  if (name === "weights")
    return [
      { name: "exponentials", row, col },
      { name: "exponentials", row: null, col: null },
    ];
  if (name === "concat") {
    return [{ name: "heads", row: Math.floor(col / layer.d_head), col: col % layer.d_head }];
  }
  return [];
}

/** The scores as they go into the softmax. */
export function lastScores(layer) {
  return layer.steps.includes("masked") ? "masked" : "scaled";
}

/** The terms of a product's sum, [[a, b], …], and its bias, or null. */
export function termsOf(layer, worked, chosen, { name, row, col }) {
  const [a, b, biased] = PRODUCTS[name];
  const [left, right] = [worked[a], worked[b]];
  const terms = Array.from({ length: left.cols }, (_, i) => [left.at(row, i), right.at(i, col)]);
  const bias = biased === null ? null : biased === "o" ? layer.b_o : biasOf(layer, biased, chosen.head);
  return { terms, bias: bias ? bias[col] : null };
}

/**
 * A number written out, as parts [[kind, text], …] of one line: "a" and "b" are the terms (marked in
 * the two pictures), "is" the number itself, "op" all between, "more" the terms left out.
 */
export function formulaOf(layer, worked, chosen, cell, whole = false) {
  const { name, row, col } = cell;
  const value = worked[name].at(row, col);
  const is = [
    ["op", " = "],
    ["is", inDigits(value)],
  ];
  if (PRODUCTS[name]) {
    const { terms, bias } = termsOf(layer, worked, chosen, cell);
    const parts = sumOf(
      terms.map(([a, b]) => a * b),
      whole,
      (i, first) => [
        ["a", bracketed(terms[i][0], first)],
        ["op", "·"],
        ["b", bracketed(terms[i][1])],
      ],
    );
    if (bias !== null) parts.push(["op", " + "], ["bias", bracketed(bias)]);
    return [...parts, ...is];
  }
  if (name === "k_t") return formulaOf(layer, worked, chosen, { name: "k", row: col, col: row }, whole);
  if (name === "scaled")
    return [["a", inDigits(worked.scores.at(row, col))], ...divisions(layer, chosen), ...is];
  if (name === "masked") {
    const open = worked.allowed.at(0, col) === 1;
    return open
      ? [
          ["a", inDigits(value)],
          ["op", ", because it may look: it stays"],
        ]
      : [
          ["a", inDigits(worked.scaled.at(0, col))],
          ["op", ", but it may not look: "],
          ["is", "−∞"],
        ];
  }
  if (name === "exponentials") {
    if (worked.top === -Infinity)
      return [
        ["is", "0.00"],
        ["op", ", as nothing may be looked at"],
      ];
    return [
      ["op", "e to the power of "],
      ["a", inDigits(worked[lastScores(layer)].at(0, col))],
      ["op", " − "],
      ["b", bracketed(worked.top)],
      ...is,
    ];
  }
  if (name === "weights") {
    if (!worked.sum)
      return [
        ["is", "0.00"],
        ["op", ", as nothing may be looked at"],
      ];
    const each = worked.exponentials.values;
    const all = sumOf(each, whole, (i) => [["b", inDigits(each[i])]]);
    return [["a", inDigits(worked.exponentials.at(0, col))], ["op", " ÷ ("], ...all, ["op", ")"], ...is];
  }
  if (name === "concat")
    return [
      ["op", `number ${col % layer.d_head} of head ${Math.floor(col / layer.d_head)}: `],
      ["is", inDigits(value)],
    ];
  if (name === "allowed") return [["op", value ? "1: it may look" : "0: it may not look"]];
  return [["is", inDigits(value)]];
}

function divisions(layer, { scale, temperature }) {
  const parts = [];
  if (scale) parts.push(["op", " ÷ "], ["b", `√${layer.d_head}`]);
  if (temperature !== 1) parts.push(["op", " ÷ "], ["b", inDigits(temperature)]);
  return parts;
}

/** The terms of a sum with a plus between, `written(i, first)` each; of a long one the largest. */
function sumOf(sizes, whole, written) {
  const places = Array.from(sizes, (_, i) => i);
  const cut = !whole && places.length > FEW_TERMS;
  const shown = cut
    ? places
        .sort((i, j) => Math.abs(sizes[j]) - Math.abs(sizes[i]) || i - j)
        .slice(0, LARGEST)
        .sort((i, j) => i - j)
    : places;
  const parts = shown.flatMap((i, at) => [...(at ? [["op", " + "]] : []), ...written(i, at === 0)]);
  return cut ? [...parts, ["op", " + "], ["more", `… ${sizes.length - LARGEST} smaller …`]] : parts;
}

export function inDigits(value) {
  return formatNumber(value, 2);
}

/** A number inside a formula: in brackets if its minus sign would follow another sign. */
function bracketed(value, first = false) {
  const text = inDigits(value);
  return text.startsWith("−") && !first ? `(${text})` : text;
}

/** The line that makes a matrix, as it runs on these numbers, or null for one that is given. */
export function lineOf(layer, worked, chosen, name) {
  const { scale, mask, query, temperature } = chosen;
  const divided = scale ? (temperature === 1 ? "scale" : "both") : temperature === 1 ? "none" : "temperature";
  const key =
    {
      scaled: `scaled:${divided}`,
      masked: mask ? "masked" : "masked:off",
      exponentials: worked.sum ? "exponentials" : "exponentials:none",
      weights: worked.sum ? "weights" : "weights:none",
      k_t: "k",
      heads: "output",
    }[name] ?? name;
  return layer.lines[key]?.replace("{query}", query).replace("{temperature}", temperature) ?? null;
}

/** A cell's name in the code. */
export function placeOf(layer, chosen, { name, row, col }) {
  const seen = layer.memory ? "memory" : "x";
  return (
    {
      x: `x[${chosen.query}, ${col}]`,
      all: `x[${row}, ${col}]`,
      seen: `${seen}[${row}, ${col}]`,
      w_q: `W_Q[${row}, ${col}]`,
      w_k: `W_K[${row}, ${col}]`,
      w_v: `W_V[${row}, ${col}]`,
      w_o: `W_O[${row}, ${col}]`,
      b_q: `b_Q[${col}]`,
      b_k: `b_K[${col}]`,
      b_v: `b_V[${col}]`,
      b_o: `b_O[${col}]`,
      k: `k[${row}, ${col}]`,
      v: `v[${row}, ${col}]`,
      k_t: `k[${col}, ${row}]`,
      allowed: `mask[${chosen.query}, ${col}]`,
      exponentials: `e[${col}]`,
      heads: `outputs_of_all_heads[${row}][${col}]`,
    }[name] ?? `${name}[${col}]`
  );
}
