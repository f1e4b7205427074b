// The stage: where the softmax lab's lanes stand, and numbers that move.

import assert from "node:assert/strict";
import { test } from "node:test";
import { tween } from "../../viz_transformer/widgets/base/motion.ts";
import { percent } from "../../viz_transformer/widgets/base/text.ts";
import { HEAD, layOut } from "../../viz_transformer/widgets/softmax_lab/lanes.ts";
import { named } from "../../viz_transformer/widgets/softmax_lab/softmax.ts";
import { assertNear, assertTable } from "./helpers.mjs";

test("columns stand side by side, or where they would not fit one below the other, and end inside the picture", () => {
  const nKeys = 4;
  for (const [width, height, size, nRows] of [
    [1240, 740, 1, 1],
    [984, 690, 1, 1],
    [984, 690, 2, 3],
    [350, 700, 1, 3],
    [320, 480, 1, 3],
    [2560, 1100, 1, 1],
  ]) {
    const { columns, ...layout } = layOut(nKeys, 2.8, [1, 2, 1], {
      width,
      height,
      unit: size * Math.min(26, Math.max(16, width / 80)),
    });
    const tops = columns.map(({ top }) => top);
    assert.equal(new Set(tops).size, nRows, `${width}`);
    for (const { longest } of columns) assert.ok(longest > 20, `${width}: bars of ${longest}`);
    assert.ok(layout.scores.left >= layout.names && layout.scores.half > 20);
    assert.ok(columns.at(-1).left + columns.at(-1).longest + 3.2 * layout.unit <= layout.width + 0.01);
    assert.ok(Math.max(...tops) + layout.lane * nKeys <= layout.height + 0.01);
    assert.ok(Math.min(...tops) >= HEAD && layout.lane >= 2.2 * layout.unit);
  }
});

test("numbers move to a new target from where they are, and are there at once when motion is reduced", () => {
  const moving = tween(() => false);
  assert.deepEqual(moving.at([0, 10], 0), [0, 10]);
  moving.at([10, 10], 0);
  const [half] = moving.at([10, 10], 175);
  assertNear(half, 5);
  assert.ok(moving.isMoving());
  assertNear(moving.at([0, 10], 175)[0], 5); // interrupted: on from here
  assert.deepEqual(moving.at([0, 10], 525), [0, 10]);
  assert.ok(!moving.isMoving());
  moving.jump();
  assert.deepEqual(moving.at([4, 4], 600), [4, 4]);
  assert.deepEqual(moving.at([5, 5], 601), [4, 4]);
  assert.deepEqual(moving.at([1, 2, 3], 700), [1, 2, 3]);
  const still = tween(() => true);
  still.at([0], 0);
  assert.deepEqual(still.at([9], 1), [9]);
});

test("shares are whole percents, finer where they are small", () => {
  assertTable(percent, [
    [1, "100%"],
    [0.9996, ">\u00a099%"],
    [0.996, true, ">\u00a099%"],
    [0.042, true, "4%"],
    [0.8392, "84%"],
    [0.042, "4.2%"],
    [0.0004, "<\u00a00.1%"],
    [0, "0%"],
  ]);
  assert.deepEqual([named("black"), named("x".repeat(30))], ["black", `${"x".repeat(23)}…`]);
});
