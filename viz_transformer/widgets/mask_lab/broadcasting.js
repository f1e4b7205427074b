// A picture of broadcasting: each mask as a stack of sheets, stretched along its axes of length 1.

import { fitCanvas, strokeBox, drawText } from "../base/js/canvas.js";
import { focusableCanvas } from "../base/js/controls.js";

const STEP = 9; // pixels from one sheet of the stack to the next
const MOST_SHEETS = 4;

/** @import { ComposedMask } from "./composition.js" */

/**
 * @typedef {object} Box one mask of the picture
 * @property {string} name
 * @property {string} shape
 * @property {string} note how it is stretched or made, in words
 * @property {{sheets: number, rows: number}} own what of it is not stretched
 * @property {(b: number, q: number, k: number) => boolean} at
 */

/**
 * The boxes to draw: the parts and the mask that they make.
 *
 * @param {ComposedMask} composed
 * @param {string} polarity
 * @returns {Box[]}
 */
export function shapeBoxes({ sentences: B, queries: Q, keys: K, parts, may, inverted, painted }, polarity) {
  const names = { padding: "padding", causal: "look-ahead", causal_as_padding: "look-ahead, as padding" };
  const boxes = parts.map((part) => {
    const [overBatch, , overQuery] = part.shape.map((size) => size === 1);
    const axes = [overBatch && "sentences", overQuery && "queries"].filter(Boolean);
    const torchs =
      part.name === "causal" ? `attn_mask [${Q}, ${K}]` : `key_padding_mask [${part.shape[0]}, ${K}]`;
    return {
      name: names[part.name],
      shape: polarity === "may_not" ? torchs : `[${part.shape.join(", ")}]`,
      note: axes.length ? `the same for all ${axes.join(" and ")}` : "",
      own: { sheets: overBatch ? 1 : B, rows: overQuery ? 1 : Q },
      at: part.at,
    };
  });
  const steps = [
    parts.length > 1 && "joined by &",
    inverted && "inverted by ~",
    painted.length > 0 && "painted",
  ];
  boxes.push({
    name: "mask",
    shape: `[${B}, 1, ${Q}, ${K}]`,
    note: steps.filter(Boolean).join(", "),
    own: { sheets: B, rows: Q },
    at: (b, q, k) => may[b][q][k],
  });
  return boxes;
}

/**
 * The sizes of cells and boxes.
 *
 * @param {{sentences: number, queries: number, keys: number}} size
 * @param {number} count of boxes
 * @param {number} width of all
 */
export function shapesLayout({ sentences, queries, keys }, count, width) {
  const sheets = Math.min(sentences, MOST_SHEETS);
  const gap = 34;
  const room = (width - gap * (count - 1)) / count;
  const cell = Math.max(
    4,
    Math.min(15, Math.floor((room - STEP * (sheets - 1)) / keys), Math.floor(150 / queries)),
  );
  const box = Math.max(cell * keys + STEP * (sheets - 1), Math.min(room, 150));
  return { sheets, cell, gap, box, height: cell * queries + STEP * (sheets - 1) + 78 };
}

/** A picture of the boxes: `set(composed, { sentence, polarity }, theme, width)`. */
export function shapesPicture(parent) {
  const canvas = focusableCanvas(parent, "How the shapes of the masks are joined");
  canvas.setAttribute("role", "img");
  canvas.tabIndex = -1; // nothing in it to move: its label says it all

  function set(composed, { sentence, polarity }, theme, width) {
    const boxes = shapeBoxes(composed, polarity);
    const layout = shapesLayout(composed, boxes.length, width);
    const { sheets, cell, gap, box, height } = layout;
    const context = fitCanvas(canvas, width, height);
    const small = `12px ${theme.family}`;
    boxes.forEach(({ name, shape, note, own, at }, index) => {
      const left = index * (box + gap);
      for (let sheet = sheets - 1; sheet >= 0; sheet--) {
        const b = (sentence + sheet) % composed.sentences; // the sentence on screen lies in front
        const [x, y] = [left + sheet * STEP, (sheets - 1 - sheet) * STEP];
        const stretched = sheet >= own.sheets;
        context.globalAlpha = stretched ? 0.3 : 1;
        drawSheet(context, { x, y, cell, composed, own, at, b, theme });
        context.globalAlpha = 1;
      }
      const bottom = cell * composed.queries + STEP * (sheets - 1);
      drawText(context, name, left, bottom + 14, { font: `600 13px ${theme.family}`, colour: theme.text });
      drawText(context, shape, left, bottom + 32, {
        font: `12px ui-monospace, Menlo, Consolas, monospace`,
        colour: theme.text,
      });
      const room = index < boxes.length - 1 ? box + gap - 12 : width - left;
      wrapped(note, room, (piece) => theme.measure(piece, 12, false)).forEach((line, i) => {
        drawText(context, line, left, bottom + 49 + 16 * i, { font: small, colour: theme.muted });
      });
      if (index < boxes.length - 1) {
        const sign = index < boxes.length - 2 ? "&" : "=";
        drawText(context, sign, left + box + gap / 2, (cell * composed.queries) / 2 + STEP, {
          font: `700 18px ${theme.family}`,
          colour: theme.text,
          align: "center",
        });
      }
    });
    canvas.setAttribute("aria-label", shapesSentence(boxes));
  }

  return { node: canvas, set };
}

/**
 * The picture in words.
 *
 * @param {Box[]} boxes
 */
export function shapesSentence(boxes) {
  const each = boxes.map(({ name, shape, note }) => `${name} ${shape}${note ? `, ${note}` : ""}`);
  return each.length > 1 ? `${each.slice(0, -1).join("; and ")}; together ${each.at(-1)}` : each[0];
}

/**
 * A note in lines no wider than `width`.
 *
 * @param {string} note
 * @param {number} width
 * @param {(text: string) => number} measure
 */
export function wrapped(note, width, measure) {
  const lines = [];
  for (const word of note.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && measure(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** One sheet: its own rows solid, the rows that it is stretched to faint behind a dotted edge. */
function drawSheet(context, { x, y, cell, composed, own, at, b, theme }) {
  const { queries, keys } = composed;
  const alpha = context.globalAlpha;
  context.fillStyle = theme.background;
  context.globalAlpha = 1;
  context.fillRect(x, y, cell * keys, cell * queries);
  for (let q = 0; q < queries; q++) {
    context.globalAlpha = q < own.rows ? alpha : 0.3;
    for (let k = 0; k < keys; k++) drawCell(context, x + k * cell, y + q * cell, cell, at(b, q, k), theme);
  }
  context.globalAlpha = 1;
  context.setLineDash([2, 2]);
  strokeBox(context, x, y, cell * keys, cell * queries, theme.muted, 1);
  context.setLineDash([]);
  if (alpha === 1) strokeBox(context, x, y, cell * keys, cell * own.rows, theme.text, 1.5);
}

function drawCell(context, x, y, size, may, theme) {
  if (may) {
    context.fillStyle = theme.stops[3];
    context.fillRect(x + 0.5, y + 0.5, size - 1, size - 1);
    return;
  }
  context.strokeStyle = theme.muted;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x + 1, y + size - 1);
  context.lineTo(x + size - 1, y + 1);
  context.stroke();
}
