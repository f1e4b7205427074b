// What the viewer chooses: heads, cells and words, by pointer and by keys.

import { button } from "../base/js/controls.js";
import { ARROWS, addCanvasListeners, addZoom } from "../base/js/gestures.js";
import { headAt, moveHead } from "../base/js/head_grid.js";
import { movePlace, pinOf } from "./linked_columns.js";
import { cellAt, moveCell, reveal } from "../base/js/heatmap.js";
import { carryPins, foundIn, letGo, nextFound, NOTHING, withHead } from "./selection.js";
import { wordAt } from "./token_columns.js";

/** Let the canvases answer. `state` is what is drawn (see explorer.js); gives {findNext}. */
export function openChoosing({
  view,
  model,
  state,
  headsCanvas,
  matrixCanvas,
  wordsCanvas,
  scroller,
  zooms,
}) {
  const { set: select, listen, redraw } = view;

  /** What else changes when the kind does: its pins, and which head the kind that is left keeps. */
  function leaving(chosen, kind) {
    if (kind === chosen.kind) return {};
    return { linked_heads: { ...model.get("linked_heads"), [chosen.kind]: [chosen.layer, chosen.head] } };
  }

  function chooseHead(to, event) {
    const { chosen } = state.look();
    const adds = event && (state.several || event.ctrlKey || event.metaKey || event.shiftKey);
    if (adds && to.kind === chosen.kind) {
      select({ ...withHead(chosen, [to.layer, to.head]), layer: to.layer, head: to.head });
      return;
    }
    const change = { ...to, ...carryPins(chosen.kind, to.kind, chosen), ...leaving(chosen, to.kind) };
    if (chosen.selected.length && (event || to.kind !== chosen.kind)) {
      change.selected = []; // a head of its own again
      if (chosen.aggregate !== "rollout") change.aggregate = "head";
    }
    select(change);
  }

  function keyOnHeads(event) {
    const { chosen } = state.look();
    if (ARROWS.includes(event.key)) chooseHead(moveHead(state.shape.heads.kinds, chosen, event.key));
    else if (event.key === " ") select(withHead(chosen, [chosen.layer, chosen.head]));
    else if (event.key === "Escape") select(letGo(chosen));
    else return false;
    return true;
  }

  /** Pin a cell of the chosen picture; in the trace's own indices. */
  function pin(cell) {
    const { shown } = state.look();
    state.hover = null; // what was just said has the word
    const first = (axis, index) => (index === null ? null : axis.groups[index][0]);
    select({ query: first(shown.queryAxis, cell.query), key: first(shown.keyAxis, cell.key) });
    show(cell);
  }

  /** Bring a cell into view, in both pictures. */
  function show(cell) {
    if (state.shape.matrix?.zoom > 1) state.window = reveal(state.shape.matrix, cell);
    showWord(cell.query ?? cell.key);
  }

  function showWord(index) {
    if (index === null) return;
    const [pitch, top] = [state.shape.words.pitch, index * state.shape.words.pitch];
    const from = scroller.scrollTop / state.theme.scale;
    if (top >= from && top + pitch <= from + state.shape.words.shown) return;
    scroller.scrollTop = (top - state.shape.words.shown / 2) * state.theme.scale;
  }

  function pinOrLetGo(cell) {
    const { pinned } = state.look();
    pin(cell.query === pinned.query && cell.key === pinned.key ? NOTHING : cell);
  }

  function clickWord(place) {
    const { linked, pinned } = state.look();
    const index = place.index;
    if (linked) return pinPlace(place);
    if (place.column === 0) pin(index === pinned.query ? NOTHING : { query: index, key: null });
    else pin({ query: pinned.query, key: index === pinned.key ? null : index });
  }

  /** Pin a word of the linked columns, and with it the kind that it is a query or key of. */
  function pinPlace(place) {
    const { linked, pinned, chosen, chosenOf, pictureOf, placesFor } = state.look();
    const again = placesFor(pinned).some((one) => one.column === place.column && one.index === place.index);
    const { kind, query, key } = pinOf(linked, place);
    const picture = pictureOf(kind);
    const { layer, head } = chosenOf(kind);
    state.hover = null;
    if (again) return select(NOTHING);
    const change = kind === chosen.kind ? {} : { kind, layer, head, selected: [], aggregate: "head" };
    select({
      ...change,
      ...leaving(chosen, kind),
      query: query === null ? null : picture.queryAxis.groups[query][0],
      key: key === null ? null : picture.keyAxis.groups[key][0],
    });
    showWord(place.index);
  }

  function keyOnCells(event) {
    const { chosen, shown, pinned, linked, placesFor } = state.look();
    if (event.key === "Escape") select(letGo(chosen, true));
    else if (!ARROWS.includes(event.key)) return false;
    else if (linked)
      pinPlace(movePlace(state.shape.words.counts, placesFor(pinned)[0], event.key) ?? placesFor(pinned)[0]);
    else pin(moveCell(pinned, shown.rows, shown.cols, event.key));
    return true;
  }

  function findNext() {
    const { shown, pinned } = state.look();
    const search = model.get("search") ?? "";
    const [queries, keys] = [shown.queries, shown.keys].map((names) => foundIn(names, search));
    const next = queries && nextFound({ queries, keys }, pinned);
    if (next) pin({ query: next.query, key: next.key });
  }

  const scaleOf = () => state.theme?.scale ?? 1;
  const zoom = addZoom(view, matrixCanvas, {
    scale: scaleOf,
    layout: () => state.shape.matrix,
    onMove: (to) => {
      state.window = to;
      redraw();
    },
  });
  for (const [text, name, times] of [
    ["−", "− zoom out", 1 / 1.5],
    ["+", "+ zoom in", 1.5],
    ["Whole", "Whole: show the whole matrix", 0],
  ]) {
    button(zooms, text, () => zoom.zoomBy(times)).setAttribute("aria-label", name);
  }
  addCanvasListeners(view, headsCanvas, {
    scale: scaleOf,
    hitTest: (x, y) => (state.shape ? headAt(state.shape.heads, x, y) : null),
    onPoint: (at) => {
      state.hoverHead = at;
    },
    onClick: chooseHead,
    onKey: keyOnHeads,
  });
  addCanvasListeners(view, matrixCanvas, {
    scale: scaleOf,
    hitTest: (x, y) => (state.shape ? cellAt(state.shape.matrix, x, y) : null),
    onPoint: (at) => {
      state.hover = at;
      if (at) showWord(at.query);
    },
    onClick: (cell) => {
      if (!zoom.wasDragged()) pinOrLetGo(cell);
    },
    onKey: (event) => zoom.onKey(event) || keyOnCells(event),
    onDrag: zoom.onDrag,
  });
  addCanvasListeners(view, wordsCanvas, {
    scale: scaleOf,
    hitTest: (x, y) =>
      state.shape ? wordAt(state.shape.words, x, y + scroller.scrollTop / state.theme.scale) : null,
    onPoint: (at) => {
      if (!at) state.hover = null;
      else if (state.now?.linked) state.hover = pinOf(state.now?.linked, at);
      else state.hover = at.column ? { query: null, key: at.index } : { query: at.index, key: null };
    },
    onClick: clickWord,
    onKey: keyOnCells,
  });
  listen(scroller, "scroll", redraw);

  return { findNext };
}
