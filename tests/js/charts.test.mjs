// Charts: their scales, ticks and handles, and what the views with charts to drag say.

import assert from "node:assert/strict";
import { test } from "node:test";

import { indexAfterKey } from "../../viz_transformer/widgets/base/js/chart.js";
import * as scales from "../../viz_transformer/widgets/base/js/scales.js";
import { divisorText } from "../../viz_transformer/widgets/scaling_lab/spread.js";
import { columnsOf } from "../../viz_transformer/widgets/scaling_lab/view.js";
import { describeLosses } from "../../viz_transformer/widgets/schedule_lab/rates.js";
import { assertNear, assertTable } from "./helpers.mjs";

test("a scale goes from values to pixels and back, and equal factors are equally long where it is logarithmic", () => {
  const up = scales.makeScale([-5, 5], [200, 0]);
  const log = scales.makeScale([1, 1024], [0, 100], { log: true });
  const found = [up.pixel(-5), up.pixel(0), up.value(50), log.pixel(32), log.value(10)];
  for (const [i, wanted] of [200, 100, 2.5, 50, 2].entries()) assertNear(found[i], wanted);
});

test("ticks are round, inside the domain, and thinned evenly", () => {
  assert.deepEqual(scales.roundTicks([-5, 5], 5), [-4, -2, 0, 2, 4]);
  assert.deepEqual(scales.roundTicks([0, 0.3], 3), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(scales.roundTicks([3, 17], 4), [5, 10, 15]);
  assert.ok(scales.roundTicks([0, 1000], 7).length <= 8);
  assert.equal(scales.powerTicks([1, 1024], 20, 2).length, 11);
  assert.deepEqual(scales.powerTicks([1, 1024], 4, 2), [1, 8, 64, 512]);
  assert.deepEqual(scales.powerTicks([0.5, 200], 9), [1, 10, 100]);
  assert.equal([0, -0.5, 0.1 + 0.2, 20000, 1e-6].map(scales.tickText).join(), "0,−0.5,0.3,20000,10⁻⁶");
  const steps = scales.stepsBetween(-5, 5, 0.5);
  assert.deepEqual([steps.length, steps[0], steps[1], steps.at(-1)], [21, -5, -4.5, 5]);
});

test("the nearest value is the nearest on the page, and keys keep a handle among its values", () => {
  assert.equal(scales.nearestValue([1, 2, 4, 8], 5.7), 2);
  assert.equal(scales.nearestValue([1, 2, 4, 8], 5.7, Math.log), 3);
  assert.equal(scales.nearestValue([1, 2, 4, 8], -3), 0);
  const keys = { ArrowUp: 10, ArrowLeft: 8, PageDown: 7, Home: 0, End: 20, a: null };
  const plain = { ctrlKey: false, metaKey: false, altKey: false };
  for (const [key, index] of Object.entries(keys))
    assert.equal(indexAfterKey({ ...plain, key }, 9, 21), index);
  assert.equal(indexAfterKey({ ...plain, key: "ArrowLeft" }, 0, 21), 0);
  assert.equal(indexAfterKey({ ...plain, key: "ArrowUp", ctrlKey: true }, 9, 21), null);
});

test("charts stand beside each other where their numbers have room", () => {
  assert.deepEqual([1200, 700, 340].map(columnsOf), [3, 2, 1]);
});

test("what divides the scores is named", () => {
  assertTable(divisorText, [
    [64, 0, "not divided"],
    [64, 0.5, "divided by √d_k = 8"],
    [512, 0.5, "divided by √d_k = 22.6"],
    [512, 1, "divided by d_k = 512"],
    [64, 0.35, "divided by d_k^0.35 = 4.29"],
  ]);
});

test("a loss is told by its end and its worst later step", () => {
  const losses = [...Array(10).fill(3), 0.5, 2, 0.25, 0.0001];
  const told = "The loss ends below 0.001; after step 10 it is at most 2.00, at step 12.";
  assert.equal(describeLosses(losses), told);
  assert.equal(describeLosses([3, 2]), "The loss ends at 2.000.");
});
