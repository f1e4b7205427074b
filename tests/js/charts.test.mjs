// Charts: their scales, axes, lines and knobs, and what the views with charts to drag say.

import { indexAfterKey } from "../../viz_transformer/widgets/base/keys.ts";
import assert from "node:assert/strict";
import * as scales from "../../viz_transformer/widgets/base/scales.ts";
import { test } from "node:test";
import { layOut, linePath } from "../../viz_transformer/widgets/base/axes.ts";
import { divisorText, equationOf } from "../../viz_transformer/widgets/scaling_lab/spread.ts";
import {
  endOf,
  equationOf as rateInNumbers,
  highestOf,
} from "../../viz_transformer/widgets/schedule_lab/rates.ts";
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

test("a chart's axes leave room for their texts, and no two of them touch", () => {
  const measure = (text) => 8 * text.length;
  /** @type {Record<"x" | "y", import("../../viz_transformer/widgets/base/axes.ts").Axis>} */
  const axes = { x: { names: ["<sos>", "gato", "negro"] }, y: { domain: [0, 1000] } };
  const wide = layOut(axes, { width: 600, height: 300 }, 14, measure);
  assert.equal(wide.left, measure("1000") + 8);
  assert.deepEqual(
    wide.xTicks.map(({ text }) => text),
    ["<sos>", "gato", "negro"],
  );
  assert.ok(!wide.isTurned && wide.bottom < 300 - 14);
  const narrow = layOut(axes, { width: 150, height: 300 }, 14, measure);
  assert.ok(narrow.isTurned && narrow.bottom < wide.bottom - 14);
  /** @type {import("../../viz_transformer/widgets/base/axes.ts").Axis} */
  const widths = { domain: [1, 1024], log: 2, ticks: Array.from({ length: 11 }, (_, i) => 2 ** i) };
  const { xTicks } = layOut({ x: widths, y: {} }, { width: 250, height: 300 }, 14, measure);
  for (const [i, { text, pixel }] of xTicks.slice(1).entries()) {
    const before = xTicks[i];
    assert.ok(pixel - measure(text) / 2 >= before.pixel + measure(before.text) / 2, text);
  }
});

test("a line has a gap where there is no number", () => {
  const scale = scales.makeScale([0, 3], [0, 3]);
  assert.equal(linePath({ x: scale, y: scale }, [0, 1, 2, 3], [1, 2, Number.NaN, 3]), "M0 1L1 2M3 3");
});

test("what divides the scores is named", () => {
  assert.equal(equationOf(64, 0.5, 63.9), "variance of q·k / √d_k = 63.9 / 8² = 0.998");
  assert.equal(equationOf(64, 0, 63.9), "variance of q·k = 63.9");
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
  assert.equal(endOf(losses), "The loss ends below 0.001");
  assert.equal(highestOf(losses), "After step 10 it is at most 2.00, at step 12.");
  assert.deepEqual([endOf([3, 2]), highestOf([3, 2])], ["The loss ends at 2.000", ""]);
  const chosen = { peak: 0.02, warmup: 10, seed: 0 };
  assert.equal(rateInNumbers(chosen, 5), "rate of step 5 = peak · step / warm-up = 0.02 · 5 / 10 = 0.01");
  assert.equal(rateInNumbers(chosen, 11), "rate of step 11 = peak = 0.02");
});
