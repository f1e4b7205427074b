// The marks of weights between two pictures of the explorer: which move, from where and to where.

import assert from "node:assert/strict";
import { test } from "node:test";

import { tween } from "../../viz_transformer/widgets/base/motion.ts";
import * as passage from "../../viz_transformer/widgets/explorer/passage.ts";

/** A head of two keys, as far as it is read here. */
const head = (weights, limit = null) =>
  /** @type {any} */ ({ name: "a", weights: Float32Array.from(weights), limit, cols: 2 });

test("marks of at least 1% move, the strongest above the others", () => {
  assert.deepEqual(passage.moved(head([0.5, 0.009, 0.011, 0.48])), [2, 3, 0]);
  assert.deepEqual(passage.moved(head([-3, 0.02, 0, 2], 3)), [3, 0]); // of a difference: 1% of its scale
  assert.deepEqual(passage.moved({ weights: null, limit: null }), []);
  assert.equal(passage.moved(head(new Array(4096).fill(0.5))).length, 600);
  assert.deepEqual(passage.moved(head(new Array(70000).fill(0.5))), []);
});

test("a box is a line as thick as it is high, and is brought to the page's pixels", () => {
  const mark = passage.boxMark([3, 10, 6, 4], 0.5);
  assert.deepEqual(mark, [3, 12, 5, 12, 7, 12, 9, 12, 4, 0.5]);
  assert.deepEqual(passage.movedBy(mark, 2, 100, 1000), [106, 1024, 110, 1024, 114, 1024, 118, 1024, 8, 0.5]);
});

test("the place on the scale of colours is the weight, or the difference between its limits", () => {
  assert.equal(passage.shadeOf(0.25, null), 0.25);
  assert.deepEqual(
    [-2, 0, 2].map((value) => passage.shadeOf(value, 2)),
    [0, 0.5, 1],
  );
});

test("a weight's mark is where its picture has it, and some pictures have none", () => {
  const asked = [];
  const marks = passage.marksOf([head([0, 0.25, 0.75, 0])], (shown, query, key) => {
    asked.push([shown.name, query, key]);
    return query ? passage.boxMark([key, query, 1, 1], 1) : null;
  });
  assert.deepEqual(asked, [
    ["a", 0, 1],
    ["a", 1, 0],
  ]);
  assert.deepEqual(Array.from(marks.keys()), ["2 a"]);
});

test("what is in both pictures moves from one to the other, and turns back from where it is", () => {
  const at = (x) => passage.boxMark([x, 0, 3, 2], 1);
  const motion = tween(() => false);
  const journey = passage.journeyOf(
    new Map([
      ["one", at(0)],
      ["two", at(5)],
    ]),
    new Map([["one", at(100)]]),
    motion,
  );
  assert.deepEqual(journey.names, ["one"]);
  const begun = performance.now();
  motion.at(journey.to, begun); // it sets out
  const [share, x] = motion.at(journey.to, begun + 175);
  assert.ok(Math.abs(share - 0.5) < 0.01 && Math.abs(x - 50) < 1, `${share} ${x}`);
  assert.deepEqual(motion.at(journey.to, begun + 350), [1, ...at(100)]);
  assert.equal(passage.journeyOf(new Map([["two", at(0)]]), new Map([["one", at(0)]])), null);
});

test("where motion is reduced it arrives at once", () => {
  const mark = passage.boxMark([0, 0, 3, 2], 1);
  const { motion, to } = passage.journeyOf(
    new Map([["a", mark]]),
    new Map([["a", mark]]),
    tween(() => true),
  );
  assert.equal(motion.at(to)[0], 1);
});
