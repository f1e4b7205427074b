// The head grid: a thumbnail of every head, a section per kind; rows are layers and columns heads,
// or all heads one after another, sorted.

import { inkOn, labelColour, type Theme } from "./colour.ts";
import { around, drawText, fitCanvas, paintPixels, pixelRatio, strokeBox, type TextStyle } from "./canvas.ts";
import { ATTENTION_KINDS, type HeadPlace } from "./kinds.ts";
import { paintThumbnail } from "./pixels.ts";

const SECTION_WIDTH = 175; // as much as the longest title needs
const BETWEEN = 40; // from one section to the next
const BESIDE = 2.3; // times a title's width that a section has, if the title stands beside it

export type LayerHead = [number, number];

/** Thumbnails of all heads of a kind. */
export interface Overview {
  values: Uint8Array;
  rows: number;
  cols: number;
}

/** The heads of one kind. */
export interface KindHeads {
  kind: string;
  layers: number;
  /** In a layer. */
  heads: number;
  /** The heads in their order; null for layer and head. */
  slots?: LayerHead[] | null;
  /** Whether the weights are differences. */
  signed?: boolean;
  /** Of the differences. */
  limit?: number | null;
  labels?: ({ name: string; evidence: number; sentence?: string } | null)[][] | null;
  entropies?: Float32Array | null;
  /** The model's own, where a part was kept. */
  numbers?: { layers: number[]; heads: number[] } | null;
  /** The viewer's own, [layer · head] each. */
  scores?: Record<string, Float32Array>;
  /** In place of the kind's own. */
  title?: string;
}

type Section = KindHeads & { x: number; y: number; left: number; top: number };

export interface HeadGridLayout {
  sections: Section[];
  margin: number;
  /** From one thumbnail to the next. */
  pitch: number;
  gap: number;
  /** Of a thumbnail. */
  size: number;
  width: number;
  height: number;
}

/**
 * Where each section and thumbnail stands; sections are side by side where the width allows.
 *
 * @param narrowest a section
 * @param titleWidth of the widest title, which then stands beside its section if there is room
 */
export function headGridLayout(
  kinds: KindHeads[],
  width: number,
  maxHeight: number,
  narrowest = SECTION_WIDTH,
  titleWidth = 0,
): HeadGridLayout {
  const [margin, numbers, space] = [22, 16, 14];
  const isBeside = titleWidth > 0 && width / kinds.length >= BESIDE * titleWidth;
  const [title, indent] = isBeside ? [2, titleWidth] : [24, 0];
  const across = Math.max(1, Math.min(kinds.length, Math.floor(width / narrowest)));
  const lines = Array.from({ length: Math.ceil(kinds.length / across) }, (_, i) =>
    kinds.slice(i * across, (i + 1) * across),
  );
  const most = Math.max(...kinds.map((entry) => entry.heads));
  const deepest = lines.map((line) => Math.max(...line.map((entry) => entry.layers)));
  const room = maxHeight - lines.length * (title + numbers + space);
  const widest = Math.floor(width / across);
  const fits = Math.max(9, room / deepest.reduce((sum, layers) => sum + layers));
  const pitch = Math.floor(Math.min((widest - indent - margin - 4) / most, fits, across > 1 ? 40 : 58));
  const slot = Math.min(widest, Math.max(narrowest, indent + margin + most * pitch + BETWEEN));
  const gap = pitch > 26 ? 5 : 2;
  const sections: Section[] = [];
  let y = 0;
  lines.forEach((line, i) => {
    line.forEach((entry, j) => {
      const left = j * slot + indent + margin;
      sections.push({ ...entry, x: j * slot, y, left, top: y + title + numbers });
    });
    y += title + numbers + deepest[i] * pitch + space;
  });
  const used =
    across > 1 ? across * slot : Math.max(indent + margin + most * pitch + 4, Math.min(width, narrowest));
  return { sections, margin, pitch, gap, size: pitch - gap, width: used, height: y - space + 4 };
}

/**
 * A kind's heads in order: by "layer", "entropy" (lowest first), "label", or the name of a score
 * (highest first; heads without one come last).
 */
export function sortedHeads(
  {
    layers,
    heads,
    entropies,
    labels,
    scores,
  }: Pick<KindHeads, "layers" | "heads" | "entropies" | "labels" | "scores">,
  order: string,
): LayerHead[] {
  const slots = Array.from({ length: layers * heads }, (_, i) => layerHead(i, heads));
  if (order === "entropy" && entropies) {
    slots.sort((a, b) => entropies[a[0] * heads + a[1]] - entropies[b[0] * heads + b[1]]);
  }
  if (scores?.[order]) {
    const score = ([layer, head]: LayerHead) => {
      const value = scores[order][layer * heads + head];
      return Number.isNaN(value) ? -Infinity : value;
    };
    slots.sort((a, b) => (score(a) === score(b) ? 0 : score(b) - score(a)));
  }
  if (order === "label" && labels) {
    const name = ([layer, head]: LayerHead) => labels[layer][head]?.name ?? "\uffff"; // those without come last
    const evidence = ([layer, head]: LayerHead) => labels[layer][head]?.evidence ?? 0;
    slots.sort((a, b) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : evidence(b) - evidence(a)));
  }
  return slots;
}

function layerHead(i: number, heads: number): LayerHead {
  return [Math.floor(i / heads), i % heads];
}

/** The model's own numbers of a head, which are not its indices where only a part of a model was kept. */
export function ownNumbers({ numbers }: Pick<KindHeads, "numbers">, layer: number, head: number): LayerHead {
  return [numbers?.layers[layer] ?? layer, numbers?.heads[head] ?? head];
}

/** The head under a point, as {kind, layer, head}, or null. */
export function headAt(layout: HeadGridLayout, x: number, y: number) {
  const { pitch } = layout;
  for (const { kind, left, top, layers, heads, slots } of layout.sections) {
    const [row, column] = [Math.floor((y - top) / pitch), Math.floor((x - left) / pitch)];
    if (row < 0 || row >= layers || column < 0 || column >= heads) continue;
    const [layer, head] = slots ? slots[row * heads + column] : [row, column];
    return { kind, layer, head };
  }
  return null;
}

/** The head that an arrow key moves to; rows of all sections follow one another. */
export function moveHead(
  kinds: readonly Pick<KindHeads, "kind" | "layers" | "heads" | "slots">[],
  { kind, layer, head }: HeadPlace,
  key: string,
) {
  const rows = kinds.flatMap((entry) => Array.from({ length: entry.layers }, (_, row) => ({ entry, row })));
  const own = kinds.find((entry) => entry.kind === kind)!;
  const slot = slotOf(own, layer, head);
  const row = rows.findIndex((one) => one.entry === own && one.row === Math.floor(slot / own.heads));
  const step = ({ ArrowUp: -1, ArrowDown: 1 } as Record<string, number>)[key] ?? 0;
  const to = rows[Math.min(rows.length - 1, Math.max(0, row + step))];
  const column =
    (slot % own.heads) + (({ ArrowLeft: -1, ArrowRight: 1 } as Record<string, number>)[key] ?? 0);
  const { heads, slots } = to.entry;
  const inside = Math.min(heads - 1, Math.max(0, column));
  const [toLayer, toHead] = slots ? slots[to.row * heads + inside] : [to.row, inside];
  return { kind: to.entry.kind, layer: toLayer, head: toHead };
}

function slotOf({ heads, slots }: Pick<KindHeads, "heads" | "slots">, layer: number, head: number) {
  return slots ? slots.findIndex(([one, other]) => one === layer && other === head) : layer * heads + head;
}

/** All thumbnails with their names on an offscreen canvas, at the screen's pixels: painted once a trace. */
export function paintThumbnails(
  overviewOf: (kind: string) => Overview,
  layout: HeadGridLayout,
  theme: Theme,
) {
  const ratio = pixelRatio() * theme.scale * theme.zoom;
  const sheet = document.createElement("canvas");
  // A view that is hidden has no room.
  sheet.width = Math.max(1, Math.round(layout.width * ratio));
  sheet.height = Math.max(1, Math.round(layout.height * ratio));
  const context = sheet.getContext("2d")!;
  const image = context.createImageData(sheet.width, sheet.height);
  const pixels = new Uint32Array(image.data.buffer);
  const size = Math.max(1, Math.round(layout.size * ratio));
  for (const section of layout.sections) {
    const { kind, left, top, layers, heads, signed } = section;
    const overview = overviewOf(kind);
    const ramp = thumbnailRamp(section, theme);
    for (let index = 0; index < layers * heads; index++) {
      const slot = slotOf(section, Math.floor(index / heads), index % heads);
      const box = {
        left: Math.round((left + (slot % heads) * layout.pitch) * ratio),
        top: Math.round((top + Math.floor(slot / heads) * layout.pitch) * ratio),
        width: size,
        height: size,
      };
      const offset = index * overview.rows * overview.cols;
      paintThumbnail(overview, offset, signed, pixels, sheet.width, box, ramp);
    }
  }
  context.putImageData(image, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.direction = "ltr";
  for (const section of layout.sections) writeNames(context, layout, section, theme);
  return sheet;
}

/** The names of a section, of its layers and heads, and the labels of its thumbnails. */
function writeNames(
  context: CanvasRenderingContext2D,
  { pitch, size }: HeadGridLayout,
  section: Section,
  theme: Theme,
) {
  const { kind, x, y, left, top, layers, heads, slots, labels } = section;
  const isBeside = top - y < 24; // no room above the numbers of its heads
  drawText(context, section.title ?? ATTENTION_KINDS[kind].label, x, isBeside ? top + size / 2 : y + 10, {
    font: `600 13px ${theme.family}`,
    colour: theme.text,
  });
  const quiet: TextStyle = { font: `12px ${theme.family}`, colour: theme.muted };
  if (slots) drawText(context, "in order, layer·head", left, top - 8, quiet);
  for (const { text, place } of numbersOf(section, pitch, size))
    drawText(context, text, ...place, { ...quiet, align: "center" });
  for (let slot = 0; slot < layers * heads; slot++) {
    const [layer, head] = slots ? slots[slot] : layerHead(slot, heads);
    const [across, down] = [left + (slot % heads) * pitch, top + Math.floor(slot / heads) * pitch];
    const patch = { font: `600 10px ${theme.family}`, colour: theme.text, behind: theme.background };
    if (slots && size >= 30)
      drawText(context, ownNumbers(section, layer, head).join("·"), across + 4, down + size - 7, patch);
    const name = labels?.[layer][head]?.name;
    if (!name) continue;
    const behind = labelColour(name, theme);
    const own = { ...patch, behind, colour: inkOn(behind) };
    if (size >= 22)
      drawText(context, name[0].toUpperCase(), across + size - 5, down + 7, { ...own, align: "center" });
    else dot(context, across + size - 3, down + 3, behind, theme);
  }
}

/** The numbers of layers and heads beside a section in the order of layers. */
function numbersOf(
  { left, top, layers, heads, slots, numbers }: Section,
  pitch: number,
  size: number,
): { layer?: number; head?: number; text: string; place: [number, number] }[] {
  if (slots) return [];
  const step = Math.ceil(18 / pitch); // so that neighbours do not touch
  const every = (count: number) => Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
  const besideLayer = (layer: number) => ({
    layer,
    text: String(ownNumbers({ numbers }, layer, 0)[0]),
    place: [left - 12, top + layer * pitch + size / 2] as [number, number],
  });
  const aboveHead = (head: number) => ({
    head,
    text: String(ownNumbers({ numbers }, 0, head)[1]),
    place: [left + head * pitch + size / 2, top - 8] as [number, number],
  });
  return [...every(layers).map(besideLayer), ...every(heads).map(aboveHead)];
}

/** One head's thumbnail, as large as it is sent, in place of weights that are not here yet. */
export function paintPlaceholder(
  { values, rows, cols }: Overview,
  index: number,
  signed: boolean | undefined,
  theme: Theme,
) {
  const sheet = document.createElement("canvas");
  const ramp = thumbnailRamp({ signed }, theme);
  paintPixels(sheet, cols, rows, (cell) => ramp[values[index * rows * cols + cell]]);
  return sheet;
}

/** The ramp of a kind's thumbnails, whose bytes are shares of 1 or of the scale of differences. */
export function thumbnailRamp({ signed }: { signed?: boolean }, theme: Theme) {
  return signed ? theme.signedRamp : theme.ramp;
}

/**
 * Draw the head grid: `chosen` is the head that is shown large, {kind, layer, head}; `shown` lists
 * the heads of its kind that are combined; `others` the chosen heads of linked kinds.
 */
export function drawHeadGrid(
  canvas: HTMLCanvasElement,
  layout: HeadGridLayout,
  thumbnails: HTMLCanvasElement,
  {
    chosen,
    shown,
    others,
    hovered,
  }: {
    chosen: HeadPlace;
    shown: number[][];
    hovered: HeadPlace | null;
    others: HeadPlace[];
  },
  theme: Theme,
) {
  const { pitch, gap, size } = layout;
  const context = fitCanvas(canvas, layout.width, layout.height, theme.scale);
  context.drawImage(thumbnails, 0, 0, layout.width, layout.height);
  const current = layout.sections.find((section) => section.kind === chosen.kind);
  for (const { layer, head, text, place } of current ? numbersOf(current, pitch, size) : []) {
    if (layer !== chosen.layer && head !== chosen.head) continue;
    drawText(context, text, ...place, {
      font: `700 12px ${theme.family}`,
      colour: theme.accent,
      align: "center",
      behind: theme.background,
    });
  }
  const mark = ({ kind, layer, head }: HeadPlace, colour: string, thickness: number) => {
    const section = layout.sections.find((one) => one.kind === kind)!;
    const slot = slotOf(section, layer, head);
    const reach = gap > 2 ? thickness : 1;
    const [row, column] = [Math.floor(slot / section.heads), slot % section.heads];
    const box = [section.left + column * pitch, section.top + row * pitch, size, size] as const;
    strokeBox(context, around(box, reach), colour, thickness);
  };
  const strong = gap > 2 ? 3 : 2;
  for (const [layer, head] of shown) mark({ kind: chosen.kind, layer, head }, theme.accent, strong);
  for (const other of others) mark(other, theme.accent, strong);
  if (!shown.some(([layer, head]) => layer === chosen.layer && head === chosen.head))
    mark(chosen, theme.text, 1.5);
  if (hovered) mark(hovered, theme.muted, 1.5);
}

function dot(context: CanvasRenderingContext2D, x: number, y: number, own: string, theme: Theme) {
  for (const [radius, colour] of [
    [4, theme.background],
    [3, own],
  ] as const) {
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fill();
  }
}
