// The layout of one frame: where everything in a snapshot stands, in units of the text size.

import { headGridLayout } from "../base/js/head_grid.js";
import { matrixLayout } from "../base/js/heatmap.js";
import { visible } from "../base/js/text.js";
import { isMany, pathsOf } from "./attention_paths.js";
import { columnsLayout, tokensInView } from "./token_columns.js";

const LONGEST_LABEL = 40; // characters of a token that are measured
const SCROLLBAR = 14;

/** @typedef {ReturnType<typeof layOut>} Layout */

/**
 * Lay a snapshot out.
 *
 * @param {import("./snapshot.js").Snapshot} snapshot
 * @param {object} frame
 * @param {number} frame.width of the view, in units of the text size
 * @param {number} frame.scrollTop of the columns of tokens, in the same units
 * @param {import("../base/js/colour.js").Theme} frame.theme
 * @param {import("./caches.js").Memo} frame.memo
 */
export function layOut(snapshot, { width, scrollTop, theme, memo }) {
  const { shown, linked, sections } = snapshot;
  const room = partWidths(width, shown.cols, Boolean(linked));
  const heads = headGridLayout(sections, room.heads, room.height + 140);
  const spare = room.name === "narrow" ? 0 : room.heads - heads.width;
  return {
    room,
    heads,
    matrix: linked ? null : layOutMatrix(snapshot, room.head + spare, room.height, theme, memo),
    ...layOutColumns(snapshot, linked ? room.words + spare : room.words, room.height, scrollTop, memo),
  };
}

/**
 * The arrangement of the page at a width, and each part's room in pixels.
 *
 * Beside each other as long as the width is ample, or the cells of `cols` keys stay large. What is
 * `linked` takes the place of the matrix and its tokens.
 */
export function partWidths(width, cols, linked = false) {
  const readable = (head) => (head - 150) / cols >= 26;
  let heads = Math.round(Math.min(300, width * 0.23));
  let words = Math.round(Math.min(400, width * 0.32));
  let head = width - heads - words - 56;
  if (!linked && !readable(head)) {
    // A longer sentence needs the room itself: its columns could not all be named.
    heads = Math.round(Math.min(heads, Math.max(190, width * 0.18)));
    words = Math.round(Math.min(words, Math.max(255, width * 0.265)));
    head = width - heads - words - 56;
  }
  if (width >= 900 || (width >= 800 && (linked || readable(head)))) {
    return { name: "wide", heads, words: linked ? head + words + 28 : words, head, height: 420 };
  }
  heads = Math.round(Math.max(175, Math.min(250, width * 0.28)));
  head = width - heads - 28;
  if (width >= 700 || (width >= 520 && !linked && readable(head))) {
    return { name: "medium", heads, words: linked ? head : Math.min(width, 520), head, height: 400 };
  }
  return {
    name: "narrow",
    heads: width,
    words: linked ? width : Math.min(width, 520),
    head: width,
    height: 400,
  };
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
    rowLabel: widest("rowLabel", shown.queries),
    colLabel: widest("colLabel", shown.keys),
    ratio: (globalThis.devicePixelRatio || 1) * theme.scale,
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
