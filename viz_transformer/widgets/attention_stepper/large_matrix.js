// The picture of a matrix that is too large for numbers: a sheet of colours to point at.

import { fitCanvas, strokeBox, pointerPosition, drawText } from "../base/js/canvas.js";
import { element, focusableCanvas } from "../base/js/controls.js";
import { moveInTable } from "../base/js/number_table.js";
import { elide, visible } from "../base/js/text.js";

/** @typedef {import("../base/js/colour.js").Theme} Theme */
/** @typedef {import("./attention_math.js").Matrix} Matrix */

const SHEET_HEAD = 22; // pixels above the cells where columns are named
const NAME_GAP = 2; // between a row's name and its cells, as a table of numbers has it

/**
 * Where a sheet's cells stand, in pixels.
 *
 * @typedef {{ rows: number, cols: number, cellWidth: number, rowHeight: number,
 *   left: number, top: number, width: number, height: number }} SheetLayout
 */

/**
 * A matrix to draw; `marks` outline cells, a null row or column being all of it, and every `seam`
 * columns there is a gap.
 *
 * @typedef {object} Sheet
 * @property {Matrix} matrix
 * @property {SheetLayout} layout
 * @property {string} scale "weight", "signed" or "plain"
 * @property {string[] | null} rowNames
 * @property {string[] | null} colNames
 * @property {{ row: number | null, col: number | null, role: string }[]} marks
 * @property {number} seam
 */

/**
 * The layout of a sheet.
 *
 * @param {{ rows: number, cols: number, cellWidth: number, rowHeight: number, names: number,
 *   headed: boolean }} sizes `names` pixels at the left are for the rows' names
 * @returns {SheetLayout}
 */
export function sheetLayout({ rows, cols, cellWidth, rowHeight, names, headed }) {
  const [left, top] = [names ? names + NAME_GAP : 0, headed ? SHEET_HEAD : 0];
  return {
    rows,
    cols,
    cellWidth,
    rowHeight,
    left,
    top,
    width: Math.ceil(left + cols * cellWidth),
    height: Math.ceil(top + rows * rowHeight),
  };
}

/**
 * The cell under a point, or null.
 *
 * @param {SheetLayout} layout
 * @param {number} x
 * @param {number} y
 * @returns {{ row: number, col: number } | null}
 */
export function sheetCellAt({ rows, cols, cellWidth, rowHeight, left, top }, x, y) {
  const [row, col] = [Math.floor((y - top) / rowHeight), Math.floor((x - left) / cellWidth)];
  return row >= 0 && row < rows && col >= 0 && col < cols ? { row, col } : null;
}

/**
 * The largest size of a matrix's finite numbers, at least a little above 0.
 *
 * @param {{ values: Iterable<number> }} matrix
 * @returns {number}
 */
export function limitOf({ values }) {
  let limit = 1e-9;
  for (const value of values) if (Number.isFinite(value)) limit = Math.max(limit, Math.abs(value));
  return limit;
}

/**
 * A matrix as a picture with one pixel a number; −∞ is transparent.
 *
 * @param {Matrix} matrix
 * @param {string} scale
 * @param {number} limit
 * @param {{ ramp?: Uint32Array, signedRamp?: Uint32Array }} theme
 * @returns {Uint32Array<ArrayBuffer>}
 */
export function pixelsOf(matrix, scale, limit, theme) {
  const ramp = scale === "weight" ? theme.ramp : theme.signedRamp;
  return Uint32Array.from(matrix.values, (value) => {
    if (!Number.isFinite(value)) return 0;
    const share = scale === "weight" ? value : 0.5 + value / (2 * limit);
    return ramp[Math.round(255 * Math.min(1, Math.max(0, share)))];
  });
}

/**
 * Paint a matrix into a rectangle of a canvas.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Matrix} matrix
 * @param {string} scale
 * @param {Theme} theme
 * @param {number} left
 * @param {number} top
 * @param {number} width
 * @param {number} height
 */
export function paintSheet(context, matrix, scale, theme, left, top, width, height) {
  const small = document.createElement("canvas");
  [small.width, small.height] = [matrix.cols, matrix.rows];
  const pixels = pixelsOf(matrix, scale, limitOf(matrix), theme);
  small
    .getContext("2d")
    .putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), matrix.cols, matrix.rows), 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, left, top, width, height);
}

/**
 * The colour that marks a term ("a", "b"), a bias or the number itself ("is").
 *
 * @param {string} role
 * @param {Theme} theme
 * @returns {string}
 */
export function markColour(role, theme) {
  if (role === "a") return theme.query;
  return role === "is" ? theme.text : theme.key;
}

/**
 * A sheet of colours; `onPoint` is called by pointer and keyboard, `onChoose` by a click, Enter and Space.
 *
 * @param {Element} parent
 * @param {{ label: string, onPoint: (cell: {row: number, col: number} | null) => void,
 *   onChoose: (cell: {row: number, col: number}) => void }} options
 * @returns {{ node: HTMLElement, set: (sheet: Sheet, theme: Theme) => void }}
 */
export function colourSheet(parent, { label, onPoint, onChoose }) {
  const node = element(parent, "div", "vt-sheet");
  const canvas = focusableCanvas(node, `${label}: arrow keys move from number to number`);
  let [layout, focused] = [null, { row: 0, col: 0 }];

  function cellOf(event) {
    const [x, y] = pointerPosition(canvas, event);
    return layout && sheetCellAt(layout, x, y);
  }
  canvas.addEventListener("pointermove", (event) => onPoint(cellOf(event)));
  canvas.addEventListener("pointerleave", () => onPoint(null));
  canvas.addEventListener("focus", () => {
    if (canvas.matches(":focus-visible")) onPoint(focused);
  });
  canvas.addEventListener("blur", () => onPoint(null));
  canvas.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    focused = cell;
    onChoose(cell);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !layout) return;
    const to = moveInTable(focused, layout.rows, layout.cols, event.key);
    if (to) {
      focused = to;
      onPoint(to);
    } else if (event.key === "Enter" || event.key === " ") onChoose(focused);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function set(sheet, theme) {
    layout = sheet.layout;
    focused = {
      row: Math.min(focused.row, layout.rows - 1),
      col: Math.min(focused.col, layout.cols - 1),
    };
    drawSheet(canvas, sheet, theme);
  }

  return { node, set };
}

function drawSheet(canvas, { matrix, layout, scale, rowNames, colNames, marks, seam }, theme) {
  const { left, top, cellWidth, rowHeight, rows, cols } = layout;
  const context = fitCanvas(canvas, layout.width + 2, layout.height + 2);
  paintSheet(context, matrix, scale, theme, left, top, cols * cellWidth, rows * rowHeight);
  if (seam) {
    context.fillStyle = theme.background; // between the heads
    for (let col = seam; col < cols; col += seam)
      context.fillRect(left + col * cellWidth - 1, top, 2, rows * rowHeight);
  }
  if (rowNames && left) nameRows(context, rowNames, layout, theme);
  if (colNames && top) nameCols(context, colNames, layout, theme);
  for (const { row, col, role } of marks) {
    const [x, width] = col === null ? [left, cols * cellWidth] : [left + col * cellWidth, cellWidth];
    const [y, height] = row === null ? [top, rows * rowHeight] : [top + row * rowHeight, rowHeight];
    // A thin band in the page's own colour keeps the mark apart from what it lies on.
    strokeBox(context, x - 1, y - 1, width + 2, height + 2, theme.background, 1);
    strokeBox(context, x, y, width, height, markColour(role, theme), Math.min(width, height) < 6 ? 1.5 : 2.5);
  }
}

function nameRows(context, names, { left, top, rowHeight }, theme) {
  const style = nameStyle(theme, "right");
  for (const [row, name] of names.entries())
    drawText(context, fitName(name, left - 10, theme), left - 8, top + (row + 0.5) * rowHeight, style);
}

function nameCols(context, names, { left, top, cellWidth }, theme) {
  const style = nameStyle(theme, "center");
  for (const [col, name] of names.entries())
    drawText(context, fitName(name, cellWidth - 4, theme), left + (col + 0.5) * cellWidth, top / 2, style);
}

function fitName(name, width, theme) {
  return elide(visible(String(name)), width, (part) => theme.measure(part, 12, false));
}

/** @returns {import("../base/js/canvas.js").TextStyle} */
function nameStyle(theme, align) {
  return { font: `12px ${theme.family}`, colour: theme.muted, align };
}
