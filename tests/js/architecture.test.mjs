// The architecture view's layout and steps; tests/test_view_architecture.py holds the steps to Python's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { layOut } from "../../viz_transformer/widgets/architecture/lanes.ts";
import * as walk from "../../viz_transformer/widgets/architecture/steps.ts";
import { chosenWords, drawnWeights } from "../../viz_transformer/widgets/architecture/values.ts";
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

test("a step is reached by its box, and a depth needs a box that has it", () => {
  const steps = walk.stepsOf(BOXES, 2);
  assert.deepEqual(steps.at(-1), { box: "decoder.output", word: 1 });
  assert.equal(walk.stepToReach(steps, 0, "decoder.output"), 6);
  assert.equal(walk.stepToReach(steps, 8, "encoder.tokens"), 8);
  const attention = box("encoder.0.self_attention", "encoder", 0, "self_attention");
  assertTable(walk.depthIn, [
    [attention, "head", "head"],
    [attention, "near", "model"],
    [ENCODER[1], "block", "layer"],
    [ENCODER[0], "layer", "model"],
  ]);
});

test("the chapters are the words written, or the boxes of a layer", () => {
  const steps = walk.stepsOf(BOXES, 2);
  const chosen = { box: ENCODER[2], word: 1, names: ["el", "gato"], partName: ({ part }) => part };
  const last = { box: "decoder.output" };
  assert.deepEqual(walk.chaptersOf(BOXES, steps, "model", chosen), [
    { name: "el", step: 6, ...last },
    { name: "gato", step: 8, ...last },
  ]);
  assert.deepEqual(walk.chaptersOf(BOXES, steps, "layer", chosen), [
    { name: "feed_forward", step: 2, box: "encoder.1.feed_forward" },
  ]);
});

test("columns stand side by side at every depth, and lanes fit the height", () => {
  const part = ({ part }) => part;
  for (const width of [200, 900])
    for (const depth of walk.DEPTHS.slice(0, 3)) {
      const asked = { boxes: BOXES, depth, box: ENCODER[2], nHeads: 4, writes: true, unit: 16, widest: 3 };
      const count = { encoder: 4, decoder: 2 };
      const { columns, height, right } = layOut({ ...asked, count, partName: part, width, height: 300 });
      for (const [index, column] of columns.slice(1).entries())
        assert.ok(column.left >= columns[index].left + columns[index].width, `${depth} ${width}`);
      const last = columns.at(-1);
      assert.ok(last.left + last.width <= right && right <= width && height <= 301, `${depth} ${width}`);
    }
});

test("the chosen word is the row, the newest, the second, or the gap", () => {
  const rows = walk.rowsAt(walk.stepsOf(BOXES, 3), 11, 4);
  const chosen = (row, source = ["a", "b", "c", "<eos>"]) => chosenWords(BOXES, rows, row, source);
  assert.deepEqual(chosen(null), { encoder: 1, decoder: 2 });
  assert.deepEqual(chosen(3), { encoder: 3, decoder: 2 });
  assert.equal(chosen(null, ["a", "b", "<mask>", "<eos>"]).encoder, 2);
});

test("the lines of all heads are their mean", () => {
  const ofHeads = Array.of([1, 0], [0.5, 0.5]);
  assert.deepEqual(drawnWeights(ofHeads, null), [0.75, 0.25]);
  assert.deepEqual(drawnWeights(ofHeads, 1), [0.5, 0.5]);
});
