// One run at its moment: what it translates, all heads small, and one of them large.

import { pixelRatio } from "../base/js/canvas.js";
import { element, focusableCanvas, setText } from "../base/js/controls.js";
import { ARROWS, addCanvasListeners } from "../base/js/gestures.js";
import { drawHeadGrid, headAt, headGridLayout, moveHead, paintThumbnails } from "../base/js/head_grid.js";
import { cellAt, drawMatrix, matrixLayout, moveCell, paintCells } from "../base/js/heatmap.js";
import { ariaGrid } from "../base/js/aria_grid.js";
import { quoted, formatWeight, visible } from "../base/js/text.js";
import {
  compareWords,
  entropyInWords,
  factsOf,
  headAtMoment,
  overviewAtMoment,
  strongestInWords,
} from "./runs.js";

const MOST_PIXELS = 12e6; // of the pictures that are kept: those of some dozens of moments
const NOWHERE = { query: null, key: null };

/** Pictures by name, those that were not used for longest forgotten first. */
export function openSheets(limit = MOST_PIXELS) {
  const held = new Map();
  let pixels = 0;
  return {
    get(name, make) {
      const sheet = held.get(name) ?? make();
      if (held.has(name)) held.delete(name);
      else pixels += sheet.width * sheet.height;
      held.set(name, sheet);
      for (const [old, one] of held) {
        if (pixels <= limit || old === name) break;
        held.delete(old);
        pixels -= one.width * one.height;
      }
      return sheet;
    },
    clear() {
      held.clear();
      pixels = 0;
    },
    get count() {
      return held.size;
    },
  };
}

/**
 * The parts of one run: {node, draw(shown), forget()}; `onHead({layer, head})` hears the viewer, and
 * `chosenIn(entry)` tells what is chosen now, which may not be drawn yet.
 */
export function openSide(view, parent, { scale, onHead, chosenIn }) {
  const node = element(parent, "section", "vt-run");
  const words = element(node, "div", "vt-run-words");
  const name = element(words, "h3", "vt-title");
  const facts = element(words, "p", "vt-facts");
  const lines = element(words, "div", "vt-lines");
  const [said, wanted] = ["translation now", "right translation"].map((text) => {
    element(lines, "span", "vt-line-name").textContent = text;
    return element(lines, "div", "vt-line");
  });
  element(lines, "span");
  const verdict = element(lines, "strong", "vt-verdict");
  const pictures = element(node, "div", "vt-pictures");
  const headsPart = element(pictures, "div", "vt-small");
  const headsCanvas = focusableCanvas(headsPart, "All heads at this moment: arrow keys choose");
  const headPart = element(pictures, "div", "vt-large");
  const title = element(headPart, "div", "vt-title", { role: "heading", "aria-level": "4" });
  const matrixCanvas = focusableCanvas(headPart, "Weights of the chosen head: arrow keys move");
  const readout = element(headPart, "p", "vt-weight", { role: "status", "aria-live": "polite" });
  const entropy = element(headPart, "p", "vt-entropy");
  const sheets = openSheets();
  const [sayHead, sayCell] = [ariaGrid(headsCanvas), ariaGrid(matrixCanvas)];
  let [now, heads, matrix, hovered, cell, texts] = [null, null, null, null, NOWHERE, ""];

  addCanvasListeners(view, headsCanvas, {
    scale,
    hitTest: (x, y) => (heads ? headAt(heads, x, y) : null),
    onPoint: (at) => {
      hovered = at;
    },
    onClick: onHead,
    onKey(event) {
      if (!heads || !ARROWS.includes(event.key)) return false;
      // From what is chosen, not from what is drawn: two keys may come in one frame.
      onHead(moveHead(heads.sections, { ...now.chosen, ...chosenIn(now.entry) }, event.key));
      return true;
    },
  });
  addCanvasListeners(view, matrixCanvas, {
    scale,
    hitTest: (x, y) => (matrix ? cellAt(matrix, x, y) : null),
    onPoint: (at) => {
      cell = at ?? NOWHERE;
    },
    onClick: () => {},
    onKey(event) {
      if (!matrix || ![...ARROWS, "Escape"].includes(event.key)) return false;
      cell = event.key === "Escape" ? NOWHERE : moveCell(cell, now.entry.rows, now.entry.cols, event.key);
      view.redraw();
      return true;
    },
  });

  /** Write words, each marked that has no partner in the other line. */
  function writeWords(line, words) {
    line.replaceChildren();
    words.forEach(({ text, differs }, index) => {
      if (index) line.append(" ");
      element(element(line, differs ? "mark" : "span"), "bdi").textContent = visible(text);
    });
    if (!words.length) element(line, "span", "vt-nothing").textContent = "no word";
  }

  function tellWords({ run, moment, sentence, named, width, longest, theme }) {
    name.hidden = !named;
    setText(name, visible(run.name));
    setText(facts, factsOf(run, moment, sentence));
    const [translation, reference] = [run.translations[moment][sentence], run.references[sentence]];
    const wantedTexts = JSON.stringify([translation, reference, width, longest, theme.scale]);
    if (wantedTexts === texts) return;
    texts = wantedTexts;
    const compared = compareWords(translation, reference);
    writeWords(said, compared.said);
    writeWords(wanted, compared.wanted);
    setText(verdict, compared.verdict);
    verdict.classList.toggle("vt-right", compared.right);
    said.title = visible(translation); // a beginner's may be longer than the two lines it has
    // As high as the longest translation of all moments: what stands below it keeps its place.
    said.style.minHeight = `${1.45 * Math.min(2, Math.max(1, Math.ceil(longest / Math.max(80, width - 140))))}em`;
  }

  /**
   * `shown`: {run, moment, sentence, entry or null, chosen {kind, layer, head}, named, width, height, longest, theme};
   * `longest` is the width of the longest translation of the sentence in any run, in pixels.
   */
  function draw(shown) {
    if (shown.entry !== now?.entry) cell = NOWHERE;
    now = shown;
    tellWords(shown);
    const { entry, chosen, run, moment, sentence, named, width, height, theme } = shown;
    pictures.hidden = !entry;
    if (!entry) return;
    // A run alone has room for its large head beside all the rest.
    const layout = !named && width >= 760 ? "split" : width >= 460 ? "beside" : "below";
    node.dataset.layout = layout;
    const { kind, layers, heads: count } = entry;
    const half = (width - 28) / 2;
    const room = { split: half, beside: Math.min(320, width * 0.42), below: width }[layout];
    heads = headGridLayout(
      [{ kind, layers, heads: count, labels: null, slots: null, signed: false, limit: null }],
      room,
      height,
    );
    const place = `${sentence} ${kind} ${moment}`;
    const thumbnails = sheets.get(`${place} ${heads.pitch} ${heads.width}`, () =>
      paintThumbnails(() => overviewAtMoment(entry, moment), heads, theme),
    );
    drawHeadGrid(
      headsCanvas,
      heads,
      thumbnails,
      { chosen, shown: [[chosen.layer, chosen.head]], others: [], hovered },
      theme,
    );
    drawLarge(place, { split: half, beside: width - heads.width - 22, below: width }[layout], height);
    const text = `layer ${chosen.layer}, head ${chosen.head}`;
    sayHead({ rows: layers, cols: count, row: chosen.layer, col: chosen.head, text });
    setText(title, `Layer ${chosen.layer} · head ${chosen.head}`);
    setText(entropy, entropyInWords(entry, run.moments, moment, chosen.layer, chosen.head));
  }

  let kept = { name: "", weights: null };
  function drawLarge(place, width, height) {
    const { entry, chosen, moment, theme } = now;
    const { rows, cols, queries, keys, masked } = entry;
    const head = `${place} ${chosen.layer} ${chosen.head}`;
    if (kept.name !== head)
      kept = { name: head, weights: headAtMoment(entry, moment, chosen.layer, chosen.head) };
    const { weights } = kept;
    entry.widest ??= [queries, keys].map((words) =>
      Math.ceil(Math.max(...words.map((word) => theme.measure(visible(word).slice(0, 40), 15, true)))),
    );
    matrix = matrixLayout({
      rows,
      cols,
      width,
      maxHeight: Math.max(height - 20, 160),
      rowLabel: entry.widest[0],
      colLabel: entry.widest[1],
      ratio: pixelRatio() * theme.scale,
    });
    const large = { weights, rows, cols, masked, limit: null, queries, keys };
    const cells = sheets.get(`${head} ${matrix.cell}`, () => paintCells(large, matrix, 0, theme));
    const active = cell.query !== null && cell.query < rows && cell.key < cols ? cell : NOWHERE;
    drawMatrix(
      matrixCanvas,
      matrix,
      cells,
      large,
      { active, pinned: NOWHERE, found: null, least: 0, waiting: "" },
      theme,
    );
    const told =
      active.query === null
        ? strongestInWords(entry, weights, quoted)
        : `${quoted(queries[active.query])} to ${quoted(keys[active.key])}: ${formatWeight(weights[active.query * cols + active.key])}.`;
    readout.setAttribute("aria-live", active.query === null ? "off" : "polite"); // dragging need not be read out
    setText(readout, told);
    sayCell({ rows, cols, row: active.query, col: active.key, text: told });
  }

  return { node, draw, forget: () => sheets.clear() };
}
