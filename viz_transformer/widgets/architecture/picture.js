// The picture: lanes of boxes with every word's vectors and lines, as SVG.

import { weightColour } from "../base/js/colour.js";
import { element } from "../base/js/controls.js";
import { svgElement } from "../base/js/svg.js";
import { elide, visible } from "../base/js/text.js";
import { attentionLines, keyWordSize, straightLines } from "./lines.js";
import { ARC, MEMORY, NUMBERS, STRIP, shortCount } from "./layout.js";
import { colourLimit, percentText, tokensOf, vectorOf } from "./values.js";

const CELLS = 10; // numbers of a vector that a strip shows

/**
 * @import { Column, Lane } from "./layout.js"
 * @import { Reply } from "./values.js"
 *
 * @typedef {object} Scene everything that the picture shows now
 * @property {import("../base/js/colour.js").Theme} theme
 * @property {{width: number, height: number, lanes: Lane[]}} layout
 * @property {number} size of the text
 * @property {Reply} reply
 * @property {Record<string, any>} parts
 * @property {import("./steps.js").Box[]} boxes
 * @property {{d_model: number, n_heads: number, n_words: number}} sizes
 * @property {Map<string, number>} rows for how many words each box has been computed
 * @property {string} box that is explained
 * @property {string} active box of the step
 * @property {boolean} playing
 * @property {number | null} head
 * @property {Record<string, number>} word that is chosen in each stack
 */

/**
 * Add the picture. `update(scene)` draws it; `onChoose(box)` and `onRow(stack, row)` are called on a click.
 *
 * @param {HTMLElement} parent
 * @param {{onChoose: (key: string) => void, onRow: (stack: string, row: number) => void}} handlers
 */
export function addPicture(parent, { onChoose, onRow }) {
  const box = element(parent, "div", "vt-picture", {
    tabindex: "0",
    role: "application",
    "aria-label": "The model's boxes. Arrow keys step and choose a word, Space plays, Enter shows the code.",
    "data-lm-suppress-shortcuts": "true",
  });
  const svg = svgElement(box, "svg", "vt-chart", { "aria-hidden": "true" });
  svg.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    const node = /** @type {Element} */ (event.target);
    const row = node.closest("[data-row]");
    const key = node.closest("[data-key]")?.getAttribute("data-key");
    if (row) onRow(row.getAttribute("data-stack"), Number(row.getAttribute("data-row")));
    else if (key) onChoose(key);
  });

  /** @param {Scene} scene */
  function update(scene) {
    const { layout, size } = scene;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `-2 0 ${layout.width + 4} ${layout.height}`);
    svg.style.width = `${(layout.width + 4) * size}px`;
    svg.style.height = `${layout.height * size}px`;
    svg.style.setProperty("--vt-word", `${Math.min(12, layout.lanes[0].rowHeight + 0.5)}px`);
    svg.style.setProperty("--vt-key-word", `${keyWordSize(scene)}px`);
    for (const lane of layout.lanes) drawLane(svg, scene, lane);
    drawMemory(svg, scene);
    drawLegend(svg, scene);
    keepInSight(box, svg.querySelector("[data-chosen]"));
  }
  return { node: box, update };
}

/** Where the picture is wider than its place, show the chosen box. */
function keepInSight(box, chosen) {
  if (!chosen || box.scrollWidth <= box.clientWidth) return;
  const [outer, inner] = [box.getBoundingClientRect(), chosen.getBoundingClientRect()];
  if (inner.left < outer.left || inner.right > outer.right)
    box.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}

/** @param {Scene} scene @param {Lane} lane */
function drawLane(svg, scene, lane) {
  const group = svgElement(svg, "g", "vt-lane", { "data-stack": lane.stack });
  drawWays(group, lane, scene);
  for (const column of lane.columns) {
    if (column.box) drawBox(group, scene, lane, column);
    else drawFolded(group, scene, lane, column);
  }
}

/** The lines of the words from box to box, and the residual ways around the parts of a layer. */
function drawWays(group, lane, { rows, word }) {
  const ways = svgElement(group, "g", "vt-ways");
  for (const [index, { x, width, boxes }] of lane.columns.slice(0, -1).entries()) {
    const next = lane.columns[index + 1];
    const reached = rows.get(next.boxes[0].key) ?? 0;
    for (const [row, y] of lane.rows.entries()) {
      if (row >= reached || boxes[0].part === "output") continue;
      const chosen = row === word[lane.stack];
      svgElement(ways, "path", "vt-way", { d: `M${x + width} ${y}H${next.x}`, "data-chosen-row": chosen });
    }
  }
  for (const [index, { box, x, width }] of lane.columns.entries()) {
    if (!box?.key.endsWith("_residual")) continue;
    const before = lane.columns.findLastIndex(
      (each, at) => at < index && !each.box?.key.startsWith(box.key.replace("_residual", "")),
    );
    const from = lane.columns[before].x + lane.columns[before].width + 4.5;
    const [to, y] = [x + width / 2, lane.top - ARC + 4];
    const d = `M${from} ${lane.top + 6}V${y + 5}Q${from} ${y} ${from + 5} ${y}H${to - 5}Q${to} ${y} ${to} ${y + 5}V${lane.top}`;
    svgElement(ways, "path", "vt-residual", { d, "data-reached": rows.has(box.key) });
  }
}

/** @param {Scene} scene @param {Lane} lane @param {Column} column */
function drawBox(group, scene, lane, column) {
  const { box, x, width } = column;
  const { parts, rows, sizes } = scene;
  const n = rows.get(box.key) ?? 0;
  const node = svgElement(group, "g", "vt-box", {
    "data-key": box.key,
    "data-part": box.part,
    "data-reached": n > 0,
    "data-active": box.key === scene.active,
    ...(box.key === scene.box ? { "data-chosen": "" } : {}),
  });
  const [top, height] = [lane.top, lane.bottom - lane.top];
  svgElement(node, "rect", "vt-frame", { x, y: top, width, height, rx: 5 });
  const { lines } = parts[box.part];
  const above = box.part === "tokens" ? [box.stack === "encoder" ? "Encoder" : "Decoder", ""] : lines;
  above.forEach((line, at) => {
    const y = top - ARC - 8 - 12 * (above.length - 1 - at);
    svgElement(node, "text", "vt-name", { x: x + width / 2, y, "text-anchor": "middle" }).textContent = line;
  });
  drawContents(node, scene, lane, column, n);
  const length = n || lane.rows.length;
  const shape = { tokens: `[${length}]`, output: `[${length}, ${shortCount(scene.sizes.n_words)}]` }[
    box.part
  ];
  const below = [shape ?? `[${length}, ${sizes.d_model}]`, box.parameters ? shortCount(box.parameters) : "–"];
  below.forEach((text, at) => {
    const attributes = { x: x + width / 2, y: lane.bottom + 9 + 12 * at, "text-anchor": "middle" };
    svgElement(node, "text", "vt-number", attributes).textContent = text;
  });
}

/** What stands in a box: words, or lines and strips. */
function drawContents(node, scene, lane, column, n) {
  const { box } = column;
  if (box.part === "tokens") drawWords(node, scene, lane, column, n);
  else if (box.part === "output") drawOutput(node, scene, lane, column, n);
  else {
    if (scene.reply.weights[box.key]) attentionLines(node, scene, lane, column, n);
    else straightLines(node, scene, lane, column, n);
    drawStrips(node, scene, lane, column, n);
  }
}

function drawStrips(node, { reply, sizes, theme, word }, lane, { box, strip }, n) {
  const limit = colourLimit(reply, box.key);
  const cells = Math.min(CELLS, sizes.d_model);
  const height = Math.min(14, lane.rowHeight - 3);
  for (let row = 0; row < n; row++) {
    const values = vectorOf(reply, box.key, row, cells === CELLS ? sizes.d_model : cells);
    const y = lane.rows[row] - height / 2;
    for (let i = 0; i < cells; i++) {
      const fill = `rgb(${weightColour(values[i], limit, theme).join(",")})`;
      const size = { width: STRIP / cells + 0.2, height };
      svgElement(node, "rect", "vt-cell", { x: strip + (i * STRIP) / cells, y, ...size, fill });
    }
    const chosen = row === word[lane.stack];
    svgElement(node, "rect", "vt-strip-frame", {
      ...{ x: strip - 0.5, y: y - 0.5, width: STRIP + 1, height: height + 1, rx: 2 },
      "data-chosen-row": chosen,
    });
  }
}

function drawWords(node, { reply, theme, word }, lane, { x, width }, n) {
  const tokens = tokensOf(reply, lane.stack);
  for (let row = 0; row < n; row++) {
    const text = elide(visible(tokens[row]), width - 10, (each) => theme.measure(each, 12, false));
    const at = { x: x + width - 6, y: lane.rows[row], "text-anchor": "end" };
    const place = { "data-row": row, "data-stack": lane.stack, "data-chosen-row": row === word[lane.stack] };
    svgElement(node, "text", "vt-word", { ...at, ...place }).textContent = text;
  }
}

/** The likeliest word of each position, and how likely it is. */
function drawOutput(node, { reply, theme, word }, lane, { x, width }, n) {
  const tokens = tokensOf(reply, lane.stack);
  const hasGap = tokens.includes("<mask>"); // then the model has learned to fill that, and nothing else
  for (let row = 0; row < n; row++) {
    if (hasGap && tokens[row] !== "<mask>") continue;
    const [token, share] = reply.likeliest[row][0];
    const y = lane.rows[row];
    const height = Math.min(14, lane.rowHeight - 3);
    const bar = { x: x + 5, y: y - height / 2, width: (width - 10) * share, height, rx: 2 };
    const chosen = row === word[lane.stack];
    svgElement(node, "rect", "vt-share", { ...bar, "data-chosen-row": chosen });
    const text = elide(visible(token), width - 48, (each) => theme.measure(each, 12, chosen));
    const place = { "data-row": row, "data-stack": lane.stack, "data-chosen-row": chosen };
    svgElement(node, "text", "vt-word", { x: x + 8, y, ...place }).textContent = text;
    const end = { x: x + width - 7, y, "text-anchor": "end" };
    svgElement(node, "text", "vt-number", end).textContent = percentText(share);
  }
}

/** Layers that are folded: a slim box with their numbers, written upwards. */
function drawFolded(group, { rows }, lane, { boxes, x, width }) {
  const [first, last] = [boxes[0].layer, boxes.at(-1).layer];
  const node = svgElement(group, "g", "vt-box vt-folded", {
    "data-key": boxes[0].key,
    "data-reached": rows.has(boxes.at(-1).key),
  });
  const [top, height] = [lane.top, lane.bottom - lane.top];
  if (last > first) svgElement(node, "rect", "vt-frame", { x: x + 3, y: top - 3, width, height, rx: 5 });
  svgElement(node, "rect", "vt-frame", { x, y: top, width, height, rx: 5 });
  const middle = [x + width / 2, top + height / 2];
  const text = { x: middle[0], y: middle[1], "text-anchor": "middle", transform: `rotate(-90 ${middle})` };
  svgElement(node, "text", "vt-name", text).textContent =
    last > first ? `layers ${first}–${last}` : `layer ${first}`;
  const learned = boxes.reduce((sum, { parameters }) => sum + parameters, 0);
  const below = { x: x + width / 2, y: lane.bottom + 21, "text-anchor": "middle" };
  svgElement(node, "text", "vt-number", below).textContent = shortCount(learned);
}

/** The way of the encoder's memory to cross-attention. */
function drawMemory(svg, { layout, rows, reply, sizes, active }) {
  const [encoder, decoder] = layout.lanes;
  const cross = decoder?.columns.find(({ box }) => box?.part === "cross_attention");
  if (!cross) return;
  const last = encoder.columns.at(-1);
  const [from, to] = [last.x + last.width, cross.x + 14];
  const [middle, gutter] = [(encoder.top + encoder.bottom) / 2, encoder.bottom + NUMBERS + MEMORY / 2 - 4];
  const reached = rows.has(last.boxes.at(-1).key);
  const group = svgElement(svg, "g", "vt-memory", {
    "data-reached": reached,
    "data-active": active === cross.box.key,
  });
  const d = `M${from} ${middle}h8q8 0 8 8V${gutter - 8}q0 8 -8 8H${to + 8}q-8 0 -8 8V${decoder.top - 7}`;
  svgElement(group, "path", "vt-memory-way", { d });
  svgElement(group, "path", "vt-memory-head", { d: `M${to - 5} ${decoder.top - 8}h10l-5 7z` });
  const text = svgElement(group, "text", "vt-name", { x: from + 24, y: gutter - 6 });
  text.textContent = `memory [${reply.source.length}, ${sizes.d_model}]`;
}

/** What a strip and the numbers below a box are, where the encoder leaves room beside it. */
function drawLegend(svg, { layout, theme, boxes, sizes }) {
  const [lane, other] = layout.lanes;
  const { x, width } = lane.columns.at(-1);
  const left = x + width + 40;
  if (!other || layout.width - left < 215) return;
  const group = svgElement(svg, "g", "vt-key-of-picture");
  const learned = boxes.reduce((sum, { parameters }) => sum + parameters, 0);
  const cells = Math.min(CELLS, sizes.d_model);
  const lines = [
    `a vector: its first ${cells} of ${sizes.d_model} numbers`,
    "below 0 … above 0",
    "attends to: thicker for more",
    "below a box: shape, parameters",
    `${learned.toLocaleString("en")} parameters in all`,
  ];
  lines.forEach((line, at) => {
    const y = lane.top - 26 + 19 * at;
    const text = svgElement(group, "text", "vt-number", { x: left + 44, y });
    text.textContent = line;
    if (at === 2) svgElement(group, "path", "vt-attends", { d: `M${left} ${y}h34`, "stroke-width": 2.5 });
    if (at > 1) return;
    for (let i = 0; i < cells; i++) {
      const value = at ? (2 * i) / (cells - 1) - 1 : Math.sin(5 * i) * 0.8;
      const fill = `rgb(${weightColour(value, 1, theme).join(",")})`;
      const size = { width: 34 / cells + 0.2, height: 12 };
      svgElement(group, "rect", "vt-cell", { x: left + (i * 34) / cells, y: y - 6, ...size, fill });
    }
  });
}
