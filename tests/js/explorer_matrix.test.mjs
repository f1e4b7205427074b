// The explorer's matrix, its zoom and its axes of time; pairs of sentences, and the picture of a vision model.

import assert from "node:assert/strict";
import * as heatmap from "../../viz_transformer/widgets/base/heatmap.ts";
import * as picture from "../../viz_transformer/widgets/explorer/patch_picture.ts";
import { test } from "node:test";
import { axisOf } from "../../viz_transformer/widgets/explorer/displayed_head.ts";
import { keptOf, pairInWords, pairsOf } from "../../viz_transformer/widgets/explorer/shown_part.ts";
import { WeightStore } from "../../viz_transformer/widgets/explorer/weight_store.ts";
import { assertTable, floats } from "./helpers.mjs";

test("arrow keys move the cell up to the edges", () => {
  assertTable(
    (query, key, arrow) => Object.values(heatmap.moveCell({ query, key }, 3, 3, arrow)).join(),
    [
      [null, null, "ArrowDown", "0,0"],
      [1, null, "ArrowDown", "2,0"],
      [2, 1, "ArrowDown", "2,1"],
      [2, 1, "ArrowLeft", "2,0"],
      [0, 0, "ArrowUp", "0,0"],
    ],
  );
});

test("keys bring the cell into the zoomed window, and the whole matrix comes back", () => {
  const size = { rows: 256, cols: 256, width: 480, maxHeight: 420, rowLabel: 50, colLabel: 50 };
  const near = heatmap.matrixLayout({ ...size, view: heatmap.zoomAround(heatmap.matrixLayout(size), 8) });
  const there = heatmap.matrixLayout({ ...size, view: heatmap.reveal(near, { query: 250, key: 3 }) });
  const seen = (place, from, box) => place * there.cell >= from && (place + 1) * there.cell <= from + box;
  assert.ok(seen(250, there.y, there.boxHeight) && seen(3, there.x, there.boxWidth));
  assert.equal(heatmap.matrixLayout({ ...size, view: heatmap.zoomAround(near, 0) }).zoom, 1);
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

// A class token, then six patches; and a text around a picture.
const PATCHES = { rows: 2, cols: 3, start: 1, tokens: 7, ofQueries: true };
const AMONG_WORDS = { ...PATCHES, start: 2, tokens: 11 };

test("the keys of one side are the patches, from where they begin", () => {
  assertTable(
    (kind, cols, grid) => picture.patchesOf({ kind, cols }, grid),
    [
      ["encoder", 7, [2, 3, 1, 7, 0], PATCHES],
      ["cross", 6, [2, 3, 0, 6, 0], { ...PATCHES, start: 0, tokens: 6, ofQueries: false }],
      ["decoder", 11, [2, 3, 2, 11, 1], AMONG_WORDS],
      ["decoder", 7, [2, 3, 1, 7, 0], null], // as many keys, of the other side
      ["encoder", 8, [2, 3, 1, 7, 0], null], // of another sentence
      ["encoder", 7, [], null],
    ],
  );
});

test("each token of a picture is found under the middle of its place", () => {
  for (const patches of [PATCHES, AMONG_WORDS, { ...AMONG_WORDS, tokens: 60 }]) {
    const layout = picture.pictureLayout(patches, { width: 200, height: 400 }, {});
    const { left, width, height, apart, perColumn } = layout;
    const found = [];
    for (let place = 0; place < picture.countApart(patches); place++) {
      const [x, y] = [Math.floor(place / perColumn) * (apart + 2), (place % perColumn) * (apart + 2)];
      assert.ok(y + apart <= height, "below the grid");
      found.push(picture.patchAt(layout, x + apart / 2, y + apart / 2));
    }
    for (const row of [0.25, 0.75])
      for (const column of [1, 3, 5])
        found.push(picture.patchAt(layout, left + (column * width) / 6, row * height));
    assert.deepEqual(
      found.sort((a, b) => a - b),
      Array.from({ length: patches.tokens }, (_, token) => token),
    );
    assert.equal(picture.patchAt(layout, left + width + 3, 5), null);
    assert.equal(picture.patchAt(layout, left + 5, height + 3), null);
  }
});

test("the arrow keys move over patches, and from the first and last row to the tokens apart", () => {
  assertTable(
    (token, key, patches = PATCHES) => picture.movePatch(patches, token, key),
    [
      [null, "ArrowRight", 0],
      [0, "ArrowRight", 1],
      [1, "ArrowDown", 4],
      [4, "ArrowUp", 1],
      [2, "ArrowUp", 0],
      [6, "ArrowRight", 6],
      [6, "ArrowDown", 6],
      [0, "ArrowUp", { ...PATCHES, start: 0, tokens: 6 }, 0],
      [6, "ArrowDown", AMONG_WORDS, 8],
      [8, "ArrowUp", AMONG_WORDS, 7],
      [10, "ArrowRight", AMONG_WORDS, 10],
    ],
  );
});

test("the attention of a query to patches and to the tokens apart is told", () => {
  const ofQuery = Float32Array.of(0.5, 0.01, 0.02, 0.3, 0.07, 0.05, 0.05);
  assert.equal(
    picture.pictureCaption(PATCHES, ofQuery, 5, "", "[CLS]"),
    "From patch in row 1, column 1 · to [CLS] 0.5\nmost 0.3, patch in row 0, column 2",
  );
  assert.equal(picture.patchInWords(PATCHES, 0, "[CLS]"), "[CLS]");
  const ofWord = Float32Array.of(0.125, 0.125, 0, 0, 0, 0, 0.5, 0, 0.125, 0.125, 0);
  assert.equal(
    picture.pictureCaption(AMONG_WORDS, ofWord, 8, "what"),
    "From what · to tokens apart 0.5\nmost 0.5, patch in row 1, column 1",
  );
});
