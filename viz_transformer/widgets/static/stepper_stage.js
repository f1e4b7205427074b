// The stage of the stepper: the pictures of one step, with what a number is made of marked in them.
//
// A product stands as it is done by hand: what is multiplied at the left and above, the result
// where their rows and columns meet.

import { element } from "./controls.js";
import { numberTable } from "./numbers.js";
import { sourcesOf } from "./stepper_explain.js";
import { colourSheet, limitOf, sheetLayout } from "./stepper_sheet.js";
import { inNumbers, planOf, productSizes, sheetRow, STEPPER_ROW } from "./stepper_plan.js";
import { visible } from "./text.js";

const SYMBOLS = {
  all: "x", w_q: "W_Q", w_k: "W_K", w_v: "W_V", w_o: "W_O", b_q: "b_Q", b_k: "b_K", b_v: "b_V", b_o: "b_O",
  k_t: "kᵀ", allowed: "mask", exponentials: "e to the score", heads: "outputs",
};
const PER_KEY = ["scores", "scaled", "allowed", "masked", "exponentials", "weights"];

/** A matrix's symbol. */
export function symbolOf(layer, name) {
  return name === "seen" ? (layer.memory ? "memory" : "x") : SYMBOLS[name] ?? name;
}

/** The names of a matrix's rows; null where a row is only a number. */
function rowNamesOf(layer, { query }, name) {
  if (name === "all") return layer.queries.map((word, i) => (layer.reads ? `${layer.reads[i]} → ${word}` : word));
  if (["seen", "k", "v"].includes(name)) return layer.keys;
  if (name === "x") return [layer.queries[query]];
  if (name === "heads") return Array.from({ length: layer.heads }, (_, head) => `head ${head}`);
  return null;
}

function colNamesOf(layer, name) {
  return name === "k_t" || PER_KEY.includes(name) ? layer.keys : null;
}

/** The marks of a matrix: where the terms of the explained cell stand, and the cell itself. */
export function marksOf(layer, worked, cell, name) {
  const roles = ["a", "b", "b"];
  const marks = sourcesOf(layer, worked, cell).map((source, i) => ({ ...source, role: roles[i] }));
  return [...marks, { ...cell, role: "is" }].filter((mark) => mark.name === name);
}

/** A mark's role at a cell, the strongest first: the number itself, then its terms. */
export function roleAt(marks, row, col) {
  const here = marks.filter((mark) => (mark.row ?? row) === row && (mark.col ?? col) === col).map(({ role }) => role);
  return ["is", "a", "b"].find((role) => here.includes(role)) ?? null;
}

const indices = (count) => Array.from({ length: count }, (_, index) => String(index));

/** The stage: `draw(state)` shows a step; pointing and choosing are heard with the cell's matrix. */
export function openStage(parent, { onPoint, onChoose }) {
  const node = element(parent, "div", "vt-stage");
  let [built, panels] = ["", []];

  function addPanel(place, layer, worked, name, part) {
    const matrix = worked[name];
    const panel = element(place, "div", `vt-panel vt-part-${part}`);
    panel.dataset.matrix = name;
    const caption = element(panel, "div", "vt-caption");
    const label = `${symbolOf(layer, name)}, ${matrix.rows} × ${matrix.cols}`;
    const hear = {
      label,
      onPoint: (cell) => onPoint(cell && { name, ...cell }),
      onChoose: (cell) => onChoose({ name, ...cell }),
    };
    const numbers = inNumbers(matrix, part);
    panels.push({ name, part, panel, caption, numbers, picture: numbers ? numberTable(panel, hear) : colourSheet(panel, hear) });
  }

  function build({ layer, worked, step }) {
    node.replaceChildren();
    panels = [];
    const plan = planOf(layer, step);
    if (plan.c) {
      const grid = element(node, "div", "vt-product");
      element(grid, "div", "vt-equation");
      const above = element(grid, "div", "vt-above");
      addPanel(above, layer, worked, plan.b, "b");
      if (plan.bias) addPanel(above, layer, worked, plan.bias, "bias");
      addPanel(grid, layer, worked, plan.a, "a");
      addPanel(grid, layer, worked, plan.c, "c");
    } else {
      element(node, "div", "vt-equation");
      for (const name of plan.rows) addPanel(node, layer, worked, name, PER_KEY.includes(name) ? "row" : "c");
    }
  }

  /** The sizes of each panel's cells, by part. */
  function sizesOf({ layer, worked, step }, width, theme) {
    const plan = planOf(layer, step);
    const longest = Math.max(...panels.flatMap(({ name }) => rowNamesOf(layer, { query: 0 }, name) ?? [symbolOf(layer, name)])
      .map((word) => theme.measure(visible(word).slice(0, 40), 13, false)));
    const names = Math.min(150, Math.max(66, Math.ceil(longest) + 18));
    if (!plan.c) {
      const most = Math.max(...plan.rows.map((name) => worked[name].cols));
      const cell = Math.max(most > 16 && step !== "scaled" && !PER_KEY.includes(plan.rows[0]) ? 3 : 47,
        Math.min(84, Math.floor((width - names - 30) / most)));
      return { names, cell, cellA: cell, rowB: STEPPER_ROW, rowC: STEPPER_ROW };
    }
    const [a, b, c] = [worked[plan.a], worked[plan.b], worked[plan.c]];
    const { cell, cellA } = productSizes(a, b, width, names);
    const rowC = inNumbers(c, "c") ? STEPPER_ROW : sheetRow(c.rows, 200);
    return { names, cell, cellA, rowC, rowB: sheetRow(b.rows, c.rows > 4 ? 130 : 190) };
  }

  function fill(panel, state, sizes, theme) {
    const { layer, worked, chosen, cell } = state;
    const { name, part, numbers, picture } = panel;
    const matrix = worked[name];
    const marks = marksOf(layer, worked, cell, name);
    const scale = name === "weights" || name === "exponentials" ? "weight" : name === "allowed" ? "plain" : "signed";
    const named = rowNamesOf(layer, chosen, name);
    const colNames = colNamesOf(layer, name);
    const single = matrix.rows === 1 && !named;
    panel.caption.textContent = `${symbolOf(layer, name)} · ${matrix.rows} × ${matrix.cols}`;
    panel.panel.style.setProperty("--vt-names", `${sizes.names}px`);
    panel.panel.style.setProperty("--vt-cell", `${part === "a" ? sizes.cellA - 1 : sizes.cell - 1}px`);
    if (numbers) {
      const values = indices(matrix.rows).map((_, row) => matrix.values.slice(row * matrix.cols, (row + 1) * matrix.cols));
      picture.set({
        values, scale, limit: limitOf(matrix), digits: name === "allowed" ? 0 : 2,
        rowNames: named ?? (single ? [symbolOf(layer, name)] : indices(matrix.rows)),
        colNames: colNames ?? indices(matrix.cols),
        masked: values.map((row) => Array.from(row, (value) => value === -Infinity)),
        marked: (row, col) => {
          const role = roleAt(marks, row, col);
          return role ? `vt-mark-${role}` : "";
        },
      }, theme);
      return;
    }
    const rowHeight = part === "a" || part === "c" ? sizes.rowC : sizes.rowB;
    const rowNames = named ?? (single ? [symbolOf(layer, name)] : null);
    picture.set({
      matrix, scale, marks, colNames,
      rowNames: rowHeight >= 12 ? rowNames : null,
      layout: sheetLayout({
        rows: matrix.rows, cols: matrix.cols, cellWidth: part === "a" ? sizes.cellA : sizes.cell,
        rowHeight: part === "bias" ? STEPPER_ROW : rowHeight, names: sizes.names, headed: Boolean(colNames),
      }),
    }, theme);
  }

  function draw(state, width, theme) {
    const { layer, worked, step } = state;
    const wanted = [step, ...["x", "seen", "q", "k"].map((name) => `${worked[name].rows}×${worked[name].cols}`),
      Boolean(layer.memory), Boolean(layer.b_q), layer.heads].join();
    if (wanted !== built) {
      built = wanted;
      build(state);
    }
    const sizes = sizesOf(state, width, theme);
    for (const panel of panels) fill(panel, state, sizes, theme);
    equation(node.querySelector(".vt-equation"), state);
  }

  return { node, draw };
}

/** The step as a formula, its parts in the colours that mark them. */
function equation(node, { layer, worked, chosen, step }) {
  const plan = planOf(layer, step);
  const parts = [];
  const add = (kind, text) => parts.push([kind, text]);
  if (plan.c) {
    add("is", plan.c);
    add("op", " = ");
    add("a", symbolOf(layer, plan.a));
    add("op", " · ");
    add("b", symbolOf(layer, plan.b));
    if (plan.bias) parts.push(["op", " + "], ["b", symbolOf(layer, plan.bias)]);
  } else if (step === "scaled") {
    parts.push(["is", "scaled"], ["op", " = "], ["a", "scores"]);
    if (chosen.scale) parts.push(["op", " ÷ "], ["b", `√${layer.d_head}`]);
    if (chosen.temperature !== 1) parts.push(["op", " ÷ "], ["b", `temperature ${chosen.temperature.toFixed(1)}`]);
  } else if (step === "masked") {
    parts.push(["is", "masked"], ["op", " = "], ["a", "scaled"], ["op", chosen.mask ? ", and −∞ where the mask is 0" : ", unchanged"]);
  } else if (step === "weights") {
    parts.push(["is", "weights"], ["op", " = "], ["a", "e to the score"], ["op", " ÷ "], ["b", "their sum"]);
    if (worked.sum) parts.push(["op", ` ${worked.sum.toFixed(2)}`]);
  } else if (step === "concat") {
    parts.push(["is", "concat"], ["op", " = "], ["a", "outputs of all heads"], ["op", ", one after another"]);
  }
  const text = JSON.stringify(parts);
  if (node.dataset.told === text) return;
  node.dataset.told = text;
  node.hidden = !parts.length;
  node.replaceChildren(...parts.map(([kind, each]) => {
    const span = document.createElement("span");
    span.className = `vt-term-${kind}`;
    span.textContent = each;
    return span;
  }));
}
