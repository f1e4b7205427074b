// The pictures of the position lab, on canvas.

import { fitCanvas, strokeBox, drawText } from "../base/js/canvas.js";
import { formatNumber } from "../base/js/text.js";
import { limitOf } from "./encodings.js";
import { paintWeights } from "../base/js/pixels.js";

const AXIS = 12; // pixels of the axes' text
const MOST_LINES = 64; // of other positions behind the chosen one's

/** A matrix in signed colours, one pixel a cell: to be drawn large, with hard edges. */
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

/** Where the table stands, with a bar under each pair; cells are whole pixels where there is room. */
export function tableLayout({ rows, cols, width, height }) {
  const [left, top, bottom] = [38, 20, 46];
  const fit = (room, count) => (room >= count ? Math.floor(room / count) : room / count);
  const cellWidth = fit(width - left - 4, cols);
  const cellHeight = fit(height - top - bottom, rows);
  return { rows, cols, left, top, cellWidth, cellHeight, width, height: top + rows * cellHeight + bottom };
}

/** The cell under a point, as {position, dimension}, or null. */
export function tableCellAt({ rows, cols, left, top, cellWidth, cellHeight }, x, y) {
  const [position, dimension] = [Math.floor((y - top) / cellHeight), Math.floor((x - left) / cellWidth)];
  return position >= 0 && position < rows && dimension >= 0 && dimension < cols
    ? { position, dimension }
    : null;
}

/** Numbers along an axis, far enough apart to be read. */
export function ticksOf(count, room, least) {
  const step =
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((each) => (each / count) * room >= least) ?? count;
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
}

/** The table, with the chosen row and pair of columns marked; under `border` lie untrained rows. */
export function drawTable(canvas, layout, sheet, { position, pair, border, counts }, theme) {
  const { rows, cols, left, top, cellWidth, cellHeight } = layout;
  const context = fitCanvas(canvas, layout.width, layout.height, theme.scale);
  const [width, height] = [cols * cellWidth, rows * cellHeight];
  context.imageSmoothingEnabled = cellWidth < 1 || cellHeight < 1;
  context.drawImage(sheet, left, top, width, height);
  const quiet = { font: `${AXIS}px ${theme.family}`, colour: theme.muted };
  for (const row of ticksOf(rows, height, 18)) {
    drawText(context, String(row), left - 6, top + (row + 0.5) * cellHeight, { ...quiet, align: "right" });
  }
  for (const col of ticksOf(cols, width, 34)) {
    drawText(context, String(col), left + (col + 0.5) * cellWidth, top - 10, { ...quiet, align: "center" });
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
  strokeBox(context, left - 2, top + position * cellHeight - 2, width + 4, cellHeight + 4, theme.accent, 2);
  strokeBox(
    context,
    left + 2 * pair * cellWidth - 2,
    top - 2,
    2 * cellWidth + 4,
    height + 4,
    theme.accent,
    2,
  );
  const base = layout.height - 1;
  counts.forEach((count, each) => {
    context.fillStyle = each === pair ? theme.accent : theme.muted;
    const tall = Math.max(1, (count / Math.max(1, rows - 1)) * 36);
    context.fillRect(left + 2 * each * cellWidth + 1, base - tall, Math.max(1, 2 * cellWidth - 2), tall);
  });
  drawText(context, String(rows - 1), left - 6, base - 36, { ...quiet, align: "right" });
  drawText(context, "0", left - 6, base - 6, { ...quiet, align: "right" });
}

/** Where the curves and the clock stand. */
export function wavesLayout({ rows, width, height }) {
  const clock = Math.min(height - 24, 130);
  const [left, top, bottom] = [38, 22, 20];
  const right = width - clock - 26;
  return { rows, width, height, left, right, top, bottom: height - bottom, clock };
}

/** The position nearest to a point of a chart, or null beside it. */
export function positionAt({ rows, left, right }, x) {
  if (x < left - 8 || x > right + 8) return null;
  return Math.min(rows - 1, Math.max(0, Math.round(((x - left) / (right - left)) * (rows - 1))));
}

/** One pair of columns over the positions, and the same two numbers as the hand of a clock. */
export function drawWaves(canvas, layout, table, { pair, position, alike, names }, theme) {
  const { rows, width, height, left, right, top, bottom, clock } = layout;
  const context = fitCanvas(canvas, width, height, theme.scale);
  const limit = limitOf(table);
  const at = (row, dimension) => table.values[row * table.cols + dimension];
  const x = (row) => left + (row / Math.max(1, rows - 1)) * (right - left);
  const y = (value) => (top + bottom) / 2 - (value / limit) * ((bottom - top) / 2);
  const quiet = { font: `${AXIS}px ${theme.family}`, colour: theme.muted };
  frameOf(context, left, right, y(0), theme);
  for (const value of [-limit, 0, limit]) {
    drawText(context, formatNumber(value, value === 0 ? 0 : 1), left - 6, y(value), {
      ...quiet,
      align: "right",
    });
  }
  for (const row of ticksOf(rows, right - left, 30))
    drawText(context, String(row), x(row), height - 8, { ...quiet, align: "center" });

  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  line(context, [
    [x(position), top],
    [x(position), bottom],
  ]);
  const colours = [theme.line, theme.text]; // and a dashed line: no two hues to be told apart
  let legend = left;
  [0, 1].forEach((which) => {
    const dimension = 2 * pair + which;
    context.strokeStyle = colours[which];
    context.lineWidth = which ? 1.5 : 2.5;
    context.setLineDash(which ? [5, 3] : []);
    line(
      context,
      Array.from({ length: rows }, (_, row) => [x(row), y(at(row, dimension))]),
    );
    context.fillStyle = theme.accent;
    for (const row of alike) dot(context, x(row), y(at(row, dimension)), 3);
    context.fillStyle = colours[which];
    dot(context, x(position), y(at(position, dimension)), 5);
    line(context, [
      [legend, 9],
      [legend + 16, 9],
    ]);
    context.setLineDash([]);
    drawText(context, names[which], legend + 21, 9, {
      font: `${AXIS}px ${theme.family}`,
      colour: theme.text,
    });
    legend += 21 + theme.measure(names[which], AXIS, false) + 14;
  });
  if (alike.length) {
    context.fillStyle = theme.accent;
    dot(context, legend + 3, 9, 3);
    drawText(context, `looks like ${position}`, legend + 11, 9, {
      font: `${AXIS}px ${theme.family}`,
      colour: theme.text,
    });
  }
  drawText(context, "pos", left - 8, height - 8, { ...quiet, align: "right" });
  drawClock(
    context,
    { x: width - clock / 2 - 4, y: 12 + clock / 2, radius: clock / 2 - 6 },
    (row) => [at(row, 2 * pair + 1) / limit, at(row, 2 * pair) / limit],
    { rows, position, alike },
    theme,
  );
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

/** Where the lines by offset stand. */
export function offsetsLayout({ rows, width, height }) {
  return { rows, width, height, left: 46, right: width - 10, top: 10, bottom: height - 22 };
}

/** The offset nearest to a point, or null beside the chart. */
export function offsetAt({ rows, left, right }, x) {
  if (x < left - 8 || x > right + 8) return null;
  const most = rows - 1;
  return Math.min(most, Math.max(-most, Math.round(((x - left) / (right - left)) * 2 * most) - most));
}

/** Scores by offset: the chosen position's line over those of the others. */
export function drawOffsets(canvas, layout, scores, { position, offset }, theme) {
  const { rows, width, height, left, right, top, bottom } = layout;
  const context = fitCanvas(canvas, width, height, theme.scale);
  let [low, high] = [0, 0];
  for (const score of scores.values) [low, high] = [Math.min(low, score), Math.max(high, score)];
  const reach = high - low || 1;
  const x = (k) => left + ((k + rows - 1) / Math.max(1, 2 * (rows - 1))) * (right - left);
  const y = (score) =>
    high === low ? (top + bottom) / 2 : bottom - ((score - low) / reach) * (bottom - top);
  const lineOf = (row) =>
    Array.from({ length: rows }, (_, other) => [x(other - row), y(scores.values[row * rows + other])]);
  const quiet = { font: `${AXIS}px ${theme.family}`, colour: theme.muted };
  frameOf(context, left, right, y(0), theme);
  for (const score of new Set([low, 0, high])) {
    if (score === 0 && [low, high].some((end) => end !== 0 && Math.abs(y(end) - y(0)) < 14)) continue;
    drawText(context, formatNumber(score, 1), left - 6, y(score), { ...quiet, align: "right" });
  }
  for (const k of ticksOf(rows, (right - left) / 2, 34)) {
    drawText(context, String(k), x(k), height - 8, { ...quiet, align: "center" });
    if (k) drawText(context, `−${k}`, x(-k), height - 8, { ...quiet, align: "center" });
  }
  drawText(context, "offset", left - 8, height - 8, { ...quiet, align: "right" });
  context.strokeStyle = theme.muted;
  context.globalAlpha = 0.45;
  context.lineWidth = 1;
  for (let row = 0; row < rows; row += Math.ceil(rows / MOST_LINES)) line(context, lineOf(row));
  context.globalAlpha = 1;
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  line(context, [
    [x(offset), top],
    [x(offset), bottom],
  ]);
  context.strokeStyle = theme.line;
  context.lineWidth = 2.5;
  line(context, lineOf(position));
  const other = position + offset;
  context.fillStyle = theme.accent;
  if (other >= 0 && other < rows) dot(context, x(offset), y(scores.values[position * rows + other]), 5);
}

/** Matrices of scores side by side, in one scale of colours: entries are [title, matrix]. */
export function drawScores(canvas, width, entries, theme) {
  const gap = 16;
  const side = Math.max(40, Math.min(190, Math.floor((width - gap * (entries.length - 1)) / entries.length)));
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

function frameOf(context, left, right, y, theme) {
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
  points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
