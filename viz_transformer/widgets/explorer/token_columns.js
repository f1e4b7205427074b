// Columns of words joined by lines: the queries and keys of one head, or all that is linked.

import { fitCanvas, strokeBox, drawText } from "../base/js/canvas.js";
import { colourOf, textColourOn, weightColour } from "../base/js/colour.js";
import { elide, formatWeight, visible } from "../base/js/text.js";

const GAPS = { 2: 0.22, 3: 0.32, 4: 0.38 }; // share of the width that is between the columns

/** Where the columns stand; `shown` of their `height` are in view, and the rest is scrolled to. */
export function wordsLayout({ counts, width, maxHeight }) {
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

/** The word under a point, as {column, index}; or null between the columns. */
export function wordAt({ counts, xs, pitch, column }, x, y) {
  const index = Math.floor(y / pitch);
  const at = xs.findIndex((left) => x >= left - 6 && x <= left + column + 6);
  return at >= 0 && index >= 0 && index < counts[at] ? { column: at, index } : null;
}

/** The words in view, as [first, last + 1] of `count`, when `top` pixels are scrolled away. */
export function wordsInView({ pitch, shown }, top, count) {
  return [Math.min(count, Math.floor(top / pitch)), Math.min(count, Math.ceil((top + shown) / pitch))];
}

/** Whether a line from one word to another crosses the part in view: it never leaves their rows. */
export function lineInView({ pitch, shown }, top, row, col) {
  const [first, last] = [Math.min(row, col), Math.max(row, col)];
  return first * pitch < top + shown && (last + 1) * pitch > top;
}

/**
 * Draw the words and their lines, as far as they are in view: `top` pixels are scrolled away.
 * So a redraw takes no longer for a long text than for what of it is seen.
 *
 * `names` are the words of each column, `links` what joins them and `paths` what lights up (see
 * paths.js); `active` and `pinned` list places {column, index}; `found` are the marked words.
 */
export function drawWords(
  canvas,
  layout,
  top,
  { names, links, paths, active, pinned, found, limit: scaled },
  theme,
) {
  const { pitch, column, gap, xs } = layout;
  const context = fitCanvas(canvas, layout.width, layout.shown, theme.scale);
  context.translate(0, -top);
  const middle = (index) => (index + 0.5) * pitch;
  const isIn = (places, at, index) => places.some((one) => one.column === at && one.index === index);
  const signs = [0.12, 0.85].map((place) => `rgb(${colourOf(place, theme.signedStops)})`);
  links.forEach(({ flip }, at) => {
    const lines = paths.lines[at];
    if (!lines) return;
    const [from, to] = [xs[at] + column + 4, xs[at + 1] - 4];
    const both = active.length > 1 && active.every((one) => one.column === at || one.column === at + 1);
    for (let i = 0; i < lines.count; i++) {
      const [left, right] = flip ? [lines.col[i], lines.row[i]] : [lines.row[i], lines.col[i]];
      if (!lineInView(layout, top, left, right)) continue;
      const strength = Math.min(1, Math.abs(lines.value[i]));
      const faded = both && !(isIn(active, at, left) && isIn(active, at + 1, right));
      context.strokeStyle = scaled === null ? theme.line : signs[lines.value[i] < 0 ? 0 : 1];
      context.globalAlpha = strength * (faded ? 0.35 : 1);
      context.lineWidth = 1 + 4 * strength;
      context.beginPath();
      context.moveTo(from, middle(left));
      context.bezierCurveTo(
        from + gap * 0.45,
        middle(left),
        to - gap * 0.45,
        middle(right),
        to,
        middle(right),
      );
      context.stroke();
    }
  });
  context.globalAlpha = 1;

  const font = pitch >= 32 ? 15 : pitch >= 24 ? 14 : 12;
  const last = names.length - 1;
  names.forEach((tokens, at) => {
    const reach = active[0]?.column === at ? null : paths.reach[at];
    // A difference reaches one step far, and each kind has its own scale.
    const limit = reach && scaled !== null ? links[Math.min(at, active[0].column)].shown.limit : null;
    const numberLeft = at === 0; // a weight stands at the box's outer side
    const [start, end] = wordsInView(layout, top, tokens.length);
    for (let index = start; index < end; index++) {
      const [x, y] = [xs[at], index * pitch + 1];
      const [chosen, isPinned] = [isIn(active, at, index), isIn(pinned, at, index)];
      const weight = reach?.[index];
      const rgb = reach && weightColour(weight, limit, theme);
      if (rgb) {
        context.fillStyle = `rgb(${rgb})`;
        context.fillRect(x, y, column, pitch - 2);
      }
      const bold = chosen || isPinned;
      if (bold) strokeBox(context, x, y, column, pitch - 2, theme.accent, isPinned ? 3 : 1.5);
      const told = reach && Math.abs(weight) >= 0.005;
      const room = column - (told ? 44 : 14);
      const text = elide(visible(tokens[index]), room, (part) => theme.measure(part, font, bold));
      const colour = rgb ? textColourOn(rgb) : theme.text;
      const centred = at > 0 && at < last && !reach;
      const place = centred ? x + column / 2 : numberLeft ? x + column - 7 : x + 7;
      drawText(context, text, place, middle(index), {
        font: `${bold ? 700 : 400} ${font}px ${theme.family}`,
        colour,
        align: centred ? "center" : numberLeft ? "right" : "left",
        marked: found?.[at]?.[index] && (rgb ? colour : theme.accent),
      });
      if (!told) continue;
      drawText(context, formatWeight(weight, limit), numberLeft ? x + 7 : x + column - 7, middle(index), {
        font: `12px ${theme.family}`,
        colour,
        align: numberLeft ? "left" : "right",
      });
    }
  });
}
