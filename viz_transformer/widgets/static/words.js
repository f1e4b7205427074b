// Queries and keys as two columns of words, joined by lines that are as strong as the weights.

import { fitCanvas, outline, write } from "./canvas.js";
import { colourOf, inkOn } from "./colour.js";
import { elide, twoDecimals, visible } from "./text.js";

const FAINTEST = 0.02; // lines below this weight are left out: they are invisible, and there are many

/** Where the two columns stand; `shown` of their `height` are in view, and the rest is scrolled to. */
export function wordsLayout({ rows, cols, width, maxHeight }) {
  const most = Math.max(rows, cols);
  const pitch = Math.max(16, Math.min(40, Math.floor(maxHeight / most)));
  const column = Math.floor((width - Math.max(50, width * 0.22)) / 2);
  return {
    rows, cols, pitch, column, width,
    height: most * pitch,
    shown: Math.min(most * pitch, maxHeight),
    queryRight: column,
    keyLeft: width - column,
  };
}

/** The word under a point: {query} or {key}, the other null; or null between the columns. */
export function wordAt({ rows, cols, pitch, queryRight, keyLeft }, x, y) {
  const index = Math.floor(y / pitch);
  if (index < 0) return null;
  if (x <= queryRight + 6 && index < rows) return { query: index, key: null };
  if (x >= keyLeft - 6 && index < cols) return { query: null, key: index };
  return null;
}

/** The lines to draw, as [query, key, weight]: of a query, else of a key, else of all. */
export function linesFor({ weights, rows, cols }, offset, { query, key }) {
  const lines = [];
  const least = query === null && key === null ? FAINTEST : 0.005;
  const [rowFrom, rowTo] = query === null ? [0, rows] : [query, query + 1];
  const [colFrom, colTo] = query === null && key !== null ? [key, key + 1] : [0, cols];
  for (let row = rowFrom; row < rowTo; row++) {
    for (let col = colFrom; col < colTo; col++) {
      const weight = weights[offset + row * cols + col];
      if (weight >= least) lines.push([row, col, weight]);
    }
  }
  return lines;
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
 */
export function drawWords(canvas, layout, top, entry, offset, { active, pinned }, theme, measure) {
  const { pitch, column, queryRight, keyLeft, rows, cols } = layout;
  const context = fitCanvas(canvas, layout.width, layout.shown);
  context.translate(0, -top);
  const middle = (index) => (index + 0.5) * pitch;
  const bend = (keyLeft - queryRight) * 0.45;
  context.strokeStyle = theme.line;
  for (const [row, col, weight] of linesFor(entry, offset, active)) {
    if (!lineInView(layout, top, row, col)) continue;
    const faded = active.query !== null && active.key !== null && col !== active.key;
    context.globalAlpha = Math.min(1, weight) * (faded ? 0.35 : 1);
    context.lineWidth = 1 + 4 * Math.min(1, weight);
    context.beginPath();
    context.moveTo(queryRight + 4, middle(row));
    context.bezierCurveTo(queryRight + bend, middle(row), keyLeft - bend, middle(col), keyLeft - 4, middle(col));
    context.stroke();
  }
  context.globalAlpha = 1;

  const font = pitch >= 32 ? 15 : pitch >= 24 ? 14 : 12;
  const word = (token, index, atLeft, weight, chosen, isPinned) => {
    const x = atLeft ? queryRight - column : keyLeft;
    const rgb = weight === null ? null : colourOf(weight, theme.stops);
    if (rgb) {
      context.fillStyle = `rgb(${rgb})`;
      context.fillRect(x, index * pitch + 1, column, pitch - 2);
    }
    if (chosen || isPinned) {
      outline(context, x, index * pitch + 1, column, pitch - 2, theme.accent, isPinned ? 3 : 1.5);
    }
    const bold = chosen || isPinned;
    const told = weight !== null && weight >= 0.005; // its weight stands at the box's outer side
    const room = column - (told ? 44 : 14);
    const text = elide(visible(token), room, (part) => measure(part, font, bold));
    const colour = rgb ? inkOn(rgb) : theme.text;
    write(context, text, atLeft ? queryRight - 7 : keyLeft + 7, middle(index), {
      font: `${bold ? 700 : 400} ${font}px ${theme.family}`,
      colour,
      align: atLeft ? "right" : "left",
    });
    if (told) {
      write(context, twoDecimals(weight), atLeft ? x + 7 : x + column - 7, middle(index), {
        font: `12px ${theme.family}`, colour, align: atLeft ? "left" : "right",
      });
    }
  };
  const fromKeys = active.query === null && active.key !== null;
  const [firstRow, endRow] = wordsInView(layout, top, rows);
  for (let row = firstRow; row < endRow; row++) {
    const weight = fromKeys ? entry.weights[offset + row * cols + active.key] : null;
    word(entry.queries[row], row, true, weight, row === active.query, row === pinned.query);
  }
  const [firstCol, endCol] = wordsInView(layout, top, cols);
  for (let col = firstCol; col < endCol; col++) {
    const weight = active.query === null ? null : entry.weights[offset + active.query * cols + col];
    word(entry.keys[col], col, false, weight, col === active.key, col === pinned.key);
  }
}
