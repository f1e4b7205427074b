// The panel of one matrix on the stage: its caption, and its numbers or a sheet of colours.

import { element } from "../base/js/controls.js";
import { numberTable } from "../base/js/number_table.js";
import { sourcesOf } from "./derivation.js";
import { colourSheet, limitOf, sheetLayout } from "./large_matrix.js";
import { digitsIn, inNumbers, STEPPER_ROW } from "./layout.js";
import { colNamesOf, rowNamesOf, symbolOf } from "./matrix_names.js";

/** @typedef {import("../base/js/colour.js").Theme} Theme */
/** @typedef {import("./derivation.js").Cell} Cell */
/** @typedef {{ name: string, row: number | null, col: number | null, role: string }} Mark */

const SCORE_ROWS = ["scores", "scaled", "masked"];
const SCALES = { weights: "weight", exponentials: "weight", allowed: "plain" };

const indices = (count) => Array.from({ length: count }, (_, index) => String(index));

/**
 * The marks of a matrix: where the terms of the explained cell stand, and the cell itself.
 *
 * @param {import("./attention_math.js").Layer} layer
 * @param {Cell} cell
 * @param {string} name
 * @returns {Mark[]}
 */
export function marksOf(layer, cell, name) {
  const roles = ["a", "b", "b"];
  const marks = sourcesOf(layer, cell).map((source, i) => ({ ...source, role: roles[i] }));
  return [...marks, { ...cell, role: "is" }].filter((mark) => mark.name === name);
}

/**
 * A mark's role at a cell, the strongest first: the number itself, then its terms.
 *
 * @param {Mark[]} marks
 * @param {number} row
 * @param {number} col
 * @returns {string | null}
 */
export function roleAt(marks, row, col) {
  const here = marks
    .filter((mark) => (mark.row ?? row) === row && (mark.col ?? col) === col)
    .map(({ role }) => role);
  return ["is", "a", "b"].find((role) => here.includes(role)) ?? null;
}

/** One matrix on the stage. */
export class MatrixPanel {
  /**
   * @param {Element} parent
   * @param {import("./stage.js").Snapshot} snapshot
   * @param {{ name: string, part: string, fits: boolean }} place the matrix, its part of the product
   *   ("a", "b", "bias", "c") or "row", and whether numbers have room there
   * @param {{ onPoint: (cell: Cell | null) => void, onChoose: (cell: Cell) => void }} listeners
   */
  constructor(parent, { layer, worked }, { name, part, fits }, { onPoint, onChoose }) {
    const matrix = worked[name];
    this.name = name;
    this.part = part;
    this.node = element(parent, "div", `vt-panel vt-part-${part}`);
    this.node.dataset.matrix = name;
    this.caption = element(this.node, "div", "vt-caption");
    const options = {
      label: `${symbolOf(layer, name)}, ${matrix.rows} × ${matrix.cols}`,
      onPoint: (cell) => onPoint(cell && { name, ...cell }),
      onChoose: (cell) => onChoose({ name, ...cell }),
    };
    if (inNumbers(matrix, part) && fits) this.table = numberTable(this.node, options);
    else this.sheet = colourSheet(this.node, options);
  }

  /**
   * @param {import("./stage.js").Snapshot} snapshot
   * @param {import("./layout.js").StageSizes} sizes
   * @param {string[]} rows the matrices that stand beneath each other in this step
   * @param {Theme} theme
   */
  draw(snapshot, sizes, rows, theme) {
    const { layer, worked, chosen, cell } = snapshot;
    const { name, part } = this;
    const matrix = worked[name];
    const marks = marksOf(layer, cell, name);
    if (name === "all" && cell.name === "all") marks.push({ name, row: chosen.query, col: null, role: "a" });
    this.caption.hidden = part === "row" || part === "bias";
    this.caption.textContent = `${symbolOf(layer, name)} · ${matrix.rows} × ${matrix.cols}`;
    const named = rowNamesOf(snapshot, name);
    const drawing = {
      matrix,
      marks,
      scale: SCALES[name] ?? "signed",
      rowNames: named ?? (matrix.rows === 1 ? [symbolOf(layer, name)] : null),
      colNames: colNamesOf(layer, name),
      cellWidth: sizes.cellOf(name, part),
      nameWidth: part === "a" ? sizes.namesA : sizes.names,
    };
    if (this.table) this.drawNumbers(drawing, sizes, this.limit(drawing, rows, worked), theme);
    else this.drawColours(drawing, sizes, layer, theme);
  }

  /** The number that has the strongest colour. */
  limit({ scale }, rows, worked) {
    // Rows beneath each other share their colours, so that what shrinks is seen to shrink.
    const shared = this.part === "row" && scale === "signed";
    const names = shared ? rows.filter((row) => SCORE_ROWS.includes(row)) : [this.name];
    return Math.max(...names.map((name) => limitOf(worked[name])));
  }

  drawNumbers({ matrix, marks, scale, rowNames, colNames, cellWidth, nameWidth }, sizes, limit, theme) {
    const { node } = this;
    node.toggleAttribute("data-large", sizes.large);
    node.toggleAttribute("data-narrow", cellWidth < 46);
    node.toggleAttribute("data-tight", sizes.large && cellWidth < 70);
    node.style.setProperty("--vt-row", sizes.large ? "40px" : "");
    node.style.setProperty("--vt-names", `${nameWidth}px`);
    node.style.setProperty("--vt-cell", `${cellWidth - 1}px`);
    const values = indices(matrix.rows).map((_, row) =>
      matrix.values.slice(row * matrix.cols, (row + 1) * matrix.cols),
    );
    const table = {
      values,
      scale,
      limit,
      colNames: colNames ?? indices(matrix.cols),
      rowNames: rowNames ?? indices(matrix.rows),
      digits: this.name === "allowed" ? 0 : digitsIn(cellWidth, limit),
      masked: values.map((row) => Array.from(row, (value) => value === -Infinity)),
      marked: (row, col) => {
        const role = roleAt(marks, row, col);
        return role ? `vt-mark-${role}` : "";
      },
    };
    this.table.set(table, theme);
  }

  drawColours({ matrix, marks, scale, rowNames, colNames, cellWidth, nameWidth }, sizes, layer, theme) {
    const { part } = this;
    const rowHeight = part === "bias" ? STEPPER_ROW : part === "b" ? sizes.rowB : sizes.rowC;
    const headed = part === "b" && (colNames !== null || cellWidth >= 22);
    const { rows, cols } = matrix;
    const sheet = {
      matrix,
      scale,
      marks,
      colNames: headed ? (colNames ?? indices(cols)) : null,
      rowNames: rowHeight >= 12 ? rowNames : null,
      seam: this.name === "concat" ? layer.d_head : 0,
      layout: sheetLayout({ rows, cols, cellWidth, rowHeight, names: nameWidth, headed }),
    };
    this.sheet.set(sheet, theme);
  }
}
