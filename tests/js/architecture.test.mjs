// The architecture view's layout and steps; tests/test_view_architecture.py holds the steps to Python's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { foldedBoxes, layoutOf, shortCount } from "../../viz_transformer/widgets/architecture/layout.js";
import { chosenWords } from "../../viz_transformer/widgets/architecture/narration.js";
import * as walk from "../../viz_transformer/widgets/architecture/steps.js";
import { drawnWeights, percentText } from "../../viz_transformer/widgets/architecture/values.js";
import { assertTable } from "./helpers.mjs";

const box = (key, stack, layer = null, part = "add_norm") => ({ key, stack, layer, part, parameters: 1 });
const ENCODER = [
  box("encoder.tokens", "encoder", null, "tokens"),
  ...[0, 1, 2, 3].map((layer) => box(`encoder.${layer}.feed_forward`, "encoder", layer, "feed_forward")),
];
const DECODER = [
  box("decoder.tokens", "decoder", null, "tokens"),
  box("decoder.output", "decoder", null, "output"),
];
const BOXES = [...ENCODER, ...DECODER];

test("a step is reached by its box, and the arrow keys stop at both ends", () => {
  const steps = walk.stepsOf(BOXES, 2);
  assert.deepEqual(steps.at(-1), { box: "decoder.output", word: 1 });
  assert.equal(walk.stepToReach(steps, 0, "decoder.output"), 6);
  assert.equal(walk.stepToReach(steps, 8, "encoder.tokens"), 8);
  const once = walk.stepsOf(BOXES, 1);
  assertTable(
    (key, at) => walk.steppedBy(key, once, at),
    [
      ["ArrowLeft", 0, 0],
      ["ArrowRight", 6, 6],
      ["End", 2, 6],
      ["a", 2, null],
    ],
  );
});

test("the layers before and after the open one are folded", () => {
  const names = (open) => foldedBoxes(ENCODER, open).map(({ box, boxes }) => box?.key ?? boxes.length);
  assert.deepEqual(names(0), ["encoder.tokens", "encoder.0.feed_forward", 3]);
  assert.deepEqual(names(2), ["encoder.tokens", 2, "encoder.2.feed_forward", 1]);
  const rows = walk.rowsAt(walk.stepsOf(BOXES, 1), 6, 3);
  assert.deepEqual(walk.openLayers(BOXES, "decoder.output", rows), { encoder: 3, decoder: 0 });
  assert.equal(walk.openLayers(BOXES, "encoder.1.feed_forward", rows).encoder, 1);
});

test("columns stand side by side, and lines fit the height", () => {
  const stacks = [{ stack: "encoder", boxes: ENCODER, n: 4, open: 0 }];
  for (const width of [200, 900]) {
    const { lanes, height } = layoutOf({ stacks, width, height: 200 });
    const [{ columns, rows, bottom }] = lanes;
    for (const [index, column] of columns.slice(1).entries())
      assert.ok(column.x >= columns[index].x + columns[index].width);
    assert.ok(rows.every((y, row) => row === 0 || y > rows[row - 1]));
    assert.ok(rows.at(-1) < bottom && bottom < height && height <= 200);
  }
});

test("the chosen word is the row, the newest, the second, or the gap", () => {
  const stacks = [
    { stack: "encoder", boxes: ENCODER },
    { stack: "decoder", boxes: DECODER },
  ];
  const rows = walk.rowsAt(walk.stepsOf(BOXES, 3), 11, 4);
  const chosen = (row, source = ["a", "b", "c", "<eos>"]) => chosenWords(stacks, rows, row, source);
  assert.deepEqual(chosen(null), { encoder: 1, decoder: 2 });
  assert.deepEqual(chosen(3), { encoder: 3, decoder: 2 });
  assert.equal(chosen(null, ["a", "b", "<mask>", "<eos>"]).encoder, 2);
});

test("the lines of all heads are their mean", () => {
  const ofHeads = Array.of([1, 0], [0.5, 0.5]);
  assert.deepEqual(drawnWeights(ofHeads, null), [0.75, 0.25]);
  assert.deepEqual(drawnWeights(ofHeads, 1), [0.5, 0.5]);
});

test("counts and shares are short", () => {
  assert.equal([0, 640, 16_640, 216_128, 44_119_552].map(shortCount).join(), "0,640,16.6k,216k,44.1M");
  assert.equal([0.001, 0.374, 0.9999, 1].map(percentText).join(), "<1%,37%,>99%,100%");
});
