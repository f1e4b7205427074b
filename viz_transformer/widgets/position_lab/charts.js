// The charts of the position lab, on canvas.

import { fitCanvas, outlineChosen, strokeBox, drawText } from "../base/js/canvas.js";
import { formatNumber } from "../base/js/text.js";
import { limitOf } from "./matrix.js";
import { paintWeights } from "../base/js/pixels.js";

const AXIS = 12; // pixels of the axes' text
const MAX_LINES = 64; // of other positions behind the chosen one's

/**
 * @import { Theme } from "../base/js/colour.js"
 * @import { Matrix } from "./matrix.js"
 */

/**
 * A matrix in signed colours, one pixel a cell: to be drawn large, with hard edges.
 *
 * @param {Matrix} matrix
 * @param {number} limit
 * @param {Uint32Array} ramp
 */
export function paintSigned({ values, rows, cols }, limit, ramp) {
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [cols, rows];
  const context = sheet.getContext("2d");
  const image = context.createImageData(cols, rows);
  const weights = Float32Array.from(values, (value) => 0.5 + value / (2 * limit)); // 0 to 1
  const pixels = new Uint32Array(image.data.buffer);
  paintWeights({ weights, rows, cols }, pixels, cols, { width: cols, height: rows }, { ramp });
  context.putImageData(image, 0, 0);
  return sheet;
}

/**
 * The layout of the table, with a bar under each pair; cells are whole pixels where there is room.
 *
 * @param {{rows: number, cols: number, width: number, height: number}} size
 */
export function tableLayout({ rows, cols, width, height }) {
  const [left, top, bottom] = [38, 20, 46];
  const fit = (room, count) => (room >= count ? Math.floor(room / count) : room / count);
  const cellWidth = fit(width - left - 4, cols);
  const cellHeight = fit(height - top - bottom, rows);
  return { rows, cols, left, top, cellWidth, cellHeight, width, height: top + rows * cellHeight + bottom };
}

/**
 * The cell under a point, as {position, dimension}, or null.
 *
 * @param {ReturnType<typeof tableLayout>} layout
 * @param {number} x
 * @param {number} y
 */
export function tableCellAt({ rows, cols, left, top, cellWidth, cellHeight }, x, y) {
  const [position, dimension] = [Math.floor((y - top) / cellHeight), Math.floor((x - left) / cellWidth)];
  return position >= 0 && position < rows && dimension >= 0 && dimension < cols
    ? { position, dimension }
    : null;
}

/**
 * Numbers along an axis, far enough apart to be read.
 *
 * @param {number} count of all
 * @param {number} room in pixels
 * @param {number} least pixels from one to the next
 */
export function ticksOf(count, room, least) {
  const step =
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((each) => (each / count) * room >= least) ?? count;
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
}

/**
 * Draw the table, with the chosen row and pair of columns marked; rows from `border` on are untrained.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {ReturnType<typeof tableLayout>} layout
 * @param {CanvasImageSource} sheet
 * @param {{position: number, pair: number, border: number, counts: number[]}} shown
 * @param {Theme} theme
 */
export function drawTable(canvas, layout, sheet, { position, pair, border, counts }, theme) {
  const { rows, cols, left, top, cellWidth, cellHeight } = layout;
  const context = fitCanvas(canvas, layout.width, layout.height, theme.scale);
  const [width, height] = [cols * cellWidth, rows * cellHeight];
  context.imageSmoothingEnabled = cellWidth < 1 || cellHeight < 1;
  context.drawImage(sheet, left, top, width, height);
  for (const row of ticksOf(rows, height, 18)) {
    axisText(context, String(row), left - 6, top + (row + 0.5) * cellHeight, "right", theme);
  }
  for (const col of ticksOf(cols, width, 34)) {
    axisText(context, String(col), left + (col + 0.5) * cellWidth, top - 10, "center", theme);
  }
  if (border < rows) {
    context.strokeStyle = theme.text;
    context.lineWidth = 1.5;
    context.setLineDash([5, 3]);
    line(context, [
      [left, top + border * cellHeight],
      [left + width, top + border * cellHeight],
    ]);
    context.setLineDash([]);
  }
  outlineChosen(context, [left - 2, top + position * cellHeight - 2, width + 4, cellHeight + 4], theme, 2);
  outlineChosen(context, [left + 2 * pair * cellWidth - 2, top - 2, 2 * cellWidth + 4, height + 4], theme, 2);
  const base = layout.height - 1;
  counts.forEach((count, each) => {
    context.fillStyle = each === pair ? theme.accent : theme.muted;
    const tall = Math.max(1, (count / Math.max(1, rows - 1)) * 36);
    context.fillRect(left + 2 * each * cellWidth + 1, base - tall, Math.max(1, 2 * cellWidth - 2), tall);
  });
  axisText(context, String(rows - 1), left - 6, base - 36, "right", theme);
  axisText(context, "0", left - 6, base - 6, "right", theme);
}

/**
 * The layout of the curves and the clock.
 *
 * @param {{rows: number, width: number, height: number}} size
 */
export function wavesLayout({ rows, width, height }) {
  const isNarrow = width < 440; // the names of the curves take a row each, and the clock stands below them
  const [left, top, bottom] = [38, isNarrow ? 54 : 22, 20];
  const clock = Math.min(height - top - 2, 130);
  const right = width - clock - 26;
  return { rows, width, height, left, right, top, bottom: height - bottom, clock, isNarrow };
}

/**
 * The position nearest to a point of a chart, or null beside it.
 *
 * @param {{rows: number, left: number, right: number}} layout
 * @param {number} x
 */
export function positionAt({ rows, left, right }, x) {
  if (x < left - 8 || x > right + 8) return null;
  return Math.min(rows - 1, Math.max(0, Math.round(((x - left) / (right - left)) * (rows - 1))));
}

/**
 * Draw one pair of columns over the positions, and the same two numbers as the hand of a clock.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {ReturnType<typeof wavesLayout>} layout
 * @param {Matrix} table
 * @param {{pair: number, position: number, alike: number[], names: string[]}} shown
 * @param {Theme} theme
 */
export function drawWaves(canvas, layout, table, { pair, position, alike, names }, theme) {
  const { rows, width, height, left, right, top, bottom, clock } = layout;
  const context = fitCanvas(canvas, width, height, theme.scale);
  const limit = limitOf(table);
  const at = (row, dimension) => table.values[row * table.cols + dimension];
  const x = (row) => left + (row / Math.max(1, rows - 1)) * (right - left);
  const y = (value) => (top + bottom) / 2 - (value / limit) * ((bottom - top) / 2);
  drawZeroLine(context, left, right, y(0), theme);
  for (const value of [-limit, 0, limit]) {
    axisText(context, formatNumber(value, value === 0 ? 0 : 1), left - 6, y(value), "right", theme);
  }
  for (const row of ticksOf(rows, right - left, 30))
    axisText(context, String(row), x(row), height - 8, "center", theme);
  drawCursor(context, x(position), layout, theme);
  let legend = left;
  for (const which of [0, 1]) {
    const points = Array.from({ length: rows }, (_, row) => [x(row), y(at(row, 2 * pair + which))]);
    drawWave(context, points, which, { position, alike }, theme);
    const [start, middle] = layout.isNarrow ? [left, 9 + 16 * which] : [legend, 9];
    legend = drawLegendLine(context, [start, middle], which, names[which], theme);
  }
  if (alike.length) {
    const [start, middle] = layout.isNarrow ? [left, 41] : [legend, 9];
    context.fillStyle = theme.accent;
    dot(context, start + 3, middle, 3);
    drawText(context, `looks like ${position}`, start + 11, middle, textStyle(theme));
  }
  axisText(context, "pos", left - 8, height - 8, "right", theme);
  drawClock(
    context,
    { x: width - clock / 2 - 4, y: top - 10 + clock / 2, radius: clock / 2 - 6 },
    (row) => [at(row, 2 * pair + 1) / limit, at(row, 2 * pair) / limit],
    { rows, position, alike },
    theme,
  );
}

/** One of the two curves, with its points at the chosen position and at those that look alike. */
function drawWave(context, points, which, { position, alike }, theme) {
  context.strokeStyle = waveColour(which, theme);
  context.lineWidth = which ? 1.5 : 2.5;
  context.setLineDash(which ? [5, 3] : []); // a dashed line: no two hues to be told apart
  line(context, points);
  context.setLineDash([]);
  context.fillStyle = theme.accent;
  for (const row of alike) dot(context, ...points[row], 3);
  context.fillStyle = waveColour(which, theme);
  dot(context, ...points[position], 5);
}

/** A curve's name with a piece of its line; returns where the next one begins. */
function drawLegendLine(context, [left, middle], which, name, theme) {
  context.strokeStyle = waveColour(which, theme);
  context.lineWidth = which ? 1.5 : 2.5;
  context.setLineDash(which ? [5, 3] : []);
  line(context, [
    [left, middle],
    [left + 16, middle],
  ]);
  context.setLineDash([]);
  drawText(context, name, left + 21, middle, textStyle(theme));
  return left + 21 + theme.measure(name, AXIS, false) + 14;
}

function waveColour(which, theme) {
  return which ? theme.muted : theme.text;
}

/** Each position as a point, its cosine to the right and its sine upwards: where the hand is then. */
function drawClock(context, { x, y, radius }, pointOf, { rows, position, alike }, theme) {
  const place = (row) => {
    const [right, up] = pointOf(row);
    return [x + right * radius, y - up * radius];
  };
  context.strokeStyle = theme.muted;
  context.lineWidth = 1;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
  context.fillStyle = theme.muted;
  for (let row = 0; row < rows; row++) dot(context, ...place(row), 1.8);
  context.fillStyle = theme.accent;
  for (const row of alike) dot(context, ...place(row), 3);
  context.strokeStyle = theme.accent;
  context.lineWidth = 3;
  line(context, [[x, y], place(position)]);
  dot(context, ...place(position), 5);
}

/**
 * The layout of the lines by offset.
 *
 * @param {{rows: number, width: number, height: number}} size
 */
export function offsetsLayout({ rows, width, height }) {
  return { rows, width, height, left: 46, right: width - 10, top: 10, bottom: height - 22 };
}

/**
 * The offset nearest to a point, or null beside the chart.
 *
 * @param {{rows: number, left: number, right: number}} layout
 * @param {number} x
 */
export function offsetAt({ rows, left, right }, x) {
  if (x < left - 8 || x > right + 8) return null;
  const most = rows - 1;
  return Math.min(most, Math.max(-most, Math.round(((x - left) / (right - left)) * 2 * most) - most));
}

/**
 * Draw scores by offset: the chosen position's line over those of the others.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {ReturnType<typeof offsetsLayout>} layout
 * @param {Matrix} scores [position, position]
 * @param {{position: number, offset: number}} shown
 * @param {Theme} theme
 */
export function drawOffsets(canvas, layout, scores, { position, offset }, theme) {
  const { rows, width, height, left, right, top, bottom } = layout;
  const context = fitCanvas(canvas, width, height, theme.scale);
  const [low, high] = extentWithZero(scores.values);
  const x = (k) => left + ((k + rows - 1) / Math.max(1, 2 * (rows - 1))) * (right - left);
  const y = (score) =>
    high === low ? (top + bottom) / 2 : bottom - ((score - low) / (high - low)) * (bottom - top);
  const lineOf = (row) =>
    Array.from({ length: rows }, (_, other) => [x(other - row), y(scores.values[row * rows + other])]);
  drawZeroLine(context, left, right, y(0), theme);
  drawOffsetTicks(context, layout, { x, y, low, high }, theme);
  context.strokeStyle = theme.muted;
  context.globalAlpha = 0.45;
  context.lineWidth = 1;
  for (let row = 0; row < rows; row += Math.ceil(rows / MAX_LINES)) line(context, lineOf(row));
  context.globalAlpha = 1;
  drawCursor(context, x(offset), layout, theme);
  context.strokeStyle = theme.text;
  context.lineWidth = 2.5;
  line(context, lineOf(position));
  const other = position + offset;
  context.fillStyle = theme.accent;
  if (other >= 0 && other < rows) dot(context, x(offset), y(scores.values[position * rows + other]), 5);
}

function drawOffsetTicks(context, { rows, height, left, right }, { x, y, low, high }, theme) {
  for (const score of new Set([low, 0, high])) {
    if (score === 0 && [low, high].some((end) => end !== 0 && Math.abs(y(end) - y(0)) < 14)) continue;
    axisText(context, formatNumber(score, 1), left - 6, y(score), "right", theme);
  }
  for (const k of ticksOf(rows, (right - left) / 2, 34)) {
    axisText(context, String(k), x(k), height - 8, "center", theme);
    if (k) axisText(context, `−${k}`, x(-k), height - 8, "center", theme);
  }
  axisText(context, "offset", left - 8, height - 8, "right", theme);
}

function extentWithZero(values) {
  let [low, high] = [0, 0];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}

/**
 * Draw matrices of scores side by side, in one scale of colours.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {[title: string, scores: Matrix][]} entries
 * @param {Theme} theme
 */
export function drawScores(canvas, width, entries, theme) {
  const gap = 16;
  const side = Math.max(40, Math.min(130, Math.floor((width - gap * (entries.length - 1)) / entries.length)));
  const context = fitCanvas(canvas, entries.length * (side + gap) - gap, side + 22, theme.scale);
  const limit = limitOf(...entries.map(([, matrix]) => matrix));
  context.imageSmoothingEnabled = false;
  entries.forEach(([title, matrix], index) => {
    const left = index * (side + gap);
    drawText(context, title, left, 9, { font: `13px ${theme.family}`, colour: theme.text });
    context.drawImage(paintSigned(matrix, limit, theme.signedRamp), left, 22, side, side);
    strokeBox(context, left, 22, side, side, theme.muted, 1);
  });
}

/** @param {Theme} theme */
function textStyle(theme) {
  return { font: `${AXIS}px ${theme.family}`, colour: theme.text };
}

/** The quiet text of an axis. */
function axisText(context, text, x, y, align, theme) {
  drawText(context, text, x, y, { font: `${AXIS}px ${theme.family}`, colour: theme.muted, align });
}

/** The vertical line at what is chosen. */
function drawCursor(context, x, { top, bottom }, theme) {
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  line(context, [
    [x, top],
    [x, bottom],
  ]);
}

function drawZeroLine(context, left, right, y, theme) {
  context.strokeStyle = theme.muted;
  context.lineWidth = 1;
  context.globalAlpha = 0.6;
  line(context, [
    [left, y],
    [right, y],
  ]);
  context.globalAlpha = 1;
}

function line(context, points) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y); // the first one moves there
  context.stroke();
}

function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
