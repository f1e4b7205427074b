// The drawing of the wall of heads: a sheet with every head, painted when it changes, and on it in each
// frame what is chosen, and a note beside the head under the pointer.

import { around, drawText, fitCanvas, pixelRatio, strokeBox, type TextStyle } from "../base/canvas.ts";
import { inkOn, labelColour, type Theme } from "../base/colour.ts";
import {
  ownNumbers,
  paintPlaceholder,
  thumbnailRamp,
  type KindHeads,
  type LayerHead,
  type Overview,
} from "../base/head_grid.ts";
import { ATTENTION_KINDS, type HeadPlace } from "../base/kinds.ts";
import { paintThumbnail } from "../base/pixels.ts";
import { formatWeight } from "../base/text.ts";
import { headNote, labelMark, scoreInDigits } from "./wall_heads.ts";
import { cellBox, hasText, type WallLayout, type WallSection as Section } from "./wall_layout.ts";
import type { Entry } from "./weight_store.ts";

export type WallEntry = Entry & KindHeads;
type Box = ReturnType<typeof cellBox>;

const FADED = 0.82; // how much of a head that a filter leaves out is covered
const NOTE_PICTURE = 96;

/**
 * All heads with their labels on an offscreen canvas, at the screen's pixels.
 *
 * @param entries with labels, entropies and scores
 * @param order what the heads are sorted by
 */
export function paintWall(
  layout: WallLayout,
  overviewOf: (kind: string) => Overview,
  entries: Map<string, WallEntry>,
  order: string,
  theme: Theme,
) {
  const ratio = pixelRatio() * theme.scale * theme.zoom;
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [Math.round(layout.width * ratio), Math.round(layout.height * ratio)];
  const context = sheet.getContext("2d")!;
  const image = context.createImageData(sheet.width, sheet.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (const section of layout.sections) {
    const entry = entries.get(section.kind)!;
    paintPictures(section, overviewOf(section.kind), entry, order, pixels, sheet, ratio, theme);
  }
  context.putImageData(image, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.direction = "ltr";
  for (const section of layout.sections) {
    const entry = entries.get(section.kind)!;
    writeTitle(context, section, entry, theme);
    section.cells.forEach(([layer, head], i) => {
      const box = cellBox(section, i);
      writeLabel(context, section, box, entry, order, [layer, head], theme);
      if (section.kept[layer * section.heads + head]) return;
      context.globalAlpha = FADED;
      context.fillStyle = theme.background;
      context.fillRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
      context.globalAlpha = 1;
    });
  }
  return sheet;
}

function paintPictures(
  section: Section,
  overview: Overview,
  entry: WallEntry,
  order: string,
  pixels: Uint32Array,
  sheet: HTMLCanvasElement,
  ratio: number,
  theme: Theme,
) {
  const ramp = thumbnailRamp(entry, theme);
  section.cells.forEach(([layer, head], i) => {
    const { x, y, width, height } = pictureBox(section, i, entry, order);
    const [left, top] = [Math.round(x * ratio), Math.round(y * ratio)];
    const box = {
      left,
      top,
      width: Math.min(sheet.width - left, Math.max(1, Math.round(width * ratio))),
      height: Math.min(sheet.height - top, Math.max(1, Math.round(height * ratio))),
    };
    const offset = (layer * section.heads + head) * overview.rows * overview.cols;
    paintThumbnail(overview, offset, entry.signed, pixels, sheet.width, box, ramp);
  });
}

/** The box of the i-th head's small picture: all of its cell where nothing is written beside it. */
export function pictureBox(section: Section, i: number, entry: WallEntry, order: string) {
  const cell = cellBox(section, i);
  const isSmaller = isLabelled(section, entry, order, section.cells[i]);
  return isSmaller ? { ...cell, width: section.size, height: section.tall } : cell;
}

/** Whether something may be written beside a head's picture; until its labels are here, perhaps. */
function isLabelled(section: Section, entry: WallEntry, order: string, [layer, head]: LayerHead) {
  const mayHave = entry.labels ? Boolean(entry.labels[layer][head]) : !entry.signed;
  const isWritten = !section.byLayer || scoreInDigits(entry, order, layer, head) !== "";
  return mayHave || (isWritten && hasText(section));
}

/** The title of a kind, what its rows and columns are, and their numbers. */
function writeTitle(context: CanvasRenderingContext2D, section: Section, entry: WallEntry, theme: Theme) {
  const { kind, x, left, top, cellWidth, cellHeight, size, tall, gap, byLayer, turned, cells, columns } =
    section;
  const title = ATTENTION_KINDS[kind].label;
  const y = top - 32;
  drawText(context, title, x, y, { font: `600 13px ${theme.family}`, colour: theme.text });
  const quiet: TextStyle = { font: `11px ${theme.family}`, colour: theme.muted };
  const told = byLayer
    ? turned
      ? "columns are layers, rows are heads"
      : "rows are layers, columns are heads"
    : cells.length
      ? "in order, layer·head"
      : "no head passes the filters";
  const range = entry.signed
    ? ` · ${[entry.least, entry.limit].map((end) => formatWeight(end!, entry.limit, entry.least)).join(" to ")}`
    : "";
  const after = theme.measure(title, 13, true) + 12;
  const beside = [`${told}${range}`, range.slice(3)].find(
    (text) => theme.measure(text, 11, false) + after < columns * cellWidth + left - x,
  );
  if (beside) drawText(context, beside, x + after, y, quiet);
  if (!byLayer) return;
  if (!beside?.startsWith(told) && Math.min(cellWidth, size) >= 40) {
    // The axes are named in the corner, above the rows' numbers and before the columns'.
    const axes = turned ? ["layer", "head"] : ["head", "layer"];
    const small = { ...quiet, font: `9.5px ${theme.family}` };
    for (const [i, name] of axes.entries()) drawText(context, name, x, top - 9 + 15 * i, small);
  }
  const every = (step: number, count: number, draw: (i: number) => void) => {
    for (let i = 0; i < count; i += step) draw(i);
  };
  const names = {
    layer: (i: number) => String(ownNumbers(entry, i, 0)[0]),
    head: (i: number) => String(ownNumbers(entry, 0, i)[1]),
  };
  const [down, along] = turned ? [names.head, names.layer] : [names.layer, names.head];
  every(Math.ceil(13 / cellHeight), section.rows, (row) =>
    drawText(context, down(row), left - 8, top + row * cellHeight + tall / 2, { ...quiet, align: "right" }),
  );
  every(Math.ceil(20 / cellWidth), columns, (column) =>
    drawText(context, along(column), left + column * cellWidth + (cellWidth - gap) / 2, top - 9, {
      ...quiet,
      align: "center",
    }),
  );
}

/** The label of a head in its colour beside its picture, with what it is sorted by; its name where it fits. */
function writeLabel(
  context: CanvasRenderingContext2D,
  section: Section,
  box: Box,
  entry: WallEntry,
  order: string,
  [layer, head]: [number, number],
  theme: Theme,
) {
  const { size, tall, byLayer, gap, labelHeight } = section;
  const name = entry.labels?.[layer][head]?.name;
  const label = labelHeight
    ? { x: box.x, y: box.y + size, width: size, height: labelHeight }
    : { x: box.x + size + 1, y: box.y, width: box.width - size - 1, height: box.height };
  const digits = [3, 2].map((most) => scoreInDigits(entry, order, layer, head, most));
  const fitting = digits.find((text) => theme.measure(text, 10.5, false) <= label.width - 4) ?? "";
  const fill = name ? labelColour(name, theme) : null;
  if (fill) {
    context.fillStyle = fill;
    context.fillRect(label.x, label.y, label.width, label.height);
  }
  const colour = fill ? inkOn(fill) : theme.muted;
  const lines = linesIn(label, name, fitting, byLayer ? "" : ownNumbers(entry, layer, head).join("·"), theme);
  const font = `${label.height < 12 ? 9.5 : 10.5}px ${theme.family}`;
  lines.forEach((text, i) => {
    const middle = label.y + label.height / 2 + (i - (lines.length - 1) / 2) * 12;
    drawText(context, text, label.x + label.width / 2, middle, { font, colour, align: "center" });
  });
  if (fill && gap >= 4) strokeBox(context, [box.x, box.y, size, tall], fill, 1);
}

/** What fits into a label: the head's place, its name or its mark, and digits, a line each. */
function linesIn(
  { width: outer, height }: Box,
  name: string | undefined,
  digits: string,
  place: string,
  theme: Theme,
) {
  const width = outer - 4;
  const measure = (text: string) => theme.measure(text, 10.5, false);
  const room = Math.floor((height + 2) / 12);
  if (room < 1 || width < 8) return [];
  const lines = place && measure(place) <= width ? [place] : [];
  if (digits && lines.length < room) lines.push(digits);
  if (!name || lines.length >= room) return lines.slice(0, room);
  const words = wrapped(name, width, measure);
  if (words && words.length + lines.length <= room) return [...words, ...lines];
  const mark = labelMark(name);
  return measure(mark) <= width ? [mark, ...lines] : lines;
}

/** A name in lines of a width, broken between words; null if a word is too wide. */
function wrapped(name: string, width: number, measure: (text: string) => number) {
  const lines: string[] = [];
  for (const word of name.split(/(?<=[\s-])/)) {
    const joined: string = `${lines.at(-1) ?? ""}${word}`;
    if (lines.length && measure(joined.trimEnd()) <= width) lines[lines.length - 1] = joined;
    else if (measure(word.trimEnd()) <= width) lines.push(word);
    else return null;
  }
  return lines.map((line) => line.trimEnd());
}

/** Draw the wall: the sheet, the chosen head, the selected ones, and a note beside the one pointed at. */
export function drawWall(
  canvas: HTMLCanvasElement,
  layout: WallLayout,
  sheet: HTMLCanvasElement,
  { chosen, selected, hovered }: { chosen: HeadPlace; selected: LayerHead[]; hovered: HeadPlace | null },
  overviewOf: (kind: string) => Overview,
  entries: Map<string, WallEntry>,
  theme: Theme,
) {
  const context = fitCanvas(canvas, layout.width, layout.height, theme.scale);
  context.drawImage(sheet, 0, 0, layout.width, layout.height);
  const mark = ({ kind, layer, head }: HeadPlace, colour: string, thickness: number) => {
    const section = layout.sections.find((one) => one.kind === kind)!;
    const slot = section.slots[layer * section.heads + head];
    if (slot < 0) return null;
    const box = cellBox(section, slot);
    const reach = section.gap > 2 ? thickness : 1;
    strokeBox(context, around([box.x, box.y, box.width, box.height], reach), colour, thickness);
    return box;
  };
  for (const [layer, head] of selected) mark({ kind: chosen.kind, layer, head }, theme.accent, 2);
  mark(chosen, theme.accent, 3);
  const box = hovered && mark(hovered, theme.text, 1.5);
  if (hovered && box)
    drawNote(context, box, layout, overviewOf(hovered.kind), entries.get(hovered.kind)!, hovered, theme);
}

/** A note beside a head: its picture, larger, and what is known of it. */
function drawNote(
  context: CanvasRenderingContext2D,
  box: Box,
  layout: WallLayout,
  overview: Overview,
  entry: WallEntry,
  at: HeadPlace,
  theme: Theme,
) {
  const lines = [...headNote(entry, at), "click to open"];
  const side = Math.min(NOTE_PICTURE, layout.height - 20);
  const text = Math.max(...lines.map((line) => theme.measure(line, 12, true)));
  const [width, height] = [side + text + 28, Math.max(side, 17 * lines.length) + 16];
  const x =
    box.x + box.width + 8 + width <= layout.width ? box.x + box.width + 8 : Math.max(0, box.x - width - 8);
  const y = Math.max(0, Math.min(layout.height - height, box.y + box.height / 2 - height / 2));
  context.fillStyle = theme.background;
  context.fillRect(x, y, width, height);
  strokeBox(context, [x, y, width, height], theme.muted, 1);
  context.imageSmoothingEnabled = false;
  const index = at.layer * entry.heads + at.head;
  const picture = paintPlaceholder(overview, index, entry.signed, theme);
  context.drawImage(picture, x + 8, y + 8, side, side);
  context.imageSmoothingEnabled = true;
  const name = entry.labels?.[at.layer][at.head]?.name;
  lines.forEach((line, i) => {
    const isName = name && i === 1;
    const behind = isName ? labelColour(name, theme) : undefined;
    const colour = behind ? inkOn(behind) : i === lines.length - 1 ? theme.muted : theme.text;
    const font = `${i === 0 ? 700 : 400} 12px ${theme.family}`;
    drawText(context, line, x + side + 18, y + 17 + 17 * i, { font, colour, behind });
  });
}
