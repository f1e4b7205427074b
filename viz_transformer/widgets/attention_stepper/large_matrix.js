// A matrix too large for numbers: a sheet of colours, whose numbers are told when they are pointed at.

import { fitCanvas, strokeBox, pointerPosition, drawText } from "../base/js/canvas.js";
import { element, focusableCanvas } from "../base/js/controls.js";
import { moveInTable } from "../base/js/number_table.js";
import { elide, visible } from "../base/js/text.js";

export const SHEET_HEAD = 22; // pixels above the cells where columns are named
const NAME_GAP = 2; // between a row's name and its cells, as a table of numbers has it

/** Where a sheet's cells stand; `names` pixels at the left are for the rows' names. */
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

/** The cell under a point, or null. */
export function sheetCellAt({ rows, cols, cellWidth, rowHeight, left, top }, x, y) {
  const [row, col] = [Math.floor((y - top) / rowHeight), Math.floor((x - left) / cellWidth)];
  return row >= 0 && row < rows && col >= 0 && col < cols ? { row, col } : null;
}

/** The largest size of a matrix's finite numbers, at least a little above 0. */
export function limitOf({ values }) {
  return values.reduce(
    (most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most),
    1e-9,
  );
}

/** A matrix as a picture with one pixel a number; −∞ is transparent. */
export function pixelsOf(matrix, scale, limit, theme) {
  const ramp = scale === "weight" ? theme.ramp : theme.signedRamp;
  return Uint32Array.from(matrix.values, (value) => {
    if (!Number.isFinite(value)) return 0;
    const share = scale === "weight" ? value : 0.5 + value / (2 * limit);
    return ramp[Math.round(255 * Math.min(1, Math.max(0, share)))];
  });
}

/** Paint a matrix into a rectangle of a canvas. */
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

/** The colours that mark a term ("a", "b"), a bias and the number itself. */
export function markColour(role, theme) {
  if (role === "a") return theme.accent;
  return role === "is" ? theme.text : theme.second;
}

/**
 * A sheet: {node, set}. `set({ matrix, layout, scale, rowNames, colNames, marks, seam }, theme)`:
 * `marks` are [{row, col, role}], a null row or column being all of it; every `seam` columns there
 * is a gap. `onPoint(cell or null)`
 * hears pointer and keyboard, `onChoose(cell)` click, Enter and Space.
 */
export function colourSheet(parent, { label, onPoint, onChoose }) {
  const box = element(parent, "div", "vt-sheet");
  const canvas = picture(box, `${label}: arrow keys move from number to number`);
  let [shown, at] = [null, { row: 0, col: 0 }];

  const cellOf = (event) => shown && sheetCellAt(shown.layout, ...placeIn(canvas, event));
  canvas.addEventListener("pointermove", (event) => onPoint(cellOf(event)));
  canvas.addEventListener("pointerleave", () => onPoint(null));
  canvas.addEventListener("focus", () => {
    if (canvas.matches(":focus-visible")) onPoint(at);
  });
  canvas.addEventListener("blur", () => onPoint(null));
  canvas.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    at = cell;
    onChoose(cell);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !shown) return;
    const to = moveInTable(at, shown.layout.rows, shown.layout.cols, event.key);
    if (to) onPoint((at = to));
    else if (event.key === "Enter" || event.key === " ") onChoose(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function set(next, theme) {
    shown = next;
    const { matrix, layout, scale, rowNames, colNames, marks } = next;
    at = { row: Math.min(at.row, layout.rows - 1), col: Math.min(at.col, layout.cols - 1) };
    const { left, top, cellWidth, rowHeight, rows, cols } = layout;
    const context = fitCanvas(canvas, layout.width + 2, layout.height + 2);
    paintSheet(context, matrix, scale, theme, left, top, cols * cellWidth, rows * rowHeight);
    if (next.seam) {
      context.fillStyle = theme.background; // between the heads
      for (let col = next.seam; col < cols; col += next.seam)
        context.fillRect(left + col * cellWidth - 1, top, 2, rows * rowHeight);
    }
    const text = { font: `12px ${theme.family}`, colour: theme.muted };
    const fit = (name, room) => elide(visible(String(name)), room, (part) => theme.measure(part, 12, false));
    if (rowNames && left) {
      rowNames.forEach((name, row) =>
        drawText(context, fit(name, left - 10), left - 8, top + (row + 0.5) * rowHeight, {
          ...text,
          align: "right",
        }),
      );
    }
    if (colNames && top) {
      colNames.forEach((name, col) =>
        drawText(context, fit(name, cellWidth - 4), left + (col + 0.5) * cellWidth, top / 2, {
          ...text,
          align: "center",
        }),
      );
    }
    for (const { row, col, role } of marks) {
      const [x, wide] = col === null ? [left, cols * cellWidth] : [left + col * cellWidth, cellWidth];
      const [y, high] = row === null ? [top, rows * rowHeight] : [top + row * rowHeight, rowHeight];
      // A thin band in the page's own colour keeps the mark apart from whatever it lies on.
      strokeBox(context, x - 1, y - 1, wide + 2, high + 2, theme.background, 1);
      strokeBox(context, x, y, wide, high, markColour(role, theme), Math.min(wide, high) < 6 ? 1.5 : 2.5);
    }
  }

  return { node: box, set };
}
