// The attention explorer: every head at a glance, one large, and who looks at whom in words.
//
// State lives in the model's traits (kind, layer, head, query, key); what the pointer is over is
// this view's own. Whatever changes asks for a frame, and one frame draws it all.

import { placeIn } from "./canvas.js";
import { element, picture } from "./controls.js";
import { openView } from "./frame.js";
import { drawHeads, headAt, headsLayout, KIND_NAMES, moveHead, paintThumbnails } from "./heads.js";
import { cellAt, drawMatrix, matrixLayout, moveCell, paintCells } from "./matrix.js";
import { openStore } from "./store.js";
import { twoDecimals, visible } from "./text.js";
import { drawWords, wordAt, wordsLayout } from "./words.js";

const NOTHING = { query: null, key: null };
const AXES = { encoder: ["source", "source"], decoder: ["target", "target"], cross: ["target", "source"] };
const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

/** Where a head's weights start: weight of (query, key) is at offset + query * cols + key. */
export function offsetOf({ heads, rows, cols }, layer, head) {
  return (layer * heads + head) * rows * cols;
}

/** A selection made to fit the entries, as Python's own fitting does. */
export function fitSelection(entries, { kind, layer, head, query, key }) {
  const fitted = entries.has(kind) ? kind : Array.from(entries.keys()).at(-1);
  const { layers, heads, rows, cols } = entries.get(fitted);
  const inside = (index, count) => (index !== null && index < count ? index : null);
  return {
    kind: fitted,
    layer: Math.min(layer, layers - 1),
    head: Math.min(head, heads - 1),
    query: inside(query, rows),
    key: inside(key, cols),
  };
}

/** What stays pinned when the kind changes: an index along an axis that both kinds share. */
export function carryPins(from, to, { query, key }) {
  return {
    query: AXES[from][0] === AXES[to][0] ? query : null,
    key: AXES[from][1] === AXES[to][1] ? key : null,
  };
}

/** Where the pointer is, if these entries have it: a resting pointer outlives a change of head. */
export function within(hover, { rows, cols }) {
  return hover && hover.query < rows && hover.key < cols ? hover : null; // null < 1, as wanted
}

/** What is shown: the word or cell under the pointer, else what is pinned. */
export function activeCell(hover, pinned) {
  if (!hover) return pinned;
  if (hover.query === null && pinned.query !== null) return { query: pinned.query, key: hover.key };
  return hover;
}

/** One cell in words. */
export function describe(entry, query, key, weight) {
  const [word, target] = [quoted(entry.queries[query]), quoted(entry.keys[key])];
  const looks = weight < 0.05 ? "hardly looks at" : "looks at";
  if (entry.kind === "decoder" && key > query && weight === 0) {
    return `Position ${query} may not look at ${target}: it comes later.`;
  }
  if (entry.reads) return `Having read ${quoted(entry.reads[query])}, it writes ${word} and ${looks} ${target}.`;
  return `Reading ${word}, it ${looks} ${target}.`;
}

/** The readout of an active cell, row or column: {pairs: [[from, to, weight]], sentence, detail}. */
export function readout(entry, layer, head, { query, key }) {
  const at = (row, col) => entry.weights[offsetOf(entry, layer, head) + row * entry.cols + col];
  const digits = entry.dtype === "float16" ? 4 : 6;
  const place = (row, col) => `trace.${entry.kind}_attention[${layer}, ${head}, ${row}, ${col}]`;
  if (query !== null && key !== null) {
    const weight = at(query, key);
    return {
      pairs: [[entry.queries[query], entry.keys[key], weight]],
      sentence: describe(entry, query, key, weight),
      detail: `${place(query, key)} = ${Number(weight.toPrecision(digits))}`,
    };
  }
  const strongest = (count, weightOf) =>
    Array.from({ length: count }, (_, index) => index)
      .sort((a, b) => weightOf(b) - weightOf(a))
      .slice(0, 3);
  if (query !== null) {
    const keys = strongest(entry.cols, (col) => at(query, col));
    return {
      pairs: keys.map((col) => [entry.queries[query], entry.keys[col], at(query, col)]),
      sentence: describe(entry, query, keys[0], at(query, keys[0])),
      detail: place(query, ":"),
    };
  }
  if (key !== null) {
    const queries = strongest(entry.rows, (row) => at(row, key));
    return {
      pairs: queries.map((row) => [entry.queries[row], entry.keys[key], at(row, key)]),
      sentence: `Most looked at by ${quoted(entry.queries[queries[0]])}.`,
      detail: place(":", key),
    };
  }
  return {
    pairs: [],
    sentence: "Point at a cell or a word to see its weight; click to pin it. Arrow keys move, Escape lets go.",
    detail: "",
  };
}

/**
 * The arrangement of the page at a width, and each part's room in pixels.
 *
 * Beside each other as long as the width is ample, or the cells of `cols` keys stay large.
 */
export function arrange(width, cols) {
  const readable = (head) => (head - 150) / cols >= 26;
  let heads = Math.round(Math.min(300, width * 0.23));
  const words = Math.round(Math.min(400, width * 0.32));
  let head = width - heads - words - 56;
  if (width >= 900 || (width >= 800 && readable(head))) {
    return { name: "wide", heads, words, head, height: 420 };
  }
  heads = Math.round(Math.max(175, Math.min(250, width * 0.28)));
  head = width - heads - 28;
  if (width >= 700 || (width >= 520 && readable(head))) {
    return { name: "medium", heads, words: Math.min(width, 520), head, height: 400 };
  }
  return { name: "narrow", heads: width, words: Math.min(width, 520), head: width, height: 400 };
}

function quoted(token) {
  // Isolated (U+2068 … U+2069), so that a right-to-left word leaves the sentence in its order.
  return `“\u2068${visible(token)}\u2069”`;
}

export function render({ model, el }) {
  const view = openView({
    model, el, name: "explorer", label: "Attention explorer", draw,
    traits: ["data", "kind", "layer", "head", "query", "key"],
  });
  const root = view.root;
  const headsPart = element(root, "div", "vt-heads");
  const headPart = element(root, "div", "vt-head");
  const wordsPart = element(root, "div", "vt-words");
  const headsCanvas = picture(headsPart, "All heads: arrow keys choose layer and head");
  const title = element(headPart, "div", "vt-title", { role: "heading", "aria-level": "3" });
  const matrixCanvas = picture(headPart, "Weights of the chosen head: arrow keys choose query and key");
  const scale = element(headPart, "div", "vt-scale", { "aria-hidden": "true" });
  for (const text of ["weight 0", "", "1"]) element(scale, "span", text ? "" : "vt-bar").textContent = text;
  const says = element(headPart, "div", "vt-readout", { role: "status", "aria-live": "polite" });
  const [pairLine, sentenceLine, detailLine] = ["vt-pairs", "vt-sentence", "vt-detail"].map((name) =>
    element(says, "div", name));
  const columns = element(wordsPart, "div", "vt-columns", { "aria-hidden": "true" });
  for (const text of ["query", "", "key"]) element(columns, "span", "").textContent = text;
  const scroller = element(wordsPart, "div", "vt-scroll");
  const scrolled = element(scroller, "div", "vt-scrolled"); // as high as all words; the canvas stays in view
  const wordsCanvas = picture(scrolled, "Words and who looks at whom: arrow keys choose query and key");

  const store = openStore(model, view.redraw);
  let entries = store.entries;
  let [theme, thumbnails, cells, hover, hoverHead] = Array(5).fill(null);
  let shape = {}; // where things stand, by part
  let cellsOf = ""; // which head `cells` shows

  const selection = () => fitSelection(entries, {
    kind: model.get("kind"), layer: model.get("layer"), head: model.get("head"),
    query: model.get("query") ?? null, key: model.get("key") ?? null,
  });

  const select = view.set;
  const ask = view.redraw;

  function load() {
    if (!store.load()) return;
    [entries, thumbnails, cells, hover, hoverHead] = [store.entries, null, null, null, null];
  }

  function restyle(read) {
    [theme, thumbnails, cells] = [read, null, null];
    scale.children[1].style.background = `linear-gradient(to right, ${theme.stops.join(", ")})`;
  }

  function draw({ theme: read, width }) {
    load();
    if (theme !== read) restyle(read);
    const chosen = selection();
    const entry = entries.get(chosen.kind);
    const room = arrange(width, entry.cols);
    root.dataset.layout = room.name;
    const offset = offsetOf(entry, chosen.layer, chosen.head);
    const pinned = { query: chosen.query, key: chosen.key };
    const active = activeCell(within(hover, entry), pinned);

    const heads = headsLayout(Array.from(entries.values()), room.heads, room.height + 140);
    const headWidth = room.head + (room.name === "narrow" ? 0 : room.heads - heads.width);
    if (!thumbnails || heads.pitch !== shape.heads?.pitch || heads.width !== shape.heads.width) {
      thumbnails = paintThumbnails(entries, heads, theme);
    }
    drawHeads(headsCanvas, heads, thumbnails, chosen, hoverHead, theme);

    const widest = (tokens) => Math.ceil(Math.max(...tokens.map((token) => theme.measure(visible(token).slice(0, 40), 15, true))));
    const matrix = matrixLayout({
      rows: entry.rows, cols: entry.cols, width: headWidth, maxHeight: room.height,
      rowLabel: widest(entry.queries), colLabel: widest(entry.keys), ratio: globalThis.devicePixelRatio,
    });
    const name = [chosen.kind, chosen.layer, chosen.head, matrix.cell, matrix.cols].join();
    if (!cells || name !== cellsOf) [cells, cellsOf] = [paintCells(entry, offset, matrix, theme), name];
    drawMatrix(matrixCanvas, matrix, cells, entry, offset, { active, pinned }, theme, theme.measure);

    const words = wordsLayout({ rows: entry.rows, cols: entry.cols, width: room.words - 14, maxHeight: room.height });
    scroller.style.maxHeight = `${room.height + 4}px`;
    columns.style.gridTemplateColumns = `${words.queryRight - 7}px 1fr ${words.width - words.keyLeft - 7}px`;
    columns.style.width = `${words.width}px`;
    scrolled.style.height = `${words.height}px`;
    drawWords(wordsCanvas, words, scroller.scrollTop, entry, offset, { active, pinned }, theme, theme.measure);

    shape = { heads, matrix, words };
    tell(entry, chosen, active);
  }

  function tell(entry, { kind, layer, head }, active) {
    const heading = `${KIND_NAMES[kind]} · layer ${layer} · head ${head}`;
    const { pairs, sentence, detail } = readout(entry, layer, head, active);
    const told = JSON.stringify([heading, pairs, sentence, detail]);
    if (says.told === told) return; // a screen reader speaks each change once
    says.told = told;
    title.textContent = heading;
    sentenceLine.textContent = sentence;
    detailLine.textContent = detail;
    pairLine.replaceChildren(...pairs.flatMap(([from, to, weight], index) => {
      const pair = document.createElement("span");
      pair.className = index ? "vt-pair vt-lesser" : "vt-pair";
      const [left, right] = [from, to].map((token) => {
        const word = document.createElement("bdi");
        word.textContent = visible(token);
        word.title = visible(token);
        return word;
      });
      const value = document.createElement("b");
      value.textContent = twoDecimals(weight);
      if (!index) pair.append(left, " → ", right, " ", value);
      else pair.append(active.query === null ? left : right, " ", value); // the rest, in short
      return index ? [" ", pair] : [pair];
    }));
  }

  function unpinOr(cell, pinned) {
    return cell.query === pinned.query && cell.key === pinned.key ? NOTHING : cell;
  }

  function clickWord(word) {
    const { query, key } = selection();
    if (word.query !== null) select(word.query === query ? NOTHING : { query: word.query, key: null });
    else select({ key: word.key === key ? null : word.key });
  }

  function chooseHead(to) {
    const chosen = selection();
    select({ ...to, ...carryPins(chosen.kind, to.kind, chosen) });
  }

  function keyOnHeads(event) {
    if (!ARROWS.includes(event.key)) return false;
    chooseHead(moveHead(Array.from(entries.values()), selection(), event.key));
    return true;
  }

  function keyOnCells(event) {
    if (!ARROWS.includes(event.key)) return false;
    const chosen = selection();
    const { rows, cols } = entries.get(chosen.kind);
    hover = null; // the keys have the word now
    select(moveCell(chosen, rows, cols, event.key));
    showWord(selection().query);
    return true;
  }

  function showWord(query) {
    const top = query * shape.words.pitch;
    const seen = top >= scroller.scrollTop && top + shape.words.pitch <= scroller.scrollTop + scroller.clientHeight;
    if (!seen) scroller.scrollTop = top - scroller.clientHeight / 2;
  }

  const { listen } = view;

  function onPart(canvas, { find, point, click, press }) {
    const found = (event) => find(...placeIn(canvas, event));
    listen(canvas, "pointermove", (event) => {
      const at = shape.heads ? found(event) : null;
      canvas.style.cursor = at ? "pointer" : "default";
      point(at);
      ask();
    });
    listen(canvas, "pointerleave", () => { point(null); ask(); });
    listen(canvas, "click", (event) => {
      const at = shape.heads ? found(event) : null;
      if (at) click(at);
    });
    listen(canvas, "keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const taken = event.key === "Escape" ? (select(NOTHING), true) : press(event);
      if (!taken) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  onPart(headsCanvas, {
    find: (x, y) => headAt(shape.heads, x, y),
    point: (at) => { hoverHead = at; },
    click: chooseHead,
    press: keyOnHeads,
  });
  onPart(matrixCanvas, {
    find: (x, y) => cellAt(shape.matrix, x, y),
    point: (at) => {
      hover = at;
      if (at) showWord(at.query);
    },
    click: (cell) => select(unpinOr(cell, selection())),
    press: keyOnCells,
  });
  listen(scroller, "scroll", ask);
  onPart(wordsCanvas, {
    find: (x, y) => wordAt(shape.words, x, y + scroller.scrollTop),
    point: (at) => { hover = at; },
    click: clickWord,
    press: keyOnCells,
  });

  return () => {
    store.close();
    view.close();
  };
}

export default { render };
