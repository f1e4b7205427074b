// The attention explorer: every head at a glance, one large, and who looks at whom in words.
//
// What is chosen lives in the model's traits; what the pointer is over and which part is zoomed is
// this view's own. Whatever changes asks for a frame, and one frame draws it all.

import { arrange, notes } from "./layout.js";
import { changeLimit, openPictures } from "./displayed_head.js";
import { openChoosing } from "./interaction.js";
import { element, focusableCanvas, setText } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import {
  drawHeadGrid,
  headGridLayout,
  paintPlaceholder,
  paintThumbnails,
  sortedHeads,
} from "../base/js/head_grid.js";
import { drawMatrix, matrixLayout, offscreenCanvas, paintCells, WHOLE } from "../base/js/heatmap.js";
import { lookAt } from "./snapshot.js";
import { openPanel } from "./options_panel.js";
import { isMany, pathsOf } from "./attention_paths.js";
import { openReadout } from "./readout.js";
import { foundIn, foundInWords } from "./selection.js";
import { ariaGrid } from "../base/js/aria_grid.js";
import { openStore } from "./weight_store.js";
import { headInWords, openTelling, marksInWords } from "./narration.js";
import { visible } from "../base/js/text.js";
import { openTwin } from "./data_table.js";
import { drawWords, wordsInView, wordsLayout } from "./token_columns.js";

const MANY_WEIGHTS = 4e6;
const TRAITS = [
  "data",
  "kind",
  "layer",
  "head",
  "query",
  "key",
  "selected",
  "aggregate",
  "threshold",
  "hide_special",
  "merge_words",
  "order",
  "search",
  "linked",
  "linked_heads",
  "text_size",
];

export function render({ model, el }) {
  const view = createView({ model, el, name: "explorer", label: "Attention explorer", draw, traits: TRAITS });
  const { root, redraw } = view;
  const bar = root.querySelector(".vt-about");
  const panelPlace = element(root, "div", "vt-panel");
  const headsPart = element(root, "div", "vt-heads");
  const title = element(root, "div", "vt-title", { role: "heading", "aria-level": "3" });
  const headPart = element(root, "div", "vt-head");
  const wordsPart = element(root, "div", "vt-words");
  const headsCanvas = focusableCanvas(
    headsPart,
    "All heads: arrow keys choose layer and head, Space selects several",
  );
  const labelLine = element(headsPart, "div", "vt-label");
  const legend = element(headsPart, "div", "vt-label");
  const matrixCanvas = focusableCanvas(
    headPart,
    "Weights of the chosen head: arrow keys choose query and key, plus and minus zoom",
  );
  const scale = element(headPart, "div", "vt-scale");
  const [low, middle, high] = ["", "vt-bar", ""].map((name) => element(scale, "span", name));
  const zooms = element(scale, "span", "vt-zooms", { role: "group", "aria-label": "Zoom" });
  const noteLine = element(headPart, "div", "vt-notes");
  const says = openReadout(headPart);
  const columns = element(wordsPart, "div", "vt-columns", { "aria-hidden": "true" });
  const scroller = element(wordsPart, "div", "vt-scroll");
  const scrolled = element(scroller, "div", "vt-scrolled"); // as high as all words; the canvas stays in view
  const wordsCanvas = focusableCanvas(
    scrolled,
    "Words and who looks at whom: arrow keys choose query and key",
  );
  const twin = openTwin(root);
  const sayHead = ariaGrid(headsCanvas);

  const store = openStore(model, redraw);
  const pictures = openPictures(store);
  const panel = openPanel(bar, panelPlace, {
    set: view.set,
    get: (name) => model.get(name),
    several: (on) => {
      state.several = on;
      redraw();
    },
    table: (open) => {
      twin.node.hidden = !open;
      redraw();
    },
    next: () => choosing.findNext(),
  });
  const sheet = offscreenCanvas(); // of the large head
  const lastHeads = new Map(); // of each kind, for the linked picture
  const kept = new Map(); // what was worked out for a name: {name, value} by what it is
  const tell = openTelling({
    store,
    title,
    says,
    spoken: [ariaGrid(matrixCanvas), ariaGrid(wordsCanvas)],
    twin,
    once,
    redraw,
  });
  // What is drawn (`now`, and `shape`, where it stands), and what is this view's own.
  const state = {
    theme: null,
    now: null,
    shape: null,
    hover: null,
    hoverHead: null,
    several: false,
    window: WHOLE,
  };
  state.look = () => (state.now = lookAt(model, store, pictures, lastHeads, state.hover)); // as it is this moment

  /** What was worked out under this name, or worked out now. */
  function once(what, name, make) {
    if (kept.get(what)?.name !== name) kept.set(what, { name, value: make() });
    return kept.get(what).value;
  }

  const choosing = openChoosing({
    view,
    model,
    state,
    headsCanvas,
    matrixCanvas,
    wordsCanvas,
    scroller,
    zooms,
  });

  function draw({ theme, width: pixels }) {
    if (store.load()) {
      pictures.forget();
      kept.clear();
      Object.assign(state, { hover: null, hoverHead: null, window: WHOLE });
    }
    const size = model.get("text_size") ?? 1;
    if (state.theme !== theme || theme.scale !== size) kept.clear();
    theme.scale = size;
    root.style.fontSize = `${14 * theme.scale}px`;
    state.theme = theme;
    const now = state.look();
    const { chosen, entry, shown, linked } = now;
    const width = pixels / theme.scale;
    const room = arrange(width, shown.cols, Boolean(linked));
    root.dataset.layout = room.name;
    root.toggleAttribute("data-linked", Boolean(linked));
    const shape = { heads: drawOverview(room) };
    state.shape = shape;
    const headWidth = room.head + (room.name === "narrow" ? 0 : room.heads - shape.heads.width);
    const least = model.get("threshold") ?? 0;
    const found = once(
      "found",
      JSON.stringify([now.links.map((link) => link.shown.name), model.get("search")]),
      () => now.names.map((names) => foundIn(names, model.get("search") ?? "")),
    );
    matrixCanvas.hidden = Boolean(linked);
    if (!linked) drawLarge(room, headWidth, least, found);
    const lines = drawColumns(
      room,
      linked && room.name !== "narrow" ? room.words + room.heads - shape.heads.width : room.words,
      least,
      found,
    );
    dressScale();
    zooms.hidden = Boolean(linked) || shape.matrix.whole >= 32;
    setText(
      noteLine,
      notes(shown, { threshold: least, mergeWords: model.get("merge_words"), lines }).join(" "),
    );
    tell(now, shape.paths.reach);
    const told = {
      chosen,
      canLink: Boolean(now.plan),
      isSeveral: state.several,
      noRollout: Boolean(entry.noRollout),
      isSigned: Boolean(entry.signed),
      hasSpecial: Boolean(entry.special?.queries.includes(true) || entry.special?.keys.includes(true)),
      hasWords: Boolean(entry.words?.queries || entry.words?.keys),
      foundText: model.get("search") ? foundInWords(found) : "",
    };
    once("panel", JSON.stringify([told, TRAITS.slice(6).map((name) => model.get(name))]), () =>
      panel.update(told),
    );
  }

  function drawOverview(room) {
    const {
      theme,
      now: { chosen, shown, linked, chosenOf, entry },
    } = state;
    const order = model.get("order") ?? "layer";
    for (const { kind, layers, heads, rows, cols } of store.entries.values()) {
      // Not unasked, where it would keep Python busy while the viewer waits for the next head.
      if (order !== "layer" || (kind === chosen.kind && layers * heads * rows * cols < MANY_WEIGHTS))
        store.measure(kind);
    }
    const measured = Array.from(store.entries.values(), (entry) => Boolean(entry.entropies));
    const kinds = once("kinds", JSON.stringify([order, measured]), () =>
      Array.from(store.entries.values(), (entry) => ({
        ...entry,
        slots: order === "layer" ? null : sortedHeads(entry, order),
        limit: entry.signed ? changeLimit(store.overview(entry.kind)) : null,
      })),
    );
    const layout = headGridLayout(kinds, room.heads, room.height + 140);
    const thumbnails = once("thumbnails", JSON.stringify([order, measured, layout.pitch, layout.width]), () =>
      paintThumbnails(store.overview, layout, theme),
    );
    const marks = {
      chosen: { kind: chosen.kind, layer: chosen.layer, head: chosen.head },
      shown: shown.heads,
      hovered: state.hoverHead,
      others: linked ? kinds.filter((one) => one.kind !== chosen.kind).map((one) => chosenOf(one.kind)) : [],
    };
    // The pointer mostly moves elsewhere: what it does not change is not drawn again.
    once(
      "overview",
      JSON.stringify([order, measured, layout.pitch, layout.width, layout.height, marks]),
      () => drawHeadGrid(headsCanvas, layout, thumbnails, marks, theme),
    );
    const at = state.hoverHead ?? chosen;
    for (const line of [labelLine, legend]) line.style.width = `${layout.width * theme.scale}px`;
    setText(legend, marksInWords(store.entries));
    setText(labelLine, headInWords(store.entries.get(at.kind), at));
    const layersOf = (sections) => sections.reduce((sum, one) => sum + one.layers, 0);
    const above = layersOf(
      kinds.slice(
        0,
        kinds.findIndex((one) => one.kind === chosen.kind),
      ),
    );
    sayHead({
      rows: layersOf(kinds),
      cols: Math.max(...kinds.map((one) => one.heads)),
      row: above + chosen.layer,
      col: chosen.head,
      text: headInWords(entry, chosen),
    });
    return { ...layout, kinds };
  }

  function drawLarge(room, width, least, found) {
    const {
      theme,
      shape,
      now: { shown, active, pinned, entry },
    } = state;
    const widest = (names, what) =>
      once(what, names, () =>
        Math.ceil(Math.max(...names.map((name) => theme.measure(visible(name).slice(0, 40), 15, true)))),
      );
    const layout = matrixLayout({
      rows: shown.rows,
      cols: shown.cols,
      width,
      maxHeight: room.height,
      rowLabel: widest(shown.queries, "rowLabel"),
      colLabel: widest(shown.keys, "colLabel"),
      ratio: (globalThis.devicePixelRatio || 1) * theme.scale,
      view: state.window,
    });
    const { cell, x, y, boxWidth, boxHeight } = layout;
    const cells = once("cells", JSON.stringify([shown.name, cell, x, y, boxWidth, boxHeight, least]), () => {
      if (shown.weights) return paintCells(shown, layout, least, theme, sheet);
      const [layer, head] = shown.heads[0];
      return paintPlaceholder(
        store.overview(entry.kind),
        layer * entry.heads + head,
        entry.signed,
        shown.limit,
        theme,
      );
    });
    drawMatrix(
      matrixCanvas,
      layout,
      cells,
      shown,
      {
        active,
        pinned,
        least,
        found: { queries: found[0], keys: found[1] },
        waiting: store.problem ? "not here" : "loading…",
      },
      theme,
    );
    shape.matrix = layout;
  }

  function drawColumns(room, width, least, found) {
    const {
      theme,
      shape,
      now: { shown, links, names, active, pinned, linked, placesFor },
    } = state;
    const layout = wordsLayout({
      counts: names.map((one) => one.length),
      width: width - 14,
      maxHeight: room.height,
    });
    scroller.style.maxHeight = `${(room.height + 4) * theme.scale}px`;
    scrolled.style.height = `${layout.height * theme.scale}px`;
    const titles = linked ? linked.columns.map((one) => one.title) : ["query", "key"];
    once("columns", JSON.stringify([titles, layout.xs, layout.column]), () => {
      columns.style.width = `${layout.width * theme.scale}px`;
      columns.style.gridTemplateColumns = titles.map(() => `${layout.column * theme.scale}px`).join(" ");
      columns.replaceChildren();
      for (const text of titles) element(columns, "span").textContent = text;
    });
    const focus = placesFor(active)[0] ?? null;
    const top = scroller.scrollTop / theme.scale;
    const inView =
      links.some((link) => isMany(link.shown)) && !focus
        ? wordsInView(layout, top, Math.max(...layout.counts))
        : undefined;
    const paths = once(
      "paths",
      JSON.stringify([links.map((link) => link.shown.name), focus, least, inView]),
      () => pathsOf(links, layout.counts, focus, least, inView),
    );
    drawWords(
      wordsCanvas,
      layout,
      top,
      {
        names,
        links,
        paths,
        found,
        limit: shown.limit,
        active: placesFor(active),
        pinned: placesFor(pinned),
      },
      theme,
    );
    [shape.words, shape.paths] = [layout, paths];
    return focus ? [] : paths.lines;
  }

  function dressScale() {
    const {
      theme,
      now: {
        shown: { limit },
      },
    } = state;
    const stops = limit === null ? theme.stops : theme.signedStops;
    once("scale", JSON.stringify([limit]), () => {
      low.textContent = limit === null ? "weight 0" : `less −${limit.toFixed(2)}`;
      high.textContent = limit === null ? "1" : `+${limit.toFixed(2)} more`;
      middle.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    });
  }

  return () => {
    store.close();
    view.close();
  };
}

export default { render };
