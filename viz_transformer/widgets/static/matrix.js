// One head, large: a heatmap with its words along both axes.

import { fitCanvas, outline, pixelRatio, write } from "./canvas.js";
import { colourOf, inkOn } from "./colour.js";
import { elide, twoDecimals, visible } from "./text.js";
import { paintMatrix } from "./weights.js";

const SLANT = Math.SQRT1_2; // sine and cosine of 45°

/**
 * Where the matrix and its labels stand, so that everything is inside [width, maxHeight].
 *
 * `rowLabel` and `colLabel` are the widest labels in pixels. Labels of columns lie flat where they
 * fit over their cells and are slanted elsewhere; `rowStep` and `colStep` say which are written.
 */
export function matrixLayout({ rows, cols, width, maxHeight, rowLabel, colLabel, ratio = 1 }) {
  const axis = 22;
  const rowRoom = Math.min(rowLabel, 130, width * 0.26);
  const colRoom = Math.min(colLabel, 110);
  const left = axis + rowRoom + 8;
  const fit = (top, right) =>
    Math.min(64, (width - left - right) / cols, (maxHeight - top) / rows);
  const slantTop = axis + colRoom * SLANT + 14;
  const flat = fit(axis + 22, 3) >= colLabel + 8;
  const top = flat ? axis + 22 : slantTop;
  let cell = flat ? fit(top, 3) : fit(top, colRoom * SLANT + 4);
  if (cell * ratio >= 8) cell = Math.floor(cell * ratio) / ratio; // cells of one size, seams sharp
  const right = left + cols * cell + (flat ? 3 : colRoom * SLANT + 4);
  return {
    rows, cols, cell, left, top, flat, rowRoom, colRoom,
    font: cell >= 40 ? 15 : cell >= 24 ? 14 : 12,
    rowStep: Math.ceil(15 / cell),
    colStep: flat ? 1 : Math.ceil(16 / cell),
    width: Math.max(right, left + 120),
    height: Math.max(top + rows * cell + 3, top + 96),
  };
}

/** The cell under a point, as {query, key}, or null. */
export function cellAt({ left, top, cell, rows, cols }, x, y) {
  const [key, query] = [Math.floor((x - left) / cell), Math.floor((y - top) / cell)];
  return query >= 0 && query < rows && key >= 0 && key < cols ? { query, key } : null;
}

/** The cell that an arrow key moves to, from a pinned cell or from nothing. */
export function moveCell({ query, key }, rows, cols, arrow) {
  if (query === null && key === null) return { query: 0, key: 0 };
  const step = (value, less, more, count) => {
    const moved = (value ?? 0) + (arrow === more ? 1 : arrow === less ? -1 : 0);
    return Math.min(count - 1, Math.max(0, moved));
  };
  return {
    query: step(query, "ArrowUp", "ArrowDown", rows),
    key: step(key, "ArrowLeft", "ArrowRight", cols),
  };
}

/** The cells of one head on a canvas of their own, at the screen's pixels. */
export function paintCells(entry, offset, layout, theme) {
  const ratio = pixelRatio();
  const sheet = document.createElement("canvas");
  sheet.width = Math.max(1, Math.round(layout.cols * layout.cell * ratio));
  sheet.height = Math.max(1, Math.round(layout.rows * layout.cell * ratio));
  const context = sheet.getContext("2d");
  const image = context.createImageData(sheet.width, sheet.height);
  const pixels = new Uint32Array(image.data.buffer);
  paintMatrix(entry.weights, offset, entry.rows, entry.cols, pixels, sheet.width,
    0, 0, sheet.width, sheet.height, theme.ramp);
  context.putImageData(image, 0, 0);
  return sheet;
}

/** Draw the head: cells, labels, and the marks of the pinned and the active cell. */
export function drawMatrix(canvas, layout, cells, entry, offset, { active, pinned }, theme, measure) {
  const { left, top, cell, rows, cols } = layout;
  const context = fitCanvas(canvas, layout.width, layout.height);
  const [width, height] = [cols * cell, rows * cell];
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, left, top, width, height);
  if (cell >= 12) drawSeams(context, layout, theme);
  if (cell >= 32) drawNumbers(context, layout, entry, offset, theme);
  drawLabels(context, layout, entry, active, theme, measure);

  if (active.query !== null) {
    outline(context, left - 2, top + active.query * cell - 1, width + 4, cell + 2, theme.accent, cell > 8 ? 2 : 1);
  }
  if (active.key !== null) {
    outline(context, left + active.key * cell - 1, top - 2, cell + 2, height + 4, theme.accent, cell > 8 ? 2 : 1);
  }
  if (pinned.query !== null && pinned.key !== null) {
    const thickness = cell > 12 ? 4 : 2;
    const reach = cell > 12 ? 2 : 3; // around a small cell, not over it
    outline(context, left + pinned.key * cell - reach, top + pinned.query * cell - reach,
      cell + 2 * reach, cell + 2 * reach, theme.accent, thickness);
  }
}

function drawSeams(context, { left, top, cell, rows, cols }, theme) {
  context.fillStyle = theme.background;
  for (let row = 1; row < rows; row++) context.fillRect(left, top + row * cell - 0.5, cols * cell, 1);
  for (let col = 1; col < cols; col++) context.fillRect(left + col * cell - 0.5, top, 1, rows * cell);
}

function drawNumbers(context, { left, top, cell, rows, cols }, { weights }, offset, theme) {
  const font = `${cell >= 48 ? 14 : cell >= 38 ? 12 : 11}px ${theme.family}`;
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const weight = weights[offset + row * cols + col];
      write(context, twoDecimals(weight), left + (col + 0.5) * cell, top + (row + 0.5) * cell, {
        font, colour: inkOn(colourOf(weight, theme.stops)), align: "center",
      });
    }
  }
}

function drawLabels(context, layout, entry, active, theme, measure) {
  const { left, top, cell, rows, cols, flat, font } = layout;
  const quiet = { font: `12px ${theme.family}`, colour: theme.muted };
  write(context, "key (is looked at) →", left, 9, quiet);
  context.save();
  context.translate(9, top);
  context.rotate(-Math.PI / 2);
  write(context, "← query (looks)", 0, 0, { ...quiet, align: "right" });
  context.restore();

  // The active row and column are always named; a neighbour whose label would touch it is not.
  const shown = (index, chosen, step) =>
    index === chosen || (index % step === 0 && (chosen === null || Math.abs(index - chosen) >= step));
  const style = (chosen) => ({
    font: `${chosen ? 700 : 400} ${font}px ${theme.family}`,
    colour: chosen ? theme.accent : theme.text,
  });
  const label = (token, room, chosen) =>
    elide(visible(token), room, (text) => measure(text, font, chosen));
  for (let row = 0; row < rows; row++) {
    const chosen = row === active.query;
    if (!shown(row, active.query, layout.rowStep)) continue;
    write(context, label(entry.queries[row], layout.rowRoom, chosen), left - 8, top + (row + 0.5) * cell,
      { ...style(chosen), align: "right" });
  }
  for (let col = 0; col < cols; col++) {
    const chosen = col === active.key;
    if (!shown(col, active.key, layout.colStep)) continue;
    const x = left + (col + 0.5) * cell;
    if (flat) {
      write(context, label(entry.keys[col], cell - 4, chosen), x, top - 11, { ...style(chosen), align: "center" });
      continue;
    }
    context.save();
    context.translate(x, top - 8);
    context.rotate(-Math.PI / 4);
    write(context, label(entry.keys[col], layout.colRoom, chosen), 0, 0, style(chosen));
    context.restore();
  }
}
