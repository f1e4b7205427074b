// What is patched after presses and drags, and the grids of the pictures of causes, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  lensGrid,
  movedPatch,
  patchGrid,
  percentBack,
  withPatch,
} from "../../viz_transformer/widgets/causes/grids.ts";
import { metricName, placeName } from "../../viz_transformer/widgets/causes/sentences.ts";
import { pressedMetric } from "../../viz_transformer/widgets/head_lab/sentences.ts";

const cell = (layer, at) => ({ layer, at });

test("a press patches one cell, with Shift one more, and takes back what is patched", () => {
  const one = withPatch([], cell(1, 2), false);
  assert.deepEqual(one, [cell(1, 2)]);
  assert.deepEqual(withPatch(one, cell(0, 3), false), [cell(0, 3)]);
  const two = withPatch(one, cell(0, 3), true);
  assert.deepEqual(two, [cell(0, 3), cell(1, 2)], "in Python's order");
  assert.deepEqual(withPatch(two, cell(1, 2), true), [cell(0, 3)]);
  assert.deepEqual(withPatch(one, cell(1, 2), false), []);
  assert.deepEqual(movedPatch(two, cell(0, 3), cell(1, 2)), [cell(1, 2)], "one upon another is one");
});

test("a grid has the share that each part brings back, and nothing where a layer is not known", () => {
  const run = (value) => ({ tokens: ["a", "Ġb"], value, words: [], shares: [] });
  const start = { sizes: { positions: [2, 2] }, tokens: ["a", "Ġb"], clean: run(4), corrupted: run(-6) };
  const grid = patchGrid(start, "positions", [undefined, [-1, -7]]);
  assert.deepEqual(Array.from(grid.values), [Number.NaN, Number.NaN, 0.5, Math.fround(-0.1)]);
  assert.deepEqual(grid.rows, ["a", "b"]);
  assert.equal(placeName("positions", grid, cell(1, 1)), "b at layer 1");
  assert.deepEqual([0.504, -0.004, -0.1, Number.NaN].map(percentBack), ["50%", "0%", "−10%", ""]);
});

test("a lens has its ranks or its metric", () => {
  const floats = (...values) => new DataView(Float32Array.from(values).buffer);
  const lens = {
    ...{ rows: ["embedding", "layer 0"], tokens: ["a"], top: ["b", "c"], k: 1, followed: ["c"] },
    ...{ probabilities: floats(0.5, 1), shares: floats(0, 1), ranks: floats(9, 1) },
    ...{ metric: "logit of Ġc − Ġb", values: floats(-2, 3) },
  };
  assert.deepEqual([lensGrid(lens, false).limit, lensGrid(lens, true).limit], [9, 3]);
  assert.deepEqual(lensGrid(lens, false).columns, ["in", "0"]);
  assert.equal(metricName(lens.metric), "c − b");
});

test("a pressed word is measured, a second one subtracted, and a third begins again", () => {
  const first = pressedMetric([], "a");
  const second = pressedMetric(first, "b");
  const third = pressedMetric(second, "c");
  assert.deepEqual([first, second, third, pressedMetric(third, "c")], [["a"], ["a", "b"], ["c"], []]);
  assert.deepEqual(pressedMetric(["a", "b"], "a"), ["b"]);
});
