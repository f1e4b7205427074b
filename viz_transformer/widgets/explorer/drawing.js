// The drawing of one frame: a snapshot, as it is laid out, on the canvases and in the page.

import { element, setText } from "../base/js/controls.js";
import { drawHeadGrid, paintPlaceholder, paintThumbnails } from "../base/js/head_grid.js";
import { drawMatrix, paintCells } from "../base/js/heatmap.js";
import { formatWeight } from "../base/js/text.js";
import { tokenOf } from "./displayed_head.js";
import { wordsRead } from "./readout.js";
import { countApart, drawPicture, imageCanvas, pictureCaption, tokenApart } from "./patch_picture.js";
import { drawColumns } from "./token_columns.js";
import { drawWall, paintWall } from "./wall_drawing.js";

const TABLE_HEADING = 30; // above the columns of tokens, which the table takes the place of

/**
 * @typedef {object} Frame what is drawn with
 * @property {import("../base/js/colour.js").Theme} theme
 * @property {import("./caches.js").Memo} memo
 *
 * @typedef {import("./snapshot.js").Snapshot} Snapshot
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {import("./parts.js").Parts} Parts
 */

/**
 * Draw a frame.
 *
 * @param {Parts} parts
 * @param {Snapshot} snapshot
 * @param {Layout} layout
 * @param {Frame} frame
 */
export function drawFrame(parts, snapshot, layout, frame) {
  placeParts(parts, snapshot, layout, frame);
  drawOverview(parts.overview, snapshot, layout, frame);
  if (layout.matrix) drawHeatmap(parts.heatmap, snapshot, layout, frame);
  if (layout.picture) drawPatches(parts.picture, snapshot, layout, frame);
  else drawTokens(parts.tokens, snapshot, layout, frame);
  drawScale(parts.heatmap.scale, snapshot, frame);
}

/** Give the wall of heads the room of all other parts. */
export function placeWall({ root }) {
  root.dataset.layout = "wall";
  for (const name of ["linked", "strip", "aside"]) delete root.dataset[name];
}

/** The keyboard goes with the viewer: from the wall into the head that was opened, and back. */
export function followFocus({ root, overview, heatmap, tokens }, isWall) {
  const wasWall = root.dataset.layout === "wall";
  const from = wasWall ? [overview.canvas] : [heatmap.canvas, tokens.canvas];
  if (isWall === wasWall || !from.includes(document.activeElement)) return;
  // Once this frame has shown it.
  requestAnimationFrame(() => (isWall ? overview : heatmap).canvas.focus({ preventScroll: true }));
}

/**
 * Draw a frame of the wall of heads.
 *
 * @param {Parts} parts
 * @param {Snapshot} snapshot
 * @param {import("./wall_layout.js").WallLayout} layout
 * @param {Frame} frame
 */
export function drawWallFrame({ overview }, snapshot, layout, { theme, memo }) {
  const { chosen, sections, options, state, overviewOf } = snapshot;
  const entries = new Map(sections.map((section) => [section.kind, section]));
  const sheet = memo("wallSheet", [layout, sections], () =>
    paintWall(layout, overviewOf, entries, options.order, theme),
  );
  const marks = { chosen, selected: chosen.selected, hovered: state.hoveredHead };
  memo("wallMarks", [sheet, JSON.stringify(marks)], () => {
    drawWall(overview.canvas, layout, sheet, marks, overviewOf, entries, theme);
  });
  memo("overview", [sheet], () => {}); // the strip is drawn again when it is back
}

/** Give the parts their places and sizes. */
function placeParts(parts, { linked }, { room, tallest, matrix, columns, picture }, { theme }) {
  const { root, heatmap, tokens } = parts;
  root.dataset.layout = room.name;
  root.toggleAttribute("data-linked", Boolean(linked));
  root.toggleAttribute("data-strip", room.strip);
  root.toggleAttribute("data-aside", room.aside);
  const hasTable = !parts.table.node.hidden;
  root.toggleAttribute("data-table", hasTable);
  // It takes the place of the columns of tokens, so that nothing moves out of sight.
  const beside = hasTable && room.name === "wide" && !linked;
  parts.table.node.style.width = beside ? `${room.words * theme.scale}px` : "";
  parts.table.node.style.maxHeight = beside ? `${(tallest + TABLE_HEADING) * theme.scale}px` : "";
  heatmap.node.style.width = matrix && room.aside ? `${matrix.width * theme.scale}px` : "";
  heatmap.canvas.hidden = !matrix;
  heatmap.zooms.hidden = !matrix || matrix.whole >= 32;
  parts.tokens.node.hidden = Boolean(picture);
  parts.picture.node.hidden = !picture;
  tokens.scroller.style.maxHeight = `${(tallest + 4) * theme.scale}px`;
  tokens.scrolled.style.height = `${columns.height * theme.scale}px`;
}

function drawOverview({ canvas }, snapshot, { heads }, { theme, memo }) {
  const { chosen, shown, linked, sections, state, chosenOf, overviewOf } = snapshot;
  const { pitch, width, height } = heads;
  const thumbnails = memo("thumbnails", [sections, pitch, width], () =>
    paintThumbnails(overviewOf, heads, theme),
  );
  const others = sections.filter(({ kind }) => linked && kind !== chosen.kind);
  const marks = {
    chosen: { kind: chosen.kind, layer: chosen.layer, head: chosen.head },
    shown: shown.heads,
    hovered: state.hoveredHead,
    others: others.map(({ kind }) => chosenOf(kind)),
  };
  // The pointer mostly moves over other parts: what it does not change is not drawn again.
  memo("overview", [thumbnails, height, JSON.stringify(marks)], () => {
    drawHeadGrid(canvas, heads, thumbnails, marks, theme);
  });
  memo("wallMarks", [thumbnails], () => {}); // the wall is drawn again when it is back
}

function drawHeatmap({ canvas, cells: offscreen }, snapshot, { matrix }, { theme, memo }) {
  const { shown, active, pinned, entry, options, found, overviewOf, problem } = snapshot;
  const least = options.threshold * (shown.limit ?? 1);
  const { cell, rowCell, x, y, boxWidth, boxHeight } = matrix;
  const cells = memo("cells", [shown.name, cell, rowCell, x, y, boxWidth, boxHeight, least], () => {
    if (shown.weights) return paintCells(shown, matrix, least, theme, offscreen);
    const [layer, head] = shown.heads[0];
    const index = layer * entry.heads + head;
    return paintPlaceholder(overviewOf(entry.kind), index, entry.signed, theme);
  });
  const marks = {
    active,
    pinned,
    named: wordsRead(shown, active),
    least,
    found: { queries: found[0], keys: found[1] },
    waiting: problem ? "not here" : "loading…",
  };
  drawMatrix(canvas, matrix, cells, shown, marks, theme);
}

function drawTokens({ canvas, titles }, snapshot, { columns, top, paths }, { theme, memo }) {
  const { shown, links, names, active, pinned, linked, found, placesFor } = snapshot;
  const texts = linked ? linked.columns.map((one) => one.title) : ["query", "key"];
  memo("titles", [texts.join(), columns.xs.join(), columns.column], () => {
    titles.style.width = `${columns.width * theme.scale}px`;
    titles.style.gridTemplateColumns = texts.map(() => `${columns.column * theme.scale}px`).join(" ");
    titles.replaceChildren();
    for (const text of texts) element(titles, "span").textContent = text;
  });
  const marks = {
    names,
    links,
    paths,
    found,
    limit: shown.limit,
    active: placesFor(active),
    pinned: placesFor(pinned),
  };
  drawColumns(canvas, columns, top, marks, theme);
}

/** The picture, as the active query attends to it; without one, as the first token does. */
function drawPatches({ canvas, caption, announce }, snapshot, { picture, room }, { theme, memo }) {
  const { shown, pictured, active, pinned, chosen, options } = snapshot;
  const { patches } = picture;
  const { limit, cols } = pictured;
  const row = active.token ?? activeToken(shown.queryAxis, active.query, pinned.query, chosen.query) ?? 0;
  const key = activeToken(shown.keyAxis, active.key, pinned.key, chosen.key);
  const query = patches.ofQueries ? row : null;
  const ofRow = (values) => values?.subarray(row * cols, (row + 1) * cols);
  const weights = ofRow(pictured.weights) ?? new Float32Array(cols);
  const apart = countApart(patches) === 1 ? shown.entry.keys[tokenApart(patches, 0)] : undefined;
  const image = memo("image", [options.image, limit], () =>
    options.image.width ? imageCanvas(options.image, limit !== null) : null,
  );
  const least = options.threshold * (limit ?? 1);
  const marks = { weights, masked: ofRow(pictured.masked), least, query, key, limit };
  memo("picture", [pictured.name, row, key, least, picture.width, picture.height, image], () => {
    drawPicture(canvas, picture, marks, image, theme);
    const text = pictureCaption(patches, weights, query, pictured.queries[row], apart);
    caption.style.width = `${room.words * theme.scale}px`;
    setText(caption, text);
    announce({ rows: patches.rows, cols: patches.cols, row: 0, col: 0, text: text.replace("\n", ". ") });
  });
}

/** The token at a place of an axis; of the pinned place the pinned token, which may be hidden there. */
function activeToken(axis, place, pinnedPlace, pinnedToken) {
  return place === pinnedPlace ? pinnedToken : tokenOf(axis, place);
}

/** The scale of colours under the heatmap. */
function drawScale({ low, bar, high }, { shown: { limit, entry } }, { theme, memo }) {
  const { unnormalised, least } = entry;
  memo("scale", [limit, unnormalised, least], () => {
    const ends = [unnormalised ? least : -limit, limit].map((end) => formatWeight(end, limit, least));
    if (limit === null) ends.splice(0, 2, "weight 0", "1");
    else if (unnormalised) ends[0] = `weight ${ends[0]}`;
    else ends.splice(0, 2, `less ${ends[0]}`, `${ends[1]} more`);
    setText(low, ends[0]);
    setText(high, ends[1]);
    const signs = unnormalised && least === 0 ? theme.signedStops.slice(4) : theme.signedStops; // from 0
    const stops = limit === null ? theme.stops : signs;
    bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  });
}
