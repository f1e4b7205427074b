// The stage of the stepper: the pictures of one step, with what a number is made of marked in them.
//
// A product stands as it is done by hand: what is multiplied at the left and above, the result
// where their rows and columns meet.

import { element } from "../base/js/controls.js";
import { numberTable } from "../base/js/number_table.js";
import { inDigits, sourcesOf } from "./derivation.js";
import { colourSheet, limitOf, sheetLayout } from "./large_matrix.js";
import {
  cellWidth,
  digitsIn,
  inNumbers,
  isSmall,
  planOf,
  productSizes,
  sheetRow,
  STEPPER_ROW,
} from "./layout.js";
import { visible } from "../base/js/text.js";

const SYMBOLS = {
  all: "x",
  w_q: "W_Q",
  w_k: "W_K",
  w_v: "W_V",
  w_o: "W_O",
  b_q: "b_Q",
  b_k: "b_K",
  b_v: "b_V",
  b_o: "b_O",
  k_t: "kᵀ",
  allowed: "mask",
  exponentials: "e",
  heads: "outputs",
};
const PER_KEY = ["scores", "scaled", "allowed", "masked", "exponentials", "weights"];

const SIGNED_ROWS = ["scores", "scaled", "masked"];

/** A matrix's symbol. */
export function symbolOf(layer, name) {
  return name === "seen" ? (layer.memory ? "memory" : "x") : (SYMBOLS[name] ?? name);
}

/** The names of a matrix's rows; null where a row is only a number. */
function rowNamesOf(layer, worked, { query }, name) {
  if (name === "exponentials") return [worked.sum ? `e^(score − ${inDigits(worked.top)})` : "e^score"];
  if (name === "allowed") return ["may look?"];
  if (name === "all")
    return layer.queries.map((word, i) => (layer.reads ? `${layer.reads[i]} → ${word}` : word));
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
  const here = marks
    .filter((mark) => (mark.row ?? row) === row && (mark.col ?? col) === col)
    .map(({ role }) => role);
  return ["is", "a", "b"].find((role) => here.includes(role)) ?? null;
}

const indices = (count) => Array.from({ length: count }, (_, index) => String(index));

/** The stage: `draw(state)` shows a step; pointing and choosing are heard with the cell's matrix. */
export function openStage(parent, { onPoint, onChoose }) {
  const node = element(parent, "div", "vt-stage");
  let [built, panels] = ["", []];

  function addPanel(place, { layer, worked }, name, part, fits) {
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
    const numbers = inNumbers(matrix, part) && fits;
    panels.push({
      name,
      part,
      panel,
      caption,
      numbers,
      picture: numbers ? numberTable(panel, hear) : colourSheet(panel, hear),
    });
  }

  function build(state, fits) {
    node.replaceChildren();
    panels = [];
    const plan = planOf(state.layer, state.step);
    if (plan.c) {
      const grid = element(node, "div", "vt-product");
      element(grid, "div", "vt-equation");
      const above = element(grid, "div", "vt-above");
      addPanel(above, state, plan.b, "b", fits);
      if (plan.bias) addPanel(above, state, plan.bias, "bias", fits);
      addPanel(grid, state, plan.a, "a", true);
      addPanel(grid, state, plan.c, "c", fits);
    } else {
      element(node, "div", "vt-equation");
      for (const name of plan.rows) addPanel(node, state, name, PER_KEY.includes(name) ? "row" : "c", fits);
      panels[0].panel.classList.add("vt-first"); // the words that the columns stand for are named once
    }
  }

  /** The sizes of each panel's cells: those of a step's names, cells and rows. */
  function sizesOf({ layer, worked, chosen, step }, width, theme) {
    const plan = planOf(layer, step);
    const small = isSmall(layer);
    const perKey = PER_KEY.includes(plan.rows?.[0]);
    const large = small || (perKey && width - 190 >= 70 * layer.keys.length);
    const nameWidth = (some) => {
      const widths = some
        .flatMap((name) => rowNamesOf(layer, worked, chosen, name) ?? [symbolOf(layer, name)])
        .map((word) => theme.measure(visible(word).slice(0, 40), large ? 17 : 13, false));
      return Math.min(large ? 190 : 150, Math.max(40, Math.ceil(Math.max(...widths)) + 20));
    };
    if (!plan.c) {
      const names = nameWidth(plan.rows);
      const room = width - names - 20;
      const cellOf = (name) =>
        cellWidth(room, worked[name].cols, { least: perKey ? 47 : 1, most: large ? 110 : undefined });
      const fits = perKey || cellOf(plan.rows[0]) >= 33;
      return { names, cellOf, large, fits, rowB: STEPPER_ROW, rowC: STEPPER_ROW };
    }
    const [a, b, c] = [worked[plan.a], worked[plan.b], worked[plan.c]];
    const [namesA, names] = [nameWidth([plan.a]), nameWidth([plan.b, plan.c])];
    const perWord = plan.a === "weights" ? "a" : plan.b === "k_t" ? "b" : null;
    const { cell, cellA, fits } = productSizes(a, b, { width, namesA, names, small, perWord });
    const rowC = inNumbers(c, "c") && fits ? STEPPER_ROW : sheetRow(c.rows, 200);
    const cellOf = (_, part) => (part === "a" ? cellA : cell);
    return {
      names,
      namesA,
      cellOf,
      fits,
      large: small,
      rowC,
      rowB: sheetRow(b.rows, c.rows > 6 ? 80 : c.rows > 4 ? 110 : 170),
    };
  }

  function fill(panel, state, sizes, theme) {
    const { layer, worked, chosen, cell } = state;
    const { name, part, numbers, picture } = panel;
    const matrix = worked[name];
    const marks = marksOf(layer, worked, cell, name);
    if (name === "all" && cell.name === "all") marks.push({ row: chosen.query, col: null, role: "a" });
    const scale =
      name === "weights" || name === "exponentials" ? "weight" : name === "allowed" ? "plain" : "signed";
    const named = rowNamesOf(layer, worked, chosen, name);
    const wordNames = colNamesOf(layer, name);
    const colNames = wordNames ?? indices(matrix.cols);
    const wide = sizes.cellOf(name, part);
    const names = part === "a" ? sizes.namesA : sizes.names;
    const single = matrix.rows === 1 && !named;
    panel.caption.hidden = part === "row" || part === "bias";
    panel.caption.textContent = `${symbolOf(layer, name)} · ${matrix.rows} × ${matrix.cols}`;
    if (numbers) {
      // Rows beneath each other share their colours, so that what shrinks is seen to shrink.
      const together =
        part === "row" && scale === "signed"
          ? panels.map((each) => each.name).filter((each) => SIGNED_ROWS.includes(each))
          : [name];
      const limit = Math.max(...together.map((each) => limitOf(worked[each])));
      panel.panel.toggleAttribute("data-large", sizes.large);
      panel.panel.toggleAttribute("data-narrow", wide < 46);
      panel.panel.style.setProperty("--vt-row", sizes.large ? "40px" : "");
      panel.panel.style.setProperty("--vt-names", `${names}px`);
      panel.panel.style.setProperty("--vt-cell", `${wide - 1}px`);
      const values = indices(matrix.rows).map((_, row) =>
        matrix.values.slice(row * matrix.cols, (row + 1) * matrix.cols),
      );
      picture.set(
        {
          values,
          scale,
          limit,
          colNames,
          digits: name === "allowed" ? 0 : digitsIn(wide, limit),
          rowNames: named ?? (single ? [symbolOf(layer, name)] : indices(matrix.rows)),
          masked: values.map((row) => Array.from(row, (value) => value === -Infinity)),
          marked: (row, col) => {
            const role = roleAt(marks, row, col);
            return role ? `vt-mark-${role}` : "";
          },
        },
        theme,
      );
      return;
    }
    const rowHeight = part === "bias" ? STEPPER_ROW : part === "b" ? sizes.rowB : sizes.rowC;
    const headed = part === "b" && (wordNames || wide >= 22);
    picture.set(
      {
        matrix,
        scale,
        marks,
        colNames: headed ? colNames : null,
        rowNames: rowHeight >= 12 ? (named ?? (single ? [symbolOf(layer, name)] : null)) : null,
        seam: name === "concat" ? layer.d_head : 0,
        layout: sheetLayout({
          rows: matrix.rows,
          cols: matrix.cols,
          cellWidth: wide,
          rowHeight,
          names,
          headed: Boolean(headed),
        }),
      },
      theme,
    );
  }

  function draw(state, width, theme) {
    const { layer, worked, step } = state;
    const sizes = sizesOf(state, width, theme);
    const wanted = [
      step,
      ...["x", "seen", "q", "k"].map((name) => `${worked[name].rows}×${worked[name].cols}`),
      Boolean(layer.memory),
      Boolean(layer.b_q),
      layer.heads,
      sizes.fits,
    ].join();
    if (wanted !== built) {
      built = wanted;
      build(state, sizes.fits);
    }
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
    if (chosen.temperature !== 1)
      parts.push(["op", " ÷ "], ["b", `temperature ${chosen.temperature.toFixed(1)}`]);
  } else if (step === "masked") {
    parts.push(
      ["is", "masked"],
      ["op", " = "],
      ["a", "scaled"],
      ["op", chosen.mask ? ", and −∞ where the mask is 0" : ", unchanged"],
    );
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
  node.replaceChildren(
    ...parts.map(([kind, each]) => {
      const span = document.createElement("span");
      span.className = `vt-term-${kind}`;
      span.textContent = each;
      return span;
    }),
  );
}
