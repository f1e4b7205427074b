// A heatmap of one head with its tokens along both axes, and a window onto it when zoomed.

import { fitCanvas, outlineChosen, pixelRatio, drawText } from "./canvas.ts";
import { packPixel, parseRgb, type Theme, textColourOn, weightColour } from "./colour.ts";
import { paintWeights, type Painted } from "./pixels.ts";
import { roundTicks, tickText } from "./scales.ts";
import { elide, visible, weightDigits } from "./text.ts";

const SLANT = Math.SQRT1_2; // sine and cosine of 45°
const LARGEST = 64; // pixels of a cell
const NUMBERED = 40; // pixels of a cell in which there is room for its number
const WORD = 26; // pixels of a row that stands beside times
const TIME = 56; // from one time on an axis to the next
const NARROWEST = 240; // pixels of a window onto many cells

/** A head with the tokens along both axes. */
export interface LabelledHead extends Painted {
  queries: string[];
  keys: string[];
  /** In place of the queries. */
  rowNames?: string[];
  entry?: { least: number };
}

/** The part that is shown of a heatmap */
export interface Window {
  /** How many times larger than what fits. */
  zoom: number;
  /** Of the cell in the corner. */
  row: number;
  col: number;
}

/** What is marked in a heatmap, and what else is written on it. */
export interface Marks {
  active: Cell;
  pinned: Cell;
  /** The rows and columns that a text beside it names. */
  named?: { queries?: number[]; keys?: number[] } | null;
  /** For each row and column, 1 where it is searched for. */
  found?: { queries?: Uint8Array | null; keys?: Uint8Array | null } | null;
  /** Cells of less weight have no number. */
  least: number;
  /** The weights themselves, where the picture has their colours. */
  numbers?: Float32Array | null;
  /** Written over a thumbnail that stands in. */
  waiting?: string;
}

type Cell = { query: number | null; key: number | null };

export type HeatmapLayout = ReturnType<typeof matrixLayout>;

/** The window onto all of it */
export const WHOLE: Window = { zoom: 1, row: 0, col: 0 };

/**
 * Where the matrix and its labels stand, so that everything is inside [width, maxHeight].
 *
 * `rowLabel` and `colLabel` are the widest labels in pixels. Labels of columns lie flat where they
 * fit over their cells and are slanted elsewhere; `rowStep` and `colStep` say which are written.
 * `rowSeconds` and `colSeconds`, if not null, are the time of a row and a column: then round times are written.
 * `view` is the window: how many times larger than what fits, and the cell in its corner. `x` and
 * `y` are the pixels that it leaves out, `boxWidth` and `boxHeight` its size.
 *
 * @param wanted.largest pixels of a cell
 * @param wanted.stretch how many times longer one side of a cell may be than the other
 * @param wanted.isTitled whether it says which axis is which
 */
export function matrixLayout({
  rows,
  cols,
  width,
  maxHeight,
  rowLabel,
  colLabel,
  rowSeconds = null,
  colSeconds = null,
  ratio = 1,
  view = WHOLE,
  largest = LARGEST,
  stretch = 1,
  isTitled = true,
}: {
  rows: number;
  cols: number;
  width: number;
  maxHeight: number;
  rowLabel: number;
  colLabel: number;
  rowSeconds?: number | null;
  colSeconds?: number | null;
  ratio?: number;
  view?: Window;
  largest?: number;
  stretch?: number;
  isTitled?: boolean;
}) {
  const axis = isTitled ? 22 : 0;
  const rowRoom = Math.min(rowLabel, 150, width * 0.38);
  const colRoom = Math.min(colLabel, 110, 0.65 * maxHeight);
  const left = axis + rowRoom + 8;
  const across = (right: number) => Math.min(largest, (width - left - right) / cols);
  const down = (top: number) => Math.min(largest, (maxHeight - top) / rows);
  const fit = (top: number, right: number) => Math.min(across(right), stretch * down(top));
  const slantTop = axis + colRoom * SLANT + 14;
  const flat = colSeconds !== null || fit(axis + 22, 3) >= colLabel + 8;
  const top = flat ? axis + 22 : slantTop;
  const right = colSeconds !== null ? TIME / 2 : flat ? 3 : colRoom * SLANT + 4;
  // Few words over many times: rows as high as a word, or they would be hairs.
  const isTall = colSeconds !== null && rowSeconds === null;
  const whole = isTall ? across(right) : fit(top, right);
  const wholeRow = isTall
    ? Math.max(whole, Math.min(WORD, (maxHeight - top) / rows))
    : Math.min(down(top), stretch * whole);
  const zoom = Math.max(1, Math.min(view.zoom, largest / Math.min(whole, wholeRow)));
  const [cell, rowCell] = cellSizes({ whole, wholeRow, isTall, ratio }, zoom);
  const snap = (pixels: number) => Math.floor(pixels * ratio) / ratio;
  // No wider by zooming than it was, unless that was too narrow: what is beside it stays in place.
  const boxWidth = snap(Math.min(cols * cell, width - left - right, Math.max(cols * whole, NARROWEST)));
  const boxHeight = snap(Math.min(rows * rowCell, maxHeight - top));
  const nearest = (pixels: number) => Math.round(pixels * ratio) / ratio; // rounded down, it would drift with each zoom
  const inside = (start: number, end: number, box: number) =>
    Math.max(0, Math.min(nearest(start), snap(end - box)));
  return {
    rows,
    cols,
    cell,
    rowCell,
    left,
    top,
    flat,
    rowRoom,
    colRoom,
    whole,
    wholeRow,
    isTall,
    zoom,
    ratio,
    boxWidth,
    boxHeight,
    x: inside(view.col * cell, cols * cell, boxWidth),
    y: inside(view.row * rowCell, rows * rowCell, boxHeight),
    rowSeconds,
    colSeconds,
    isTitled,
    font: rowCell >= 40 ? 15 : rowCell >= 24 ? 14 : 12,
    rowStep: Math.ceil(15 / rowCell),
    colStep: flat ? 1 : Math.ceil(16 / cell),
    width: Math.max(left + boxWidth + right, Math.min(width, left + 120)),
    height: Math.max(top + boxHeight + 3, Math.min(maxHeight, top + 96)),
  };
}

/** The width and height of a cell at a zoom; rows over times, which are high already, stay as they are. */
function cellSizes(
  { whole, wholeRow, isTall, ratio }: { whole: number; wholeRow: number; isTall: boolean; ratio: number },
  zoom: number,
) {
  const cell = sharp(whole * zoom, ratio);
  return [cell, isTall ? Math.max(cell, sharp(wholeRow, ratio)) : sharp(wholeRow * zoom, ratio)];
}

/** A cell's size, if it is large in whole pixels of the screen: cells of one size, seams sharp. */
function sharp(cell: number, ratio: number) {
  return cell * ratio >= 8 ? Math.floor(cell * ratio) / ratio : cell;
}

/** The cell under a point, as {query, key}, or null. */
export function cellAt(
  { left, top, cell, rowCell, rows, cols, x, y, boxWidth, boxHeight }: HeatmapLayout,
  atX: number,
  atY: number,
) {
  const [across, down] = [atX - left, atY - top];
  if (across < 0 || down < 0 || across >= boxWidth || down >= boxHeight) return null;
  const [key, query] = [Math.floor((across + x) / cell), Math.floor((down + y) / rowCell)];
  return query < rows && key < cols ? { query, key } : null;
}

/** The window `times` as large, around a point of the canvas or around its middle. */
export function zoomAround(
  layout: HeatmapLayout,
  times: number,
  atX = layout.left + layout.boxWidth / 2,
  atY = layout.top + layout.boxHeight / 2,
) {
  const { left, top, cell, rowCell, whole, wholeRow, x, y } = layout;
  const zoom = Math.max(1, Math.min(layout.zoom * times, LARGEST / Math.min(whole, wholeRow)));
  const [across, down, [next, nextRow]] = [atX - left, atY - top, cellSizes(layout, zoom)];
  return { zoom, col: (x + across) / cell - across / next, row: (y + down) / rowCell - down / nextRow };
}

/** The window moved by pixels. */
export function panBy({ zoom, cell, rowCell, x, y }: HeatmapLayout, across: number, down: number) {
  return { zoom, col: (x - across) / cell, row: (y - down) / rowCell };
}

/** The window moved, if need be, so that a cell is in it. */
export function reveal(
  { zoom, cell, rowCell, x, y, boxWidth, boxHeight }: HeatmapLayout,
  { query, key }: Cell,
) {
  const start = (index: number | null, size: number, from: number, box: number) => {
    if (index === null || (index * size >= from - 0.5 && (index + 1) * size <= from + box + 0.5))
      return from / size;
    return index + 0.5 - box / size / 2;
  };
  return { zoom, col: start(key, cell, x, boxWidth), row: start(query, rowCell, y, boxHeight) };
}

/** The cell that an arrow key moves to, from a pinned cell or from nothing. */
export function moveCell({ query, key }: Cell, rows: number, cols: number, arrow: string) {
  if (query === null && key === null) return { query: 0, key: 0 };
  const step = (value: number | null, less: string, more: string, count: number) => {
    const moved = (value ?? 0) + (arrow === more ? 1 : arrow === less ? -1 : 0);
    return Math.min(count - 1, Math.max(0, moved));
  };
  return {
    query: step(query, "ArrowUp", "ArrowDown", rows),
    key: step(key, "ArrowLeft", "ArrowRight", cols),
  };
}

interface Sheet {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  image: ImageData | null;
}

/** An offscreen canvas for the cells, painted over as long as it has the size. */
export function offscreenCanvas(): Sheet {
  const canvas = document.createElement("canvas");
  return { canvas, context: canvas.getContext("2d")!, image: null };
}

/** The cells in view on a `sheet`, at the screen's pixels; weaker ones than `least` blank. */
export function paintCells(
  shown: Painted,
  layout: HeatmapLayout,
  least: number,
  theme: Theme,
  sheet = offscreenCanvas(),
) {
  const ratio = pixelRatio() * theme.scale * theme.zoom;
  const pixelsOf = (length: number) => Math.max(1, Math.round(length * ratio));
  const { canvas, context } = sheet;
  const [width, height] = [pixelsOf(layout.boxWidth), pixelsOf(layout.boxHeight)];
  let { image } = sheet;
  if (image?.width !== width || image.height !== height) {
    [canvas.width, canvas.height] = [width, height];
    image = context.createImageData(width, height);
    sheet.image = image;
  }
  paintWeights(
    shown,
    new Uint32Array(image.data.buffer),
    width,
    {
      width,
      height,
      across: pixelsOf(layout.cols * layout.cell),
      down: pixelsOf(layout.rows * layout.rowCell),
      x: Math.round(layout.x * ratio),
      y: Math.round(layout.y * ratio),
    },
    {
      ramp: (shown.limit ?? null) === null ? theme.ramp : theme.signedRamp,
      blank: packPixel(parseRgb(theme.background)),
      hatch: packPixel(parseRgb(theme.muted)),
      period: Math.round(7 * ratio),
      least,
    },
  );
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Draw the head: cells, labels, and the marks of the pinned and the active cell. `named` holds the rows and
 * columns that a text beside it names: {queries, keys}; `numbers` the weights where `shown` has their colours.
 */
export function drawMatrix(
  canvas: HTMLCanvasElement,
  layout: HeatmapLayout,
  cells: HTMLCanvasElement,
  shown: LabelledHead,
  marks: Marks,
  theme: Theme,
) {
  const { active, pinned, waiting = "" } = marks;
  const { left, top, cell, rowCell, rows, cols, x, y, boxWidth, boxHeight } = layout;
  const context = fitCanvas(canvas, layout.width, layout.height, theme.scale);
  context.imageSmoothingEnabled = !shown.weights; // a thumbnail stands in: its blur says so
  if (shown.weights) context.drawImage(cells, left, top, boxWidth, boxHeight);
  else {
    const [across, down] = [cells.width / (cols * cell), cells.height / (rows * rowCell)];
    context.drawImage(
      cells,
      x * across,
      y * down,
      boxWidth * across,
      boxHeight * down,
      left,
      top,
      boxWidth,
      boxHeight,
    );
    drawText(context, waiting, left + boxWidth / 2, top + boxHeight / 2, {
      font: `600 16px ${theme.family}`,
      colour: theme.text,
      align: "center",
      behind: theme.background,
    });
  }
  const part: Part = {
    rows: [Math.floor(y / rowCell), Math.min(layout.rows, Math.ceil((y + boxHeight) / rowCell))],
    cols: [Math.floor(x / cell), Math.min(layout.cols, Math.ceil((x + boxWidth) / cell))],
  };
  drawLabels(context, layout, part, shown, marks, theme);
  context.save();
  context.beginPath();
  context.rect(left - 4, top - 4, boxWidth + 8, boxHeight + 8);
  context.clip();
  context.translate(left - x, top - y);
  if (Math.min(cell, rowCell) >= 12) drawSeams(context, layout, part, theme);
  if (Math.min(cell, rowCell) >= NUMBERED && shown.weights)
    drawNumbers(context, layout, part, shown, marks, theme);

  const thin = cell > 8 ? 2 : 1;
  if (active.query !== null)
    outlineChosen(context, [x - 2, active.query * rowCell - 1, boxWidth + 4, rowCell + 2], theme, thin);
  if (active.key !== null)
    outlineChosen(context, [active.key * cell - 1, y - 2, cell + 2, boxHeight + 4], theme, thin);
  if (pinned.query !== null && pinned.key !== null) {
    const thickness = cell > 12 ? 4 : 2;
    const reach = cell > 12 ? 2 : 3; // around a small cell, not over it
    const [across, down] = [pinned.key * cell - reach, pinned.query * rowCell - reach];
    outlineChosen(context, [across, down, cell + 2 * reach, rowCell + 2 * reach], theme, thickness);
  }
  context.restore();
}

/** The first row and column that are seen, and those after the last. */
interface Part {
  rows: [number, number];
  cols: [number, number];
}

function drawSeams(
  context: CanvasRenderingContext2D,
  { cell, rowCell, x, y, boxWidth, boxHeight }: HeatmapLayout,
  { rows, cols }: Part,
  theme: Theme,
) {
  context.fillStyle = theme.background;
  for (let row = Math.max(1, rows[0]); row < rows[1]; row++)
    context.fillRect(x, row * rowCell - 0.5, boxWidth, 1);
  for (let col = Math.max(1, cols[0]); col < cols[1]; col++)
    context.fillRect(col * cell - 0.5, y, 1, boxHeight);
}

/** The numbers in the cells: those of the weights, though their colours may stand on another scale. */
function drawNumbers(
  context: CanvasRenderingContext2D,
  { cell, rowCell }: HeatmapLayout,
  part: Part,
  shown: LabelledHead,
  { least, numbers }: Marks,
  theme: Theme,
) {
  const { cols, limit = null, masked, entry } = shown;
  const weights = numbers ?? shown.weights!;
  const font = `${cell >= 48 ? 14 : cell >= 38 ? 12 : 11}px ${theme.family}`;
  for (let row = part.rows[0]; row < part.rows[1]; row++) {
    for (let col = part.cols[0]; col < part.cols[1]; col++) {
      const weight = weights[row * cols + col];
      if (masked?.[row * cols + col] || Math.abs(weight) < least) continue;
      drawText(
        context,
        weightDigits(weight, limit, entry?.least),
        (col + 0.5) * cell,
        (row + 0.5) * rowCell,
        {
          font,
          colour: textColourOn(weightColour(shown.weights![row * cols + col], limit, theme)),
          align: "center",
        },
      );
    }
  }
}

/**
 * The round times in a part of an axis, at most so many: the position of each with its text; null without time.
 *
 * @param seconds of a position
 * @param part first position and the one after the last
 */
export function timesAt(
  seconds: number | null,
  [first, end]: [number, number],
  most: number,
): Map<number, string> | null {
  if (seconds === null) return null;
  const ticks = roundTicks(
    [first * seconds, Math.max(first + 1, end - 1) * seconds],
    Math.max(1, Math.floor(most)),
  );
  return new Map(ticks.map((time) => [Math.round(time / seconds), `${tickText(time)} s`]));
}

/**
 * Which labels of an axis are written: those in `first`, of which an earlier one wins where two would touch,
 * and of the others each `step`-th, or those at `times`, that touches none of these.
 *
 * @param part first position and the one after the last
 * @param step positions from one label to the next that does not touch it
 */
export function labelsOf(
  [start, end]: [number, number],
  first: (number | null)[],
  step: number,
  times: { has: (index: number) => boolean } | null = null,
): Set<number> {
  const written = [] as number[];
  const isFree = (index: number) => written.every((other) => Math.abs(index - other) >= step);
  for (const index of first)
    if (index !== null && index >= start && index < end && isFree(index)) written.push(index);
  const all = new Set(written);
  for (let index = start; index < end; index++)
    if ((times ? times.has(index) : index % step === 0) && isFree(index)) all.add(index);
  return all;
}

/** Where a label stands along the box: beyond its edge null, and at its edge one that must be seen. */
function placeInBox(middle: number, size: number, isChosen: boolean) {
  if (isChosen) return Math.max(0, Math.min(size, middle));
  return middle < 0 || middle > size ? null : middle;
}

/** Which axis is which: beside a decoder's rows, that they read a word and write the next, if there is room. */
function drawTitles(
  context: CanvasRenderingContext2D,
  { left, top, width, height }: HeatmapLayout,
  arePlain: boolean,
  theme: Theme,
) {
  const quiet = { font: `12px ${theme.family}`, colour: theme.muted };
  const fits = (text: string, room: number) => theme.measure(text, 12, false) <= room;
  const names = arePlain ? ["← query"] : ["← query: read → written", "← query"];
  const key = "key (attended to) →";
  drawText(context, fits(key, width - left) ? key : "key →", left, 9, quiet);
  context.save();
  context.translate(9, top);
  context.rotate(-Math.PI / 2);
  drawText(context, names.find((name) => fits(name, height - top)) ?? "", 0, 0, { ...quiet, align: "right" });
  context.restore();
}

function drawLabels(
  context: CanvasRenderingContext2D,
  layout: HeatmapLayout,
  part: Part,
  shown: LabelledHead,
  { active, pinned, named, found }: Marks,
  theme: Theme,
) {
  const { left, top, cell, rowCell, x, y, boxWidth, boxHeight, flat, font } = layout;
  const rowNames = shown.rowNames ?? shown.queries;
  if (layout.isTitled) drawTitles(context, layout, rowNames === shown.queries, theme);
  const rowTimes = timesAt(layout.rowSeconds, part.rows, boxHeight / 24);
  const colTimes = timesAt(layout.colSeconds, part.cols, boxWidth / TIME);
  const colStep = colTimes ? TIME / cell : layout.colStep;
  const chosenRows = [active.query, pinned.query, ...(named?.queries ?? [])];
  const chosenCols = [active.key, pinned.key, ...(named?.keys ?? [])];
  const rowLabels = labelsOf(part.rows, chosenRows, layout.rowStep, rowTimes);
  const colLabels = labelsOf(part.cols, chosenCols, colStep, colTimes);
  const style = (chosen: boolean, marked: boolean, role: string) => ({
    font: `${chosen ? 700 : 400} ${font}px ${theme.family}`,
    colour: chosen ? role : theme.text,
    marked: marked && theme.accent,
  });
  const label = (token: string, room: number, chosen: boolean) =>
    elide(visible(token), room, (text) => theme.measure(text, font, chosen));
  for (let row = part.rows[0]; row < part.rows[1]; row++) {
    const middle = placeInBox((row + 0.5) * rowCell - y, boxHeight, chosenRows.includes(row));
    const [chosen, marked] = [row === active.query, Boolean(found?.queries?.[row])];
    if (middle === null || !rowLabels.has(row)) continue;
    const name = (!chosenRows.includes(row) && rowTimes?.get(row)) || rowNames[row];
    drawText(context, label(name, layout.rowRoom, chosen), left - 8, top + middle, {
      ...style(chosen, marked, theme.query),
      align: "right",
    });
  }
  for (let col = part.cols[0]; col < part.cols[1]; col++) {
    const middle = placeInBox((col + 0.5) * cell - x, boxWidth, chosenCols.includes(col));
    const [chosen, marked] = [col === active.key, Boolean(found?.keys?.[col])];
    if (middle === null || !colLabels.has(col)) continue;
    if (flat) {
      const name = (!chosenCols.includes(col) && colTimes?.get(col)) || shown.keys[col];
      drawText(context, label(name, colTimes ? TIME : cell - 4, chosen), left + middle, top - 11, {
        ...style(chosen, marked, theme.key),
        align: "center",
      });
      continue;
    }
    context.save();
    context.translate(left + middle, top - 8);
    context.rotate(-Math.PI / 4);
    drawText(context, label(shown.keys[col], layout.colRoom, chosen), 0, 0, style(chosen, marked, theme.key));
    context.restore();
  }
}
