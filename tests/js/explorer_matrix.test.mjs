// The explorer's matrix, its zoom and its axes of time; pairs of sentences, and the picture of a vision model.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as heatmap from "../../viz_transformer/widgets/base/js/heatmap.js";
import { axisOf } from "../../viz_transformer/widgets/explorer/displayed_head.js";
import * as picture from "../../viz_transformer/widgets/explorer/patch_picture.js";
import { keptOf, pairInWords, pairsOf } from "../../viz_transformer/widgets/explorer/sentence_pair.js";
import { WeightStore } from "../../viz_transformer/widgets/explorer/weight_store.js";
import { assertTable, floats } from "./helpers.mjs";

const { cellAt, matrixLayout, zoomAround } = heatmap;
const ROOM = { width: 480, maxHeight: 420, rowLabel: 50, colLabel: 50 };

test("the matrix and its labels stay inside their room", () => {
  const sizes = ["5 5", "1 12", "12 1", "40 40", "128 128", "512 300", "1024 1024"];
  const labels = ["40 40", "400 400", "8 200"];
  const windows = ["320 1", "480 1", "640 1", "480 3", "480 1000"];
  const cases = sizes.flatMap((size) =>
    labels.flatMap((label) => windows.map((w) => `${size} ${label} ${w}`)),
  );
  for (const each of cases) {
    const [rows, cols, rowLabel, colLabel, width, zoom] = each.split(" ").map(Number);
    const view = { zoom, row: rows * 0.9, col: cols * 0.9 };
    const layout = matrixLayout({ rows, cols, width, maxHeight: 420, rowLabel, colLabel, view });
    assert.ok(layout.cell > 0 && layout.cell <= 64, each);
    assert.ok(layout.width <= width, each);
    assert.ok(layout.top + layout.boxHeight <= 420.5, each);
    assert.ok(layout.x >= 0 && layout.x + layout.boxWidth <= cols * layout.cell + 1, each);
    assert.ok(layout.y >= 0 && layout.y + layout.boxHeight <= rows * layout.cell + 1, each);
    const reach = layout.flat ? 0 : layout.colRoom * Math.SQRT1_2;
    assert.ok(layout.left + layout.boxWidth + reach <= layout.width, each);
    assert.ok(layout.flat ? colLabel < layout.whole : layout.top > reach, each);
    assert.ok(layout.rowStep * layout.cell >= 14 && layout.colStep * layout.cell >= 14, each);
  }
});

test("a point is in the cell that is drawn there, and arrow keys move the cell up to the edges", () => {
  const layout = matrixLayout({ ...ROOM, rows: 4, cols: 6 });
  const at = (query, key) =>
    cellAt(layout, layout.left + (key + 0.5) * layout.cell, layout.top + (query + 0.5) * layout.cell);
  assert.deepEqual(
    [at(0, 0), at(3, 5)],
    [
      { query: 0, key: 0 },
      { query: 3, key: 5 },
    ],
  );
  assert.deepEqual([at(4, 0), at(0, -1)], [null, null]);
  assertTable(
    (query, key, arrow) => Object.values(heatmap.moveCell({ query, key }, 3, 3, arrow)),
    [
      [null, null, "ArrowDown", [0, 0]],
      [1, null, "ArrowDown", [2, 0]],
      [2, 1, "ArrowDown", [2, 1]],
      [2, 1, "ArrowLeft", [2, 0]],
      [0, 0, "ArrowUp", [0, 0]],
    ],
  );
});

test("zoom keeps what is under the pointer there, and panning and revealing move the window", () => {
  const size = { ...ROOM, rows: 256, cols: 256 };
  const whole = matrixLayout(size);
  const point = [whole.left + 100, whole.top + 150];
  const near = matrixLayout({ ...size, view: zoomAround(whole, 8, ...point) });
  assert.deepEqual(cellAt(near, ...point), cellAt(whole, ...point));
  assert.ok(near.cell >= 8 * whole.cell * 0.9);
  const panned = matrixLayout({ ...size, view: heatmap.panBy(near, -30, 10) });
  assert.deepEqual([panned.x - near.x, panned.y - near.y], [30, -10]);
  const there = matrixLayout({ ...size, view: heatmap.reveal(near, { query: 250, key: 3 }) });
  const seen = (place, from, box) => place * there.cell >= from && (place + 1) * there.cell <= from + box;
  assert.ok(seen(250, there.y, there.boxHeight) && seen(3, there.x, there.boxWidth));
  assert.equal(matrixLayout({ ...size, view: zoomAround(near, 0) }).zoom, 1);
});

test("an axis of time names round times, and no more than fit", () => {
  assert.equal(heatmap.timesAt(null, [0, 9], 3), null);
  const whole = heatmap.timesAt(0.02, [0, 1500], 7.9);
  assert.equal([...whole.values()].join(), "0 s,5 s,10 s,15 s,20 s,25 s");
  assert.equal(whole.get(250), "5 s");
  assert.equal([...heatmap.timesAt(0.02, [700, 720], 4).values()].join(), "14 s,14.1 s,14.2 s,14.3 s");
  for (const most of [0, 1, 2, 40])
    assert.ok(heatmap.timesAt(0.02, [0, 1], most).size <= Math.max(1, most) + 1);
});

test("words over sound have rows that can be read and pointed at", () => {
  const size = {
    rows: 7,
    cols: 1500,
    width: 620,
    maxHeight: 400,
    rowLabel: 80,
    colLabel: 50,
    colSeconds: 0.02,
  };
  const flat = matrixLayout(size);
  assert.ok(flat.rowCell >= 24 && flat.cell < 1);
  assert.ok(flat.width <= 620 && flat.boxHeight <= 7 * 26);
  const point = [flat.left + 300, flat.top + 4.5 * flat.rowCell];
  assert.equal(cellAt(flat, ...point).query, 4);
  const square = matrixLayout({ ...size, rows: 1500, rowSeconds: 0.02 });
  assert.equal(square.rowCell, square.cell);
});

const SEGMENTS = [0, 0, 1];

test("a filter of sentences leaves their queries and keys, and those of special tokens alone", () => {
  const named = (words, special, hideSpecial, isKept) =>
    axisOf(words, special, null, { hideSpecial, mergeWords: false }, isKept).names.join();
  const kept = keptOf("AB", SEGMENTS);
  assert.equal(named(["a", "b", "c"], [], false, kept.queries), "a,b");
  assert.equal(named(["a", "b", "c"], [], false, kept.keys), "c");
  assert.equal(named(["a", "b", "[SEP]"], [false, false, true], true, kept.keys), "[SEP]");
  assert.match(pairInWords("AB"), /A → sentence B/);
  assert.equal(pairInWords("all"), "");
});

test("only the kind in which the pair attends to itself is filtered", () => {
  const square = { rows: 3, cols: 3 };
  const both = new Map(Object.entries({ encoder: square, cross: { rows: 2, cols: 3 } }));
  assertTable(
    (kinds, segments) => pairsOf(kinds, segments, "AB"),
    [
      [both, SEGMENTS, { encoder: "AB" }],
      [new Map([["decoder", square]]), SEGMENTS, { decoder: "AB" }],
      [both, [0, 1], {}], // of another text
      [both, [], {}],
    ],
  );
  const attention = {
    encoder: { shape: [1, 1, 3, 3], weights: floats(0.5, 0.25, 0.25, 0, 0.6, 0.4, 0.1, 0.1, 0.8) },
  };
  const words = { sourceTokens: ["a", "b", "c"], targetTokens: [], outputTokens: null };
  const trace = { ...words, sourceWords: null, targetWords: null, attention };
  const model = {
    get: (name) => ({ data: { version: 0, traces: [trace] } })[name],
    send() {},
    on() {},
    off() {},
  };
  const { values, rows, cols } = new WeightStore(model, () => {}).overview("encoder", "AB", SEGMENTS);
  assert.deepEqual([rows, cols, ...values], [2, 1, 64, 102]);
});

const PATCHES = { rows: 2, cols: 3, extra: 1, ofQueries: true }; // a class token, then six patches

test("the last keys are the patches, and what stands before them is apart", () => {
  assertTable(
    (kind, rows, cols, patches) => picture.patchesOf({ kind, rows, cols }, patches),
    [
      ["encoder", 7, 7, [2, 3], PATCHES],
      ["cross", 4, 6, [2, 3], { ...PATCHES, extra: 0, ofQueries: false }],
      ["decoder", 4, 4, [2, 3], null], // fewer keys than patches
      ["encoder", 7, 7, [], null],
    ],
  );
});

test("each token is found under the middle of its place, and the picture keeps its shape", () => {
  const layout = picture.pictureLayout(PATCHES, { width: 200, height: 400 }, {});
  const { left, width, height } = layout;
  assert.equal(picture.patchAt(layout, 5, 5), 0);
  for (let token = 1; token <= 6; token++) {
    const [row, column] = [Math.floor((token - 1) / 3), (token - 1) % 3];
    const [x, y] = [left + ((column + 0.5) * width) / 3, ((row + 0.5) * height) / 2];
    assert.equal(picture.patchAt(layout, x, y), token);
  }
  assert.equal(picture.patchAt(layout, left + width + 3, 5), null);
  assert.equal(picture.patchAt(layout, left + 5, height + 3), null);
  const wide = picture.pictureLayout(PATCHES, { width: 300, height: 200 }, { width: 400, height: 100 });
  assert.equal(wide.width / wide.height, 4);
  assert.ok(wide.left + wide.width <= 300 && wide.height <= 200);
});

test("the arrow keys move over patches, and from the first row to the class token", () => {
  assertTable(
    (token, key, extra = 1) => picture.movePatch({ ...PATCHES, extra }, token, key),
    [
      [null, "ArrowRight", 0],
      [0, "ArrowRight", 1],
      [1, "ArrowDown", 4],
      [4, "ArrowUp", 1],
      [2, "ArrowUp", 0],
      [6, "ArrowRight", 6],
      [1, "ArrowUp", 0, 1],
    ],
  );
});

test("the attention of a query is laid on the tokens it belongs to, and told", () => {
  const weights = Float32Array.of(0.25, 0.75, 0.5, 0.5);
  const shown = { weights, cols: 2, keyAxis: { at: Int32Array.of(-1, 0, 1) } };
  assert.deepEqual([...picture.weightsOnPatches(shown, 0)], [0, 0.25, 0.75]);
  assert.deepEqual([...picture.weightsOnPatches({ ...shown, weights: null }, 0)], [0, 0, 0]);
  const ofQuery = Float32Array.of(0.5, 0.01, 0.02, 0.3, 0.07, 0.05, 0.05);
  assert.equal(
    picture.pictureCaption(PATCHES, ofQuery, 5, "", "[CLS]"),
    "From patch in row 1, column 1 · to [CLS] 0.5\nmost 0.3, patch in row 0, column 2",
  );
  assert.equal(picture.patchInWords(PATCHES, 0, "[CLS]"), "[CLS]");
});
