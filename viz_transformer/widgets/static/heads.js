// The overview: a thumbnail of every head, rows = layers, columns = heads, a section per kind.

import { fitCanvas, outline, pixelRatio, write } from "./canvas.js";
import { paintMatrix } from "./weights.js";

export const KIND_NAMES = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};

const SECTION_WIDTH = 175; // as much as the longest title needs

/**
 * Where each section and thumbnail stands; sections are side by side where the width allows.
 * `kinds`: [{kind, layers, heads}].
 */
export function headsLayout(kinds, width, maxHeight) {
  const [margin, title, numbers, space] = [22, 24, 16, 14];
  const across = Math.max(1, Math.min(kinds.length, Math.floor(width / SECTION_WIDTH)));
  const lines = Array.from({ length: Math.ceil(kinds.length / across) }, (_, i) =>
    kinds.slice(i * across, (i + 1) * across));
  const most = Math.max(...kinds.map((entry) => entry.heads));
  const deepest = lines.map((line) => Math.max(...line.map((entry) => entry.layers)));
  const room = maxHeight - lines.length * (title + numbers + space);
  const slot = Math.floor(width / across);
  const fits = Math.max(15, room / deepest.reduce((sum, layers) => sum + layers));
  const pitch = Math.floor(Math.min((slot - margin - 4) / most, fits, across > 1 ? 40 : 58));
  const gap = pitch > 26 ? 5 : 2;
  const sections = [];
  let y = 0;
  lines.forEach((line, i) => {
    line.forEach((entry, j) => {
      const left = j * slot + margin;
      sections.push({ ...entry, x: j * slot, y, left, top: y + title + numbers });
    });
    y += title + numbers + deepest[i] * pitch + space;
  });
  const used = across > 1 ? width : Math.max(margin + most * pitch + 4, Math.min(width, SECTION_WIDTH));
  return { sections, margin, pitch, gap, size: pitch - gap, width: used, height: y - space + 4 };
}

/** The head under a point, as {kind, layer, head}, or null. */
export function headAt(layout, x, y) {
  const { pitch } = layout;
  for (const { kind, left, top, layers, heads } of layout.sections) {
    const [layer, head] = [Math.floor((y - top) / pitch), Math.floor((x - left) / pitch)];
    if (layer >= 0 && layer < layers && head >= 0 && head < heads) return { kind, layer, head };
  }
  return null;
}

/** The head that an arrow key moves to; layers of all sections follow one another. */
export function moveHead(kinds, { kind, layer, head }, key) {
  const rows = kinds.flatMap((entry) =>
    Array.from({ length: entry.layers }, (_, i) => ({ kind: entry.kind, layer: i, heads: entry.heads })),
  );
  const row = rows.findIndex((entry) => entry.kind === kind && entry.layer === layer);
  const step = { ArrowUp: -1, ArrowDown: 1 }[key] ?? 0;
  const to = rows[Math.min(rows.length - 1, Math.max(0, row + step))];
  const column = head + ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0);
  return { kind: to.kind, layer: to.layer, head: Math.min(to.heads - 1, Math.max(0, column)) };
}

/** All thumbnails on one canvas of their own, at the screen's pixels: drawn once a trace. */
export function paintThumbnails(entries, layout, theme) {
  const ratio = pixelRatio();
  const sheet = document.createElement("canvas");
  sheet.width = Math.round(layout.width * ratio);
  sheet.height = Math.round(layout.height * ratio);
  const context = sheet.getContext("2d");
  const image = context.createImageData(sheet.width, sheet.height);
  const pixels = new Uint32Array(image.data.buffer);
  const size = Math.max(1, Math.round(layout.size * ratio));
  for (const { kind, left, top, layers, heads } of layout.sections) {
    const { weights, rows, cols } = entries.get(kind);
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) {
        const offset = (layer * heads + head) * rows * cols;
        const x = Math.round((left + head * layout.pitch) * ratio);
        const y = Math.round((top + layer * layout.pitch) * ratio);
        paintMatrix(weights, offset, rows, cols, pixels, sheet.width, x, y, size, size, theme.ramp);
      }
    }
  }
  context.putImageData(image, 0, 0);
  return sheet;
}

/** Draw the overview with its selected head marked. */
export function drawHeads(canvas, layout, thumbnails, selected, hovered, theme) {
  const { margin, pitch, gap, size } = layout;
  const context = fitCanvas(canvas, layout.width, layout.height);
  context.drawImage(thumbnails, 0, 0, layout.width, layout.height);
  const step = Math.ceil(18 / pitch);
  for (const { kind, x, y, left, top, layers, heads } of layout.sections) {
    const current = kind === selected.kind;
    write(context, KIND_NAMES[kind], x, y + 10, {
      font: `600 13px ${theme.family}`,
      colour: theme.text,
    });
    const number = (value, across, down, chosen) =>
      write(context, String(value), across, down, {
        font: `${chosen ? 700 : 400} 11px ${theme.family}`,
        colour: chosen ? theme.accent : theme.muted,
        align: "center",
      });
    for (let layer = 0; layer < layers; layer += step) {
      number(layer, x + margin / 2 - 1, top + layer * pitch + size / 2, current && layer === selected.layer);
    }
    for (let head = 0; head < heads; head += step) {
      number(head, left + head * pitch + size / 2, top - 8, current && head === selected.head);
    }
  }
  const mark = ({ kind, layer, head }, colour, thickness) => {
    const { left, top } = layout.sections.find((section) => section.kind === kind);
    const reach = gap > 2 ? thickness : 1;
    outline(context, left + head * pitch - reach, top + layer * pitch - reach,
      size + 2 * reach, size + 2 * reach, colour, thickness);
  };
  if (hovered) mark(hovered, theme.muted, 1.5);
  mark(selected, theme.accent, gap > 2 ? 3 : 2);
}
