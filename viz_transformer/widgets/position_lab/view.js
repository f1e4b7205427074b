// The position lab: how a model is told the order of its words, and what becomes of it.
//
// State lives in the model's traits; where the pointer is, is this view's own.

import { pointerPosition } from "../base/js/canvas.js";
import { element, focusableCanvas, slider, toggle } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import { connectKernel } from "../base/js/kernel.js";
import { numberTable } from "../base/js/number_table.js";
import {
  drawOffsets,
  drawScores,
  drawTable,
  drawWaves,
  offsetAt,
  offsetsLayout,
  paintSigned,
  positionAt,
  tableCellAt,
  tableLayout,
  wavesLayout,
} from "./charts.js";
import {
  bareScores,
  confusions,
  differenceOf,
  limitOf,
  lookAlikes,
  matrixOf,
  nearestRow,
  neighbourCosine,
  rangeAt,
  rmsOf,
  scoresByPlace,
  sentenceScores,
  sinusoids,
} from "./encodings.js";
import { openShuffle } from "./shuffle.js";
import {
  cellSentence,
  claimSentence,
  claimVerdict,
  countSentence,
  encodingSentence,
  ENCODING_NAMES,
  formula,
  isWave,
  neighbourSentence,
  offsetSentence,
  pairSentence,
} from "./narration.js";
import { decodeWeights } from "../base/js/weights.js";

const STATE = ["encoding", "pair", "position", "offset", "shift", "order", "positions_on", "text_size"];
const CLAIM = "One reads: “a sentence moved to the right gets the same scores.”";
const PARTS = ["word · word", "word · position", "position · word", "position · position", "the whole score"];

/** What Python sent, as matrices: {tables: encoding → matrix, head}. */
export function unpackPositions(data) {
  const { n_positions: rows, d_model: cols, n_words: count } = data;
  const matrix = (bytes, height) => matrixOf(decodeWeights(bytes, "float32"), height, cols);
  const waves = sinusoids(rows, cols);
  return {
    tables: {
      sinusoidal: waves,
      rotary: waves,
      learned: matrix(data.learned, rows),
      none: matrixOf(new Float64Array(rows * cols), rows, cols),
    },
    head: {
      words: matrix(data.words, count),
      mixing: matrix(data.mixing, cols),
      queries: matrix(data.queries, count),
      keys: matrix(data.keys, count),
    },
  };
}

/** What the shift does to an encoding's scores: matrices, and their sizes part by part. */
export function shiftResult(encoding, table, head, shift) {
  const [here, moved] = [0, shift].map((start) => sentenceScores(encoding, table, head, start));
  const difference = differenceOf(moved.whole, here.whole);
  const bare = [0, shift].map((start) => bareScores(table, head.words.rows, start));
  const row = (name, before, after) => [name, rmsOf(before), rmsOf(differenceOf(after, before))];
  return {
    here: here.whole,
    moved: moved.whole,
    difference,
    changed: rmsOf(difference),
    size: rmsOf(here.whole),
    bare: rmsOf(differenceOf(bare[1], bare[0])),
    rows: [
      ...(encoding === "rotary" ? [] : [row("PE · PE alone", ...bare)]),
      ...here.parts.map(([name, part], index) => row(name, part, moved.parts[index][1])),
      row(PARTS.at(-1), here.whole, moved.whole),
    ],
  };
}

/** A function that remembers its last result, as long as its arguments stay. */
function remembering(compute) {
  let [known, result] = [null, null];
  return (...given) => {
    if (!known || given.some((value, index) => value !== known[index]))
      [known, result] = [given, compute(...given)];
    return result;
  };
}

function render({ model, el }) {
  const data = model.get("data");
  const { tables, head } = unpackPositions(data);
  const [rows, pairs] = [data.n_positions, data.d_model / 2];
  const get = (name) => model.get(name);
  const view = createView({ model, el, name: "position-lab", label: "Position lab", traits: STATE, draw });
  const kernel = connectKernel(model);

  const top = element(view.root, "div", "vt-controls", {
    role: "group",
    "aria-label": "How positions are told",
  });
  element(top, "span").textContent = "How positions are told:";
  const encodings = ENCODING_NAMES.map(([value, text]) => [
    value,
    toggle(top, text, () => view.set({ encoding: value })),
  ]);
  const what = element(view.root, "p", "vt-what", { "aria-live": "polite" });
  const grid = element(view.root, "div", "vt-parts");
  const part = (name, title) => {
    const node = element(grid, "section", `vt-part vt-${name}`);
    element(node, "div", "vt-title", { role: "heading", "aria-level": "3" }).textContent = title;
    return node;
  };

  const tablePart = part("table", "1 · A row for each position, a column for each dimension");
  const tableCanvas = focusableCanvas(
    tablePart,
    "Table of positions: up and down choose a position, left and right a pair of columns",
  );
  const counted = element(tablePart, "p", "vt-quiet");
  const legend = element(tablePart, "div", "vt-scale", { "aria-hidden": "true" });
  const [least, bar, most] = ["span", "span", "span"].map((tag) => element(legend, tag));
  bar.className = "vt-bar";
  const readout = element(tablePart, "p", "vt-readout", { role: "status", "aria-live": "polite" });

  const right = element(grid, "div", "vt-column");
  const pairPart = right.appendChild(part("pair", "2 · One pair of columns, as curves and as a clock"));
  const pairSlider = slider(pairPart, { label: "pair", min: 0, max: pairs - 1, step: 1, digits: 0 }, (pair) =>
    view.set({ pair }),
  );
  const waveCanvas = focusableCanvas(
    pairPart,
    "Curves of the pair: left and right choose a position, up and down a pair",
  );
  const pairFormula = element(pairPart, "p", "vt-formula");
  const pairSays = element(pairPart, "p", "vt-pair-says");

  const offsetPart = right.appendChild(
    part("offset", "3 · How alike are two positions? Dot product by offset"),
  );
  const offsetCanvas = focusableCanvas(
    offsetPart,
    "Likeness by distance: left and right choose the offset, up and down the position",
  );
  const offsetSays = element(offsetPart, "p", "vt-offset-says", { "aria-live": "polite" });

  const shiftPart = part("shift", "4 · Does a moved sentence get the same scores?");
  const shiftSlider = slider(
    shiftPart,
    { label: "move by", min: 0, max: rows - data.n_words, step: 1, digits: 0 },
    (shift) => view.set({ shift }),
  );
  const shiftCanvas = element(shiftPart, "canvas", "vt-canvas", { role: "img" });
  const claim = element(shiftPart, "p", "vt-claim", { "aria-live": "polite" });
  const partsTable = numberTable(shiftPart, {
    label: "The parts of a score, and what the shift changes in each",
  });

  const shufflePart = part("shuffle", "5 · Shuffle the words of a live model");
  const shuffle = data.sentence.length ? openShuffle(shufflePart, { model, view, kernel }) : null;
  shufflePart.hidden = !shuffle;

  let [hover, scale] = [null, 1];
  const placeOf = (canvas, event) => pointerPosition(canvas, event).map((pixels) => pixels / scale);
  let layouts = {};
  const sheetOf = remembering((matrix, limit, ramp) => paintSigned(matrix, limit, ramp));
  const limitsOf = remembering((matrix) => limitOf(matrix));
  const scoresOf = remembering((encoding, table) => scoresByPlace(encoding, table, head));
  const shiftOf = remembering((encoding, table, shift) => shiftResult(encoding, table, head, shift));
  const alikeOf = remembering((table, position, pair) => [
    lookAlikes(table, position, pair),
    nearestRow(table, position),
    confusions(table, position),
  ]);
  const { learned } = tables;
  const grown = neighbourSentence(
    neighbourCosine(learned, 0, data.trained),
    neighbourCosine(learned, data.trained, rows),
  );
  const tell = (node, text) => {
    if (node.textContent !== text) node.textContent = text;
  }; // spoken once

  const lastDrawn = new Map(); // each picture's name → what it showed
  /** Draw a picture, unless it shows all this already. */
  function unlessDrawn(name, theme, shown, paint) {
    const now = [theme, scale, globalThis.devicePixelRatio, ...shown];
    if (lastDrawn.get(name)?.every((value, index) => value === now[index])) return;
    lastDrawn.set(name, now);
    paint();
  }

  function draw({ theme, width }) {
    const [encoding, pair, position, offset] = [get("encoding"), get("pair"), get("position"), get("offset")];
    const table = tables[encoding];
    scale = theme.scale = get("text_size") ?? 1;
    view.root.style.fontSize = `${14 * scale}px`;
    view.root.dataset.layout = width / scale >= 760 ? "wide" : "narrow";
    for (const [value, { node }] of encodings) node.setAttribute("aria-pressed", String(value === encoding));
    tell(what, encodingSentence(encoding, data));
    drawTop(theme, { encoding, table, pair, position });
    const scores = scoresOf(encoding, table);
    unlessDrawn("offsets", theme, [layouts.offsets.width, scores, position, offset], () => {
      drawOffsets(offsetCanvas, layouts.offsets, scores, { position, offset }, theme);
      tell(
        offsetSays,
        offsetSentence(encoding, scores, { position, offset }, rangeAt(scores, offset)) +
          (encoding === "learned" ? grown : ""),
      );
    });
    drawShift(theme, shiftPart.clientWidth / scale, encoding, table);
    shuffle?.draw();
  }

  function drawTop(theme, { encoding, table, pair, position }) {
    const [leftRoom, rightRoom] = [tablePart, pairPart].map((node) => node.clientWidth / scale);
    layouts = {
      table: tableLayout({ rows, cols: table.cols, width: Math.min(leftRoom, 560), height: 460 }),
      waves: wavesLayout({ rows, width: rightRoom, height: 160 }),
      offsets: offsetsLayout({ rows, width: rightRoom, height: 150 }),
    };
    const limit = limitsOf(table);
    const [alike, nearest, counts] = alikeOf(table, position, pair);
    const border = encoding === "learned" ? data.trained : rows;
    const chosen = [encoding, pair, position];
    unlessDrawn("table", theme, [layouts.table.width, ...chosen], () => {
      drawTable(
        tableCanvas,
        layouts.table,
        sheetOf(table, limit, theme.signedRamp),
        { position, pair, border, counts },
        theme,
      );
    });
    bar.style.background = `linear-gradient(to right, ${theme.signedStops.join(", ")})`;
    tell(least, `−${limit.toFixed(1)}`);
    tell(most, limit.toFixed(1));
    tell(counted, countSentence(table, { position }, nearest));
    const cell = hover ?? { position, dimension: 2 * pair };
    tell(readout, cellSentence(encoding, table, cell.position, cell.dimension));
    const names = isWave(encoding) ? [": sine", ": cosine"] : ["", ""];
    unlessDrawn("waves", theme, [layouts.waves.width, ...chosen], () =>
      drawWaves(
        waveCanvas,
        layouts.waves,
        table,
        {
          pair,
          position,
          alike,
          names: [0, 1].map((which) => `dimension ${2 * pair + which}${names[which]}`),
        },
        theme,
      ),
    );
    pairSlider.set(pair);
    pairFormula.hidden = !isWave(encoding);
    tell(pairFormula, formula(encoding, pair, table.cols));
    tell(pairSays, pairSentence(encoding, table, { pair, position }, alike, nearest));
  }

  function drawShift(theme, room, encoding, table) {
    const shift = get("shift");
    const found = shiftOf(encoding, table, shift);
    shiftSlider.set(shift);
    unlessDrawn("shift", theme, [room, found], () => {
      drawScores(
        shiftCanvas,
        room,
        [
          ["scores here", found.here],
          [`moved by ${shift}`, found.moved],
          ["difference", found.difference],
        ],
        theme,
      );
      tellShift(encoding, shift, found, theme);
    });
  }

  function tellShift(encoding, shift, found, theme) {
    const verdict = claimVerdict(shift, found.changed, found.size);
    const sentence = claimSentence(encoding, shift, found);
    shiftCanvas.setAttribute(
      "aria-label",
      `Scores of ${data.n_words} random words, here and moved, and the difference. ${sentence}`,
    );
    claim.replaceChildren(CLAIM, " ");
    element(claim, "b", "vt-verdict").textContent =
      verdict && (verdict === "true" ? "True here." : "False here.");
    claim.append(" ", sentence);
    partsTable.set(
      {
        values: found.rows.map(([, size, changed]) => [size, changed]),
        rowNames: found.rows.map(([name]) => name),
        colNames: ["rms", "rms of change"],
        digits: 2,
        scale: "plain",
        marked: (row, col) => (col === 1 && found.rows[row][2] > 1e-6 ? "vt-changed" : ""),
      },
      theme,
    );
  }

  const inside = (value, low, high) => Math.min(high, Math.max(low, value));
  const step = (name, by, low, high) => view.set({ [name]: inside(get(name) + by, low, high) });
  const keys = {
    position: (by) => step("position", by, 0, rows - 1),
    pair: (by) => step("pair", by, 0, pairs - 1),
    offset: (by) => step("offset", by, 1 - rows, rows - 1),
  };

  function onPicture(canvas, [across, down], choose, point = () => {}) {
    const arrows = {
      ArrowLeft: [across, -1],
      ArrowRight: [across, 1],
      ArrowUp: [down, down === "position" && canvas === tableCanvas ? -1 : 1],
      ArrowDown: [down, down === "position" && canvas === tableCanvas ? 1 : -1],
    };
    view.listen(canvas, "keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !arrows[event.key]) return;
      point(null);
      const [name, by] = arrows[event.key];
      keys[name](by * (event.shiftKey ? 10 : 1));
      event.preventDefault();
      event.stopPropagation();
    });
    view.listen(canvas, "click", (event) => {
      const chosen = layouts.table && choose(...placeOf(canvas, event));
      if (chosen) view.set(chosen);
    });
    view.listen(canvas, "pointermove", (event) => {
      if (!layouts.table) return;
      canvas.style.cursor = choose(...placeOf(canvas, event)) ? "pointer" : "default";
      point(event);
    });
    view.listen(canvas, "pointerleave", () => point(null));
  }

  onPicture(
    tableCanvas,
    ["pair", "position"],
    (x, y) => {
      const cell = tableCellAt(layouts.table, x, y);
      return cell && { position: cell.position, pair: Math.min(pairs - 1, Math.floor(cell.dimension / 2)) };
    },
    (event) => {
      hover = event && tableCellAt(layouts.table, ...placeOf(tableCanvas, event));
      view.redraw();
    },
  );
  onPicture(waveCanvas, ["position", "pair"], (x) => {
    const position = positionAt(layouts.waves, x);
    return position === null ? null : { position };
  });
  onPicture(offsetCanvas, ["offset", "position"], (x) => {
    const offset = offsetAt(layouts.offsets, x);
    return offset === null ? null : { offset };
  });

  return () => {
    kernel.close();
    view.close();
  };
}

export default { render };
