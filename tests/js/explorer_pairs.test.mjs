// Pairs of sentences and time axes in the explorer.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  cellAt,
  matrixLayout,
  reveal,
  timesAt,
  zoomAround,
} from "../../viz_transformer/widgets/base/js/heatmap.js";
import { axisOf, gather } from "../../viz_transformer/widgets/explorer/displayed_head.js";
import { keptOf, pairInWords, pairsOf } from "../../viz_transformer/widgets/explorer/sentence_pair.js";
import { WeightStore } from "../../viz_transformer/widgets/explorer/weight_store.js";

const SEGMENTS = [0, 0, 1];
const plain = { hideSpecial: false, mergeWords: false };

test("a filter of sentences leaves their queries and keys, and the weights between them", () => {
  const kept = keptOf("AB", SEGMENTS);
  const [queries, keys] = [kept.queries, kept.keys].map((isKept) =>
    axisOf(["a", "b", "c"], [], null, plain, isKept),
  );
  assert.deepEqual([queries.names, keys.names], [["a", "b"], ["c"]]);
  assert.deepEqual([...gather(Float32Array.from([0, 1, 2, 3, 4, 5, 6, 7, 8]), 3, queries, keys)], [2, 5]);
  assert.match(pairInWords("AB"), /A → sentence B/);
  assert.equal(pairInWords("all"), "");
});

test("a sentence of special tokens alone is shown, though these are hidden", () => {
  const { keys } = keptOf("AB", SEGMENTS);
  const axis = axisOf(["a", "b", "[SEP]"], [false, false, true], null, { ...plain, hideSpecial: true }, keys);
  assert.deepEqual(axis.names, ["[SEP]"]);
});

test("only the kind in which the pair attends to itself is filtered", () => {
  const square = { rows: 3, cols: 3 };
  const both = new Map([
    ["encoder", square],
    ["cross", { rows: 2, cols: 3 }],
  ]);
  assert.deepEqual(pairsOf(both, SEGMENTS, "AB"), { encoder: "AB" });
  assert.deepEqual(pairsOf(new Map([["decoder", square]]), SEGMENTS, "AB"), { decoder: "AB" });
  assert.deepEqual(pairsOf(both, [0, 1], "AB"), {}); // of another text
  assert.deepEqual(pairsOf(both, [], "AB"), {});
});

test("the small pictures show the sentences that are chosen", () => {
  const weights = Float32Array.from([0.5, 0.25, 0.25, 0, 0.6, 0.4, 0.1, 0.1, 0.8]);
  const trace = { sourceTokens: ["a", "b", "c"], targetTokens: [], outputTokens: null };
  const attention = { encoder: { shape: [1, 1, 3, 3], weights: new DataView(weights.buffer) } };
  const data = { version: 0, traces: [{ ...trace, sourceWords: null, targetWords: null, attention }] };
  const model = { get: (name) => ({ data })[name], send() {}, on() {}, off() {} };
  const store = new WeightStore(model, () => {});
  const { values, rows, cols } = store.overview("encoder", "AB", SEGMENTS);
  assert.deepEqual([rows, cols, ...values], [2, 1, 64, 102]);
});

test("an axis of time names round times, and no more than fit", () => {
  assert.equal(timesAt(null, [0, 9], 3), null);
  const whole = timesAt(0.02, [0, 1500], 7.9);
  assert.deepEqual([...whole.values()], ["0 s", "5 s", "10 s", "15 s", "20 s", "25 s"]);
  assert.equal(whole.get(250), "5 s");
  assert.deepEqual([...timesAt(0.02, [700, 720], 4).values()], ["14 s", "14.1 s", "14.2 s", "14.3 s"]);
  for (const most of [0, 1, 2, 40]) assert.ok(timesAt(0.02, [0, 1], most).size <= Math.max(1, most) + 1);
});

test("words over sound have rows that can be read and pointed at, zoomed or not", () => {
  const size = { rows: 7, cols: 1500, width: 620, maxHeight: 400, rowLabel: 80, colLabel: 50 };
  const flat = matrixLayout({ ...size, colSeconds: 0.02 });
  assert.ok(flat.rowCell >= 24 && flat.cell < 1);
  assert.ok(flat.width <= 620 && flat.boxHeight <= 7 * 26);
  const point = [flat.left + 300, flat.top + 4.5 * flat.rowCell];
  assert.equal(cellAt(flat, ...point).query, 4);
  const near = matrixLayout({ ...size, colSeconds: 0.02, view: zoomAround(flat, 20, ...point) });
  assert.equal(cellAt(near, ...point).query, 4);
  assert.ok(Math.abs(cellAt(near, ...point).key - cellAt(flat, ...point).key) <= 1);
  const there = matrixLayout({ ...size, colSeconds: 0.02, view: reveal(near, { query: 6, key: 1499 }) });
  assert.ok((6 + 1) * there.rowCell <= there.y + there.boxHeight + 0.5);
  const square = matrixLayout({ ...size, rows: 1500, rowSeconds: 0.02, colSeconds: 0.02 });
  assert.equal(square.rowCell, square.cell);
});
