// The weights of the chosen head, as trained and under the changes: two matrices and their sentences.

import { element, setText, toggle } from "../base/js/controls.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { numberTable } from "../base/js/number_table.js";
import { visible } from "../base/js/text.js";
import { movedInWords, sameHead } from "./head_changes.js";
import { weightsOf } from "./moved_weights.js";

/**
 * @import { Cell } from "../base/js/number_table.js"
 * @import { View } from "../base/js/view.js"
 * @import { Head } from "./head_changes.js"
 */

/** @typedef {{queries: string[], rowNames: string[], keys: string[], rows: number, cols: number, values: Float32Array}} HeadWeights */

/**
 * One head's weights out of a reply, flat [query, key], with its words.
 *
 * @param {any} reply
 * @param {Head} head
 * @returns {HeadWeights}
 */
export function headOf(reply, { kind, layer, head }) {
  const entry = reply.kinds.find((each) => each.kind === kind);
  const [, heads, rows, cols] = entry.shape;
  const start = (layer * heads + head) * rows * cols;
  // A decoder's row is named by what it has read and what it writes.
  const reads = kind === "encoder" ? null : reply.kinds.find((each) => each.kind === "decoder")?.keys;
  const rowNames = reads
    ? entry.queries.map((word, i) => `${visible(reads[i])} → ${visible(word)}`)
    : entry.queries;
  return { ...entry, rowNames, rows, cols, values: weightsOf(entry).subarray(start, start + rows * cols) };
}

/**
 * A flat [query, key] matrix as the rows of a table.
 *
 * @param {{values: Float32Array, rows: number, cols: number}} matrix
 */
export function rowsOf({ values, rows, cols }) {
  return Array.from({ length: rows }, (_, row) => values.subarray(row * cols, (row + 1) * cols));
}

/**
 * The weight of a cell in words; without a cell, the largest weight of the pinned query.
 *
 * @param {HeadWeights} before
 * @param {HeadWeights} after
 * @param {Cell | null} at
 * @param {number | null} query
 * @param {boolean} changed whether there are changes
 */
export function cellInWords(before, after, at, query, changed) {
  const row = at?.row ?? query;
  if (row === null || row >= before.rows) return "";
  const weights = before.values.subarray(row * before.cols, (row + 1) * before.cols);
  const col = at?.col ?? weights.indexOf(Math.max(...weights));
  const rank = 1 + weights.filter((weight) => weight > weights[col]).length;
  const place = row * before.cols + col;
  const now = changed ? `; with your changes ${after.values[place].toFixed(2)}` : "";
  return `${visible(before.queries[row])} to ${visible(before.keys[col])}: ${before.values[place].toFixed(2)}, rank ${rank} of ${before.cols}${now}`;
}

/**
 * The section: `update(state, base, after, theme)`.
 *
 * @param {HTMLElement} parent
 * @param {any} model
 * @param {View} view
 */
export function addHeadWeights(parent, model, view) {
  const section = element(parent, "section", "vt-looks");
  const title = element(section, "h3", "vt-title");
  const says = element(section, "p", "vt-looks-says");
  /** @type {Cell | null} */
  let pointed = null;
  const flips = element(section, "div", "vt-controls", { role: "group", "aria-label": "Weights shown" });
  const pair = element(section, "div", "vt-pair");
  let showsAfter = true;
  const [before, after] = ["as trained", "with your changes"].map((name, which) => {
    const flip = toggle(flips, name, () => {
      showsAfter = which === 1;
      view.redraw();
    });
    const matrix = addMatrix(pair, name, {
      onPoint: (cell) => {
        if (cell?.row === pointed?.row && cell?.col === pointed?.col) return;
        pointed = cell;
        view.redraw();
      },
      onChoose: ({ row }) => view.set({ query: row === (model.get("query") ?? null) ? null : row }),
    });
    return { ...matrix, flip };
  });
  const cellSays = element(section, "p", "vt-cell-says", { role: "status", "aria-live": "polite" });

  function update({ chosen, query, factors }, baseReply, afterReply, theme) {
    const changed = afterReply !== baseReply;
    const [first, second] = [headOf(baseReply, chosen), headOf(afterReply, chosen)];
    const { label } = ATTENTION_KINDS[chosen.kind];
    setText(title, `${label} · layer ${chosen.layer} · head ${chosen.head}`);
    setText(says, changed ? changeInWords(first, second, factors, chosen) : HINT);
    flips.hidden = !changed;
    const shown = changed && showsAfter ? after : before;
    for (const matrix of [before, after]) {
      matrix.box.hidden = matrix !== shown;
      matrix.flip.set(matrix === shown);
    }
    const marks = { chosen: pointed, marked: (row) => (row === query ? "vt-pinned" : "") };
    before.update(first, marks, theme);
    after.update(second, marks, theme);
    const at = pointed && pointed.row < first.rows && pointed.col < first.cols ? pointed : null;
    setText(cellSays, cellInWords(first, second, at, query, changed));
  }

  return { update };
}

const HINT = "Click a row to pin it.";

function changeInWords(before, after, factors, chosen) {
  const own = factors.some((place) => sameHead(place, chosen));
  const why = own ? " The factor changes what this head says, not where it attends." : "";
  return movedInWords(before.values, after.values, before) + why;
}

function addMatrix(parent, name, { onPoint, onChoose }) {
  const box = element(parent, "div", "vt-matrix");
  const table = numberTable(box, { label: `Weights of the chosen head, ${name}`, onPoint, onChoose });

  /** @param {HeadWeights} weights */
  function update(weights, marks, theme) {
    const { rowNames, keys } = weights;
    const shown = { values: rowsOf(weights), rowNames, colNames: keys, digits: 2, scale: "weight" };
    table.set({ ...shown, ...marks }, theme);
  }

  return { box, update };
}
