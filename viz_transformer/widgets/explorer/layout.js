// The layout of one frame: where everything in a snapshot stands, in units of the text size.

import { pixelRatio } from "../base/js/canvas.js";
import { headGridLayout } from "../base/js/head_grid.js";
import { matrixLayout } from "../base/js/heatmap.js";
import { visible } from "../base/js/text.js";
import { isMany, pathsOf } from "./attention_paths.js";
import { pictureLayout } from "./patch_picture.js";
import { columnsLayout, tokensInView } from "./token_columns.js";
import { wallHeads } from "./wall_heads.js";
import { wallLayout } from "./wall_layout.js";

const LONGEST_LABEL = 40; // characters of a token that are measured
const SCROLLBAR = 14;
const GAP = 28;
const STRIP_LAYERS = 6; // the most that thumbnails in a strip can be told apart of
const STRIP = 150; // the most that such a strip may take
const NARROW_STRIP = 420; // where each kind has a line of its own, and a finger chooses a head
const TALLEST = 420; // of the matrix with its labels
const LEAST = 220;
const READOUT = 210;
const READOUT_HEIGHT = 140;
const AROUND = 208; // what stands over and under the matrix, besides the strip and the readout

const BAR = 130; // over and under the heads, where they stand beside the matrix
const UNDER_WALL = 72; // for two lines about a head

/** @typedef {ReturnType<typeof layOut>} Layout */

/**
 * Lay a snapshot out.
 *
 * @param {import("./snapshot.js").Snapshot} snapshot
 * @param {object} frame
 * @param {number} frame.width of the view, in units of the text size
 * @param {number} frame.height that the view may take so that it is seen whole, in the same units
 * @param {boolean} frame.hasTable whether the table is open
 * @param {number} frame.scrollTop of the columns of tokens, in the same units
 * @param {import("../base/js/colour.js").Theme} frame.theme
 * @param {import("./caches.js").Memo} frame.memo
 */
export function layOut(snapshot, { width, height, scrollTop, hasTable, theme, memo }) {
  const { shown, linked, sections } = snapshot;
  const layers = Math.max(...sections.map((one) => one.layers));
  const room = partWidths(width, { cols: shown.cols, layers, linked: Boolean(linked), table: hasTable });
  const beside = Math.max(LEAST, Math.min(TALLEST + 140, height - BAR));
  const strip = room.name === "narrow" ? NARROW_STRIP : STRIP;
  const heads = headGridLayout(sections, room.heads, room.strip ? strip : beside);
  const spare = room.strip ? 0 : room.heads - heads.width;
  const around = (room.aside ? AROUND : AROUND + READOUT_HEIGHT) + (room.strip ? heads.height : 0);
  const tallest = room.name === "narrow" ? TALLEST : Math.max(LEAST, Math.min(TALLEST, height - around));
  return {
    room,
    heads,
    tallest,
    picture: snapshot.patches && layOutPicture(snapshot, room, tallest),
    matrix: linked ? null : layOutMatrix(snapshot, room.head + spare, tallest, theme, memo),
    ...layOutColumns(snapshot, linked ? room.words + spare : room.words, tallest, scrollTop, memo),
  };
}

/** The heads of each kind on the wall, as they are sorted and filtered. */
export function headsOnWall({ sections, options }, memo) {
  const { order, filter } = options;
  const asked = JSON.stringify([order, filter]);
  return memo("wallHeads", [sections, asked], () =>
    sections.map((section) => ({ ...section, ...wallHeads(section, { order, ...filter }) })),
  );
}

/**
 * Lay the wall of heads out, in units of the text size.
 *
 * @param {ReturnType<typeof headsOnWall>} heads
 * @param {{width: number, height: number, memo: import("./caches.js").Memo}} frame `height` from the
 *   wall's upper edge to where the view is no longer in sight
 */
export function layOutWall(heads, { width, height, memo }) {
  const room = Math.max(LEAST, Math.floor(height - UNDER_WALL));
  return memo("wall", [heads, width, room], () => wallLayout(heads, width, room));
}

/**
 * The arrangement of the page at a width, and each part's room in pixels.
 *
 * The thumbnails are a strip over the matrix, or stand beside it where a model has too many layers.
 * The lines are beside the matrix, and the readout beside these, as long as the cells of `cols` keys
 * stay large. What is `linked` takes the place of matrix and lines.
 */
export function partWidths(width, { cols, layers, linked, table = false }) {
  const strip = layers <= STRIP_LAYERS;
  const heads = strip ? width : Math.round(Math.max(175, Math.min(300, width * 0.2)));
  const beside = strip ? width : width - heads - GAP;
  const words = Math.round(Math.max(table ? 320 : 200, Math.min(340, beside * 0.24)));
  const cell = (room) => (room - words - GAP - 200) / cols;
  if (strip && width >= 800 && (linked || width >= 980 || cell(beside - READOUT - GAP) >= 18)) {
    const both = beside - READOUT - GAP;
    return {
      name: "wide",
      strip,
      aside: true,
      heads,
      words: linked ? both : words,
      head: both - words - GAP,
    };
  }
  if (width >= 700 || (width >= 520 && (linked || cell(beside) >= 20))) {
    const head = beside - words - GAP;
    return { name: "wide", strip, aside: false, heads, words: linked ? beside : words, head };
  }
  const under = linked ? width : Math.min(width, 520);
  return { name: "narrow", strip: true, aside: false, heads: width, words: under, head: width };
}

function layOutPicture({ patches, options }, room, tallest) {
  return pictureLayout(patches, { width: room.words, height: tallest }, options.image);
}

function layOutMatrix({ shown, state }, width, maxHeight, theme, memo) {
  const widest = (slot, names) =>
    memo(slot, [names], () =>
      Math.ceil(
        Math.max(...names.map((name) => theme.measure(visible(name).slice(0, LONGEST_LABEL), 15, true))),
      ),
    );
  return matrixLayout({
    rows: shown.rows,
    cols: shown.cols,
    width,
    maxHeight,
    rowSeconds: shown.rowSeconds,
    colSeconds: shown.colSeconds,
    rowLabel: widest("rowLabel", shown.rowNames),
    colLabel: widest("colLabel", shown.keys),
    ratio: pixelRatio() * theme.scale * (theme.zoom ?? 1),
    view: state.window,
  });
}

/** The columns of tokens, how far they are scrolled, and the paths between them. */
function layOutColumns({ links, names, active, options, placesFor }, width, maxHeight, scrollTop, memo) {
  const columns = columnsLayout({
    counts: names.map((one) => one.length),
    width: width - SCROLLBAR,
    maxHeight,
  });
  // The browser scrolls no further than this, once the page has the new height.
  const top = Math.min(scrollTop, Math.max(0, columns.height - Math.min(columns.height, maxHeight + 4)));
  const focus = placesFor(active)[0] ?? null;
  const inView =
    links.some((link) => isMany(link.shown)) && !focus
      ? tokensInView(columns, top, Math.max(...columns.counts))
      : undefined;
  const linkNames = links.map((link) => link.shown.name).join();
  const paths = memo(
    "paths",
    [linkNames, focus?.column, focus?.index, options.threshold, inView?.join()],
    () => pathsOf(links, columns.counts, focus, options.threshold, inView),
  );
  return { columns, top, focus, paths };
}
