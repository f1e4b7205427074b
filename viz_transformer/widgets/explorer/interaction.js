// Interaction: heads, cells and tokens chosen by pointer and by keys.
//
// A handler reads a snapshot and the layout of the last frame, and answers with a change of the
// model's traits or of the view's own state. Nothing else is changed here.

import { button } from "../base/js/controls.js";
import { ARROWS, addCanvasListeners, addZoom } from "../base/js/gestures.js";
import { headAt, moveHead } from "../base/js/head_grid.js";
import { cellAt, moveCell, reveal } from "../base/js/heatmap.js";
import { tokenOf } from "./displayed_head.js";
import { movePlace, pinOf } from "./linked_columns.js";
import { movePatch, patchAt } from "./patch_picture.js";
import { carryPins, escapeChange, foundIn, nextFound, NOTHING, withHead } from "./selection.js";
import { tokenAt } from "./token_columns.js";
import { moveOnWall, wallHeadAt } from "./wall_layout.js";

/**
 * @typedef {object} Access what a handler may read, and how it answers
 * @property {() => import("./snapshot.js").Snapshot} snapshot of this moment
 * @property {() => import("./layout.js").Layout | null} layout of the last frame; null before the first
 * @property {() => import("./wall_layout.js").WallLayout | null} wall of heads, where the last frame showed it
 * @property {() => number} scale that is drawn at
 * @property {(change: Partial<import("./snapshot.js").ViewState>) => void} setState
 *
 * @typedef {Access & {set: (change: Record<string, unknown>) => void, scroller: HTMLElement}} Context
 */

/**
 * Listen to the canvases and the zoom buttons.
 *
 * @param {import("../base/js/view.js").View} view
 * @param {import("./parts.js").Parts} parts
 * @param {Access} access
 */
export function addInteraction(view, { overview, heatmap, tokens, picture }, access) {
  /** @type {Context} */
  const context = { ...access, set: view.set, scroller: tokens.scroller };
  const { layout, wall, scale, setState } = access;

  addCanvasListeners(view, overview.canvas, {
    scale,
    hitTest: (x, y) => (wall() ? wallHeadAt(wall(), x, y) : layout() && headAt(layout().heads, x, y)),
    onPoint: (hoveredHead) => setState({ hoveredHead }),
    onClick: (head, event) => chooseHead(context, head, event),
    onKey: (event) => onHeadsKey(context, event),
  });
  const zoom = addZoom(view, heatmap.canvas, {
    scale,
    layout: () => layout()?.matrix,
    onMove: (window) => setState({ window }),
  });
  addZoomButtons(heatmap.zooms, zoom);
  addCanvasListeners(view, heatmap.canvas, {
    scale,
    hitTest: (x, y) => layout()?.matrix && cellAt(layout().matrix, x, y),
    onPoint: (cell) => {
      setState({ hover: cell });
      if (cell) revealToken(context, cell.query);
    },
    onClick: (cell) => {
      if (!zoom.wasDragged()) togglePin(context, cell);
    },
    onKey: (event) => zoom.onKey(event) || onCellsKey(context, event),
    onDrag: zoom.onDrag,
  });
  addCanvasListeners(view, tokens.canvas, {
    scale,
    hitTest: (x, y) => layout() && tokenAt(layout().columns, x, y + tokens.scroller.scrollTop / scale()),
    onPoint: (place) => setState({ hover: place && cellOf(context, place) }),
    onClick: (place) => toggleToken(context, place),
    onKey: (event) => onCellsKey(context, event),
  });
  view.listen(tokens.scroller, "scroll", view.redraw);
  addPictureListeners(view, picture.canvas, context);

  return {
    findNext: () => findNext(context),
    showWall: (/** @type {boolean} */ isOn) => showWall(context, isOn),
  };
}

/** A token of the picture is a query; where queries are words, it is a key. */
function addPictureListeners(view, canvas, context) {
  const { layout, scale, setState, snapshot } = context;
  const cellAtToken = (token) => {
    const { shown, pinned } = snapshot();
    const isQuery = layout().picture.patches.ofQueries;
    const index = (isQuery ? shown.queryAxis : shown.keyAxis).at[token];
    if (isQuery) return { query: index < 0 ? null : index, key: null, token }; // also of a hidden token
    return index < 0 ? null : { query: pinned.query, key: index };
  };
  addCanvasListeners(view, canvas, {
    scale,
    hitTest: (x, y) => {
      const token = layout()?.picture ? patchAt(layout().picture, x, y) : null;
      return token === null ? null : cellAtToken(token);
    },
    onPoint: (cell) => setState({ hover: cell }),
    onClick: (cell) => togglePin(context, cell),
    onKey: (event) => {
      if (!ARROWS.includes(event.key)) return onCellsKey(context, event);
      const { patches } = layout().picture;
      const { chosen } = snapshot();
      const cell = cellAtToken(movePatch(patches, patches.ofQueries ? chosen.query : chosen.key, event.key));
      if (cell) pin(context, cell);
      return true;
    },
  });
}

function addZoomButtons(parent, { zoomBy }) {
  const add = (text, label, times) =>
    button(parent, text, () => zoomBy(times)).setAttribute("aria-label", label);
  add("−", "− zoom out", 1 / 1.5);
  add("+", "+ zoom in", 1.5);
  add("Whole", "Whole: show the whole matrix", 0);
}

// --- heads ----------------------------------------------------------------------------------

function onHeadsKey(context, event) {
  const { chosen, sections } = context.snapshot();
  const wall = context.wall();
  if (ARROWS.includes(event.key)) {
    const to = wall ? moveOnWall(wall, chosen, event.key) : moveHead(sections, chosen, event.key);
    if (to) chooseHead(context, to);
  } else if (event.key === " ") context.set(withHead(chosen, [chosen.layer, chosen.head]));
  else if (event.key === "Enter" && wall) showWall(context, false);
  else return onWallKey(context, event) || onEscape(context, event, false);
  return true;
}

/** W shows all heads, or the one again; returns whether it was pressed. */
function onWallKey(context, { key }) {
  if (key !== "w" && key !== "W") return false;
  showWall(context, !context.snapshot().options.wall);
  return true;
}

/** Escape undoes one thing after another; from a head that was opened on the wall it leads back to it. */
function onEscape(context, { key }, pinsFirst) {
  if (key !== "Escape") return false;
  const { chosen, state, options } = context.snapshot();
  const { query, key: pinnedKey, selected, aggregate } = chosen;
  const isPlain = query === null && pinnedKey === null && !selected.length && aggregate === "head";
  if (isPlain && state.cameFromWall && !options.wall) showWall(context, true);
  else context.set(escapeChange(chosen, pinsFirst));
  return true;
}

/** Show all heads, or the chosen one. */
function showWall(context, isOn) {
  context.setState({ hoveredHead: null, hover: null, cameFromWall: !isOn });
  context.set({ wall: isOn });
}

/** Choose a head, or add it to the selected ones; `event` is the click, if it was one. */
function chooseHead(context, to, event = null) {
  const snapshot = context.snapshot();
  const { chosen, state } = snapshot;
  const adds = event && (state.selectsSeveral || event.ctrlKey || event.metaKey || event.shiftKey);
  if (adds && to.kind === chosen.kind) {
    context.set({ ...withHead(chosen, [to.layer, to.head]), layer: to.layer, head: to.head });
    return;
  }
  const change = {
    ...to,
    ...carryPins(chosen.kind, to.kind, chosen),
    ...rememberedHead(snapshot, to.kind),
  };
  if (chosen.selected.length && (event || to.kind !== chosen.kind)) {
    change.selected = []; // one head again
    if (chosen.aggregate !== "rollout") change.aggregate = "head";
  }
  context.set(change);
  if (event && context.wall()) showWall(context, false);
}

/** When the kind changes, the linked columns go on showing the head of the kind that is left. */
function rememberedHead({ chosen, options }, kind) {
  if (kind === chosen.kind) return {};
  return { linked_heads: { ...options.linkedHeads, [chosen.kind]: [chosen.layer, chosen.head] } };
}

// --- cells and tokens -----------------------------------------------------------------------

function onCellsKey(context, event) {
  const { shown, pinned, linked, placesFor } = context.snapshot();
  const [place] = placesFor(pinned);
  if (onWallKey(context, event) || onEscape(context, event, true)) return true;
  if (!ARROWS.includes(event.key)) return false;
  if (linked) togglePlace(context, movePlace(context.layout().columns.counts, place, event.key) ?? place);
  else pin(context, moveCell(pinned, shown.rows, shown.cols, event.key));
  return true;
}

/** Pin a cell of the chosen picture, and bring it into view. */
function pin(context, cell) {
  const { shown, state } = context.snapshot();
  context.set({
    query: cell.token ?? tokenOf(shown.queryAxis, cell.query),
    key: tokenOf(shown.keyAxis, cell.key),
  });
  const matrix = context.layout()?.matrix;
  // What was pinned is shown, wherever the pointer is.
  context.setState({ hover: null, window: matrix?.zoom > 1 ? reveal(matrix, cell) : state.window });
  revealToken(context, cell.query ?? cell.key);
}

function togglePin(context, cell) {
  const { pinned, chosen } = context.snapshot();
  const isQuery = cell.token === undefined ? cell.query === pinned.query : cell.token === chosen.query;
  pin(context, isQuery && cell.key === pinned.key ? NOTHING : cell);
}

function toggleToken(context, place) {
  const { linked, pinned } = context.snapshot();
  const { index } = place;
  if (linked) togglePlace(context, place);
  else if (place.column === 0) pin(context, index === pinned.query ? NOTHING : { query: index, key: null });
  else pin(context, { query: pinned.query, key: index === pinned.key ? null : index });
}

/** Pin a token of the linked columns, and choose the kind that it is a query or key of. */
function togglePlace(context, place) {
  const snapshot = context.snapshot();
  const { linked, pinned, chosen, chosenOf, pictureOf, placesFor } = snapshot;
  const isPinned = placesFor(pinned).some((one) => one.column === place.column && one.index === place.index);
  context.setState({ hover: null });
  if (isPinned) return context.set(NOTHING);
  const { kind, query, key } = pinOf(linked, place);
  const { queryAxis, keyAxis } = pictureOf(kind);
  const { layer, head } = chosenOf(kind);
  const change = kind === chosen.kind ? {} : { kind, layer, head, selected: [], aggregate: "head" };
  context.set({
    ...change,
    ...rememberedHead(snapshot, kind),
    query: tokenOf(queryAxis, query),
    key: tokenOf(keyAxis, key),
  });
  revealToken(context, place.index);
}

/** The cell that a place in the columns stands for. */
function cellOf(context, place) {
  const { linked } = context.snapshot();
  if (linked) return pinOf(linked, place);
  return place.column ? { query: null, key: place.index } : { query: place.index, key: null };
}

/** Scroll a token of the columns into view. */
function revealToken({ layout, scale, scroller }, index) {
  const columns = layout()?.columns; // none while all heads are shown
  if (index === null || !columns) return;
  const { pitch, shown } = columns;
  const [top, from] = [index * pitch, scroller.scrollTop / scale()];
  if (top >= from && top + pitch <= from + shown) return;
  scroller.scrollTop = (top - shown / 2) * scale();
}

/** Pin the next token that is searched for. */
function findNext(context) {
  const { shown, pinned, options } = context.snapshot();
  const [queries, keys] = [shown.queries, shown.keys].map((names) => foundIn(names, options.search));
  const next = queries && nextFound({ queries, keys }, pinned);
  if (next) pin(context, { query: next.query, key: next.key });
}
