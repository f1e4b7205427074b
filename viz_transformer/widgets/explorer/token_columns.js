// Columns of tokens joined by lines: the queries and keys of one head, or of all kinds, linked.

import { fitCanvas, strokeBox, drawText } from "../base/js/canvas.js";
import { colourOf, textColourOn, weightColour } from "../base/js/colour.js";
import { elide, isUnchanged, visible, weightDigits } from "../base/js/text.js";

const GAPS = { 2: 0.22, 3: 0.32, 4: 0.38 }; // share of the width that is between the columns

/** Where the columns stand; `shown` of their `height` are in view, and the rest is scrolled to. */
export function columnsLayout({ counts, width, maxHeight }) {
  const most = Math.max(...counts);
  const pitch = Math.max(16, Math.min(40, Math.floor(maxHeight / most)));
  const gap = Math.max(44, (width * GAPS[counts.length]) / (counts.length - 1));
  const column = Math.floor((width - gap * (counts.length - 1)) / counts.length);
  return {
    counts,
    pitch,
    column,
    gap,
    width,
    xs: counts.map((_, i) => Math.round(i * (column + gap))),
    height: most * pitch,
    shown: Math.min(most * pitch, maxHeight),
  };
}

/** The token under a point, as {column, index}; or null between the columns. */
export function tokenAt({ counts, xs, pitch, column }, x, y) {
  const index = Math.floor(y / pitch);
  const at = xs.findIndex((left) => x >= left - 6 && x <= left + column + 6);
  return at >= 0 && index >= 0 && index < counts[at] ? { column: at, index } : null;
}

/** The tokens in view, as [first, last + 1] of `count`, when `top` pixels are scrolled away. */
export function tokensInView({ pitch, shown }, top, count) {
  return [Math.min(count, Math.floor(top / pitch)), Math.min(count, Math.ceil((top + shown) / pitch))];
}

/** Whether a line from one word to another crosses the part in view: it never leaves their rows. */
export function lineInView({ pitch, shown }, top, row, col) {
  const [first, last] = [Math.min(row, col), Math.max(row, col)];
  return first * pitch < top + shown && (last + 1) * pitch > top;
}

/**
 * @typedef {object} ColumnMarks
 * @property {string[][]} names the tokens of each column
 * @property {{shown: import("./displayed_head.js").DisplayedHead, flip: boolean}[]} links what joins them
 * @property {ReturnType<typeof import("./attention_paths.js").pathsOf>} paths the lines that light up
 * @property {Place[]} active
 * @property {Place[]} pinned
 * @property {(Uint8Array | null)[]} found 1 for a token that is searched for
 * @property {number | null} limit of the differences; null for weights
 *
 * @typedef {{column: number, index: number}} Place
 */

/**
 * Draw the tokens and their lines, as far as they are in view: `top` pixels are scrolled away. So a
 * redraw takes no longer for a long text than for the part that is seen.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {ReturnType<typeof columnsLayout>} layout
 * @param {number} top
 * @param {ColumnMarks} marks
 * @param {import("../base/js/colour.js").Theme} theme
 */
export function drawColumns(canvas, layout, top, marks, theme) {
  const context = fitCanvas(canvas, layout.width, layout.shown, theme.scale);
  context.translate(0, -top);
  marks.links.forEach((_, at) => {
    drawLines(context, layout, top, at, marks, theme);
  });
  context.globalAlpha = 1;
  marks.names.forEach((_, at) => {
    drawColumn(context, layout, top, at, marks, theme);
  });
}

const hasPlace = (places, at, index) => places.some((one) => one.column === at && one.index === index);

/** The lines from column `at` to the next. */
function drawLines(context, layout, top, at, { links, paths, active, limit }, theme) {
  const lines = paths.lines[at];
  if (!lines) return;
  const { pitch, column, gap, xs } = layout;
  const middle = (index) => (index + 0.5) * pitch;
  const signs = [0.12, 0.85].map((place) => `rgb(${colourOf(place, theme.signedStops)})`);
  const [from, to] = [xs[at] + column + 4, xs[at + 1] - 4];
  const both = active.length > 1 && active.every((one) => one.column === at || one.column === at + 1);
  for (let i = 0; i < lines.count; i++) {
    const [left, right] = links[at].flip ? [lines.col[i], lines.row[i]] : [lines.row[i], lines.col[i]];
    if (!lineInView(layout, top, left, right)) continue;
    const strength = Math.min(1, Math.abs(lines.value[i]));
    const faded = both && !(hasPlace(active, at, left) && hasPlace(active, at + 1, right));
    context.strokeStyle = limit === null ? theme.line : signs[lines.value[i] < 0 ? 0 : 1];
    context.globalAlpha = strength * (faded ? 0.35 : 1);
    context.lineWidth = 1 + 4 * strength;
    context.beginPath();
    context.moveTo(from, middle(left));
    const [bend, endBend] = [from + gap * 0.45, to - gap * 0.45];
    context.bezierCurveTo(bend, middle(left), endBend, middle(right), to, middle(right));
    context.stroke();
  }
}

/** The tokens of column `at`, each with how strongly paths reach it. */
function drawColumn(context, layout, top, at, { names, links, paths, active, pinned, found, limit }, theme) {
  const { pitch, column, xs } = layout;
  const font = pitch >= 32 ? 15 : pitch >= 24 ? 14 : 12;
  const reach = active[0]?.column === at ? null : paths.reach[at];
  // A difference reaches one step far, and each kind has its own scale.
  const { limit: scale, entry } =
    reach && limit !== null ? links[Math.min(at, active[0].column)].shown : { limit: null, entry: null };
  const numberLeft = at === 0; // a weight stands at the box's outer side
  const centred = at > 0 && at < names.length - 1 && !reach;
  const [start, end] = tokensInView(layout, top, names[at].length);
  for (let index = start; index < end; index++) {
    const [x, y, middle] = [xs[at], index * pitch + 1, (index + 0.5) * pitch];
    const [isActive, isPinned] = [hasPlace(active, at, index), hasPlace(pinned, at, index)];
    const weight = reach?.[index];
    const rgb = reach && weightColour(weight, scale, theme);
    if (rgb) {
      context.fillStyle = `rgb(${rgb})`;
      context.fillRect(x, y, column, pitch - 2);
    }
    const bold = isActive || isPinned;
    if (bold) strokeBox(context, x, y, column, pitch - 2, theme.accent, isPinned ? 3 : 1.5);
    const hasNumber = reach && (scale === null ? Math.abs(weight) >= 0.005 : !isUnchanged(weight, scale));
    const digits = hasNumber ? weightDigits(weight, scale, entry?.least) : "";
    const word = visible(names[at][index]);
    const sizes = [font, font - 2, Math.max(10, font - 4)]; // rather small than cut
    const beside = column - 14 - (digits && theme.measure(digits, 12, false) + 8);
    const isOver = digits && pitch >= 32 && theme.measure(word, sizes[2], bold) > beside; // rather over its number
    const room = isOver ? column - 14 : beside;
    const size =
      sizes.slice(isOver ? 1 : 0).find((each) => theme.measure(word, each, bold) <= room) ?? sizes[2];
    const text = elide(word, room, (part) => theme.measure(part, size, bold));
    const colour = rgb ? textColourOn(rgb) : theme.text;
    const textX = centred ? x + column / 2 : numberLeft ? x + column - 7 : x + 7;
    drawText(context, text, textX, isOver ? middle - 7 : middle, {
      font: `${bold ? 700 : 400} ${size}px ${theme.family}`,
      colour,
      align: centred ? "center" : numberLeft ? "right" : "left",
      marked: found[at]?.[index] && (rgb ? colour : theme.accent),
    });
    if (!hasNumber) continue;
    drawText(context, digits, numberLeft ? x + 7 : x + column - 7, isOver ? middle + 8 : middle, {
      font: `12px ${theme.family}`,
      colour,
      align: numberLeft ? "left" : "right",
    });
  }
}
