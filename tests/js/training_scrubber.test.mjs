// The training scrubber's own decisions, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { canvasCache } from "../../viz_transformer/widgets/training_scrubber/canvas_cache.js";
import * as curve from "../../viz_transformer/widgets/training_scrubber/loss_curve.js";
import * as runs from "../../viz_transformer/widgets/training_scrubber/runs.js";
import { momentDuration } from "../../viz_transformer/widgets/training_scrubber/timeline.js";
import { fitHeads } from "../../viz_transformer/widgets/training_scrubber/view.js";
import { assertNear, assertTable, halves, withoutMarks } from "./helpers.mjs";

/** The same bytes from an odd place on, as those of a message may stand. */
function shifted({ buffer }) {
  const moved = new Uint8Array(buffer.byteLength + 1);
  moved.set(new Uint8Array(buffer), 1);
  return new DataView(moved.buffer, 1);
}
const bytesOf = (Type, ...values) => shifted(Type.from(values));

const SENT = {
  ...{ kind: "cross", queries: ["el", "gato"], keys: ["the", "cat"], shape: [1, 2, 2, 2] },
  masked: bytesOf(Uint8Array, 0, 0, 0, 0),
  entropies: bytesOf(Float32Array, 1, 0.75, 0.5, NaN), // [moment, layer, head]
  // Two moments of two heads.
  weights: shifted(halves([0.5, 0.5, 0.5, 0.5, 0.25, 0.5, 1, 0], [1, 0, 0, 1, 0, 1, 0.25, 0.25])),
};
const RUN = runs.readRun({
  ...{ name: "seed 0", sources: ["a b", "c"], references: ["x y", "z"], moments: [0, 10, 40] },
  translations: ["", "x x", "x y"].map((text) => [text, "z"]),
  momentLosses: bytesOf(Float32Array, 3, 2.5, 1, 0.5, 0.125, 0.0625),
  steps: bytesOf(Float64Array, 1, 10, 20, 40),
  losses: bytesOf(Float32Array, 4, 2, 0.5, 0.125),
});
const BARE = { ...RUN, losses: new Float32Array(), steps: new Float64Array() };

test("a head at a moment is that head's weights, and the overview has them all", () => {
  assert.deepEqual(Array.from(RUN.losses), [4, 2, 0.5, 0.125]);
  const entry = runs.readKind(SENT);
  assert.deepEqual([entry.layers, entry.heads, entry.rows, entry.cols, entry.masked], [1, 2, 2, 2, null]);
  assert.deepEqual(Array.from(runs.headAtMoment(entry, 0, 0, 1)), [0.25, 0.5, 1, 0]);
  assert.deepEqual(Array.from(runs.headAtMoment(entry, 1, 0, 0)), [1, 0, 0, 1]);
  const { values, rows, cols } = runs.overviewAtMoment(entry, 1);
  assert.deepEqual([Array.from(values), rows, cols], [[255, 0, 0, 255, 0, 255, 64, 64], 2, 2]);
  const closed = runs.readKind({ ...SENT, masked: bytesOf(Uint8Array, 0, 1, 0, 0) });
  assert.deepEqual(Array.from(closed.masked), [0, 1, 0, 0]);
});

test("a moment is told by its step and its losses, and says which record it has", () => {
  assertTable(runs.describeMoment, [
    [RUN, 1, 0, "Step 10 of 40 · training loss 2.00 · this sentence’s 1.00 nats per token"],
    [RUN, 0, 1, "Step 0 of 40 · training loss 4.00 (at step 1) · this sentence’s 2.50 nats per token"],
    [BARE, 2, 1, "Step 40 of 40 · this sentence’s 0.06 nats per token"],
  ]);
  const losses = [0, 0.25, 0.004, 12.345, NaN].map(runs.formatLoss);
  assert.equal(losses.join(), "0.00,0.25,0.004,12.35,not a number");
  // The other run is shown at the moment of the nearest step, of two alike the earlier.
  const nearest = [24, 26, 25, 900].map((step) => runs.nearestIndex([0, 10, 40], step));
  assert.deepEqual(nearest, [1, 2, 1, 2]);
});

test("words that have no partner are marked on both sides, and the verdict says how many", () => {
  const { translation, reference, verdict } = runs.compareWords("el gato  el", "el gato negro duerme");
  const marks = (words) => words.map(({ differs }) => Number(differs)).join("");
  assert.deepEqual([marks(translation), marks(reference)], ["001", "0011"]);
  assert.equal(verdict, "✗ not yet: 2 words differ");
  assert.equal(runs.compareWords("a b", "a").verdict, "✗ not yet: 1 word differs");
  assert.equal(runs.compareWords(" a b\n", "a b").verdict, "✓ right");
  const nothing = runs.compareWords("", "a");
  assert.deepEqual([nothing.translation, nothing.right], [[], false]);
});

test("entropy is told beside how it began", () => {
  const entry = runs.readKind(SENT);
  assertTable(
    (moment, head) => runs.describeEntropy(entry, [0, 30], moment, 0, head),
    [
      [1, 0, "Entropy 1.00 of its maximum at step 0, 0.50 now."],
      [0, 1, /^Entropy 0\.75 of its maximum: 1 is spread evenly/],
      [1, 1, /no entropy/],
    ],
  );
  const strongest = withoutMarks(runs.describeStrongest(entry, runs.headAtMoment(entry, 0, 0, 1)));
  assert.equal(strongest, "Strongest weight: “gato” to “the”, 1.00.");
});

test("an axis is logarithmic where the loss spans much, and steps where moments crowd", () => {
  assert.deepEqual(curve.evenTicks(0, 0.3, 5), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(curve.logTicks(0.04, 3.2, 45), [0.1, 0.3, 1, 3]);
  const axes = curve.curveAxes([RUN], 600, 150);
  assert.deepEqual([axes.logY, axes.logX], [true, false]);
  assertNear(axes.y(Math.sqrt(0.5)), (axes.top + axes.bottom) / 2, 1e-4);
  const flat = curve.curveAxes([{ ...RUN, losses: Float32Array.of(2, 1, 0.5, NaN) }], 600, 150);
  assert.deepEqual([flat.logY, flat.y(0)], [false, flat.bottom]);
  assert.equal(curve.isCrowded([0, 10, 20, 30, 40]), false);
  assert.equal(curve.isCrowded([0, 1, 3, 9, 40]), true);
  assert.ok(curve.curveAxes([BARE], 600, 150).yTicks.every(Number.isFinite));
});

test("a click on the curve goes to the nearest moment", () => {
  const axes = curve.curveAxes([RUN], 600, 150);
  const moments = [axes.x(9), 0, 599].map((x) => curve.momentAt(axes, RUN.moments, x));
  assert.deepEqual(moments, [1, 0, 2]);
  const told = curve.describeCurves([RUN], [1]);
  assert.match(told, /from 4\.00 to 0\.13 nats per token; 2\.00 at step 10\.$/);
});

test("pictures are kept, and the oldest forgotten when there are too many", () => {
  const sheets = canvasCache(300);
  let made = 0;
  const make = () => {
    made++;
    return { width: 10, height: 10 };
  };
  const madeAfter = (...names) => {
    for (const name of names) sheets.get(name, make);
    return made;
  };
  assert.deepEqual([madeAfter("a", "b", "c", "a"), sheets.count], [3, 3]);
  assert.deepEqual([madeAfter("d", "a"), sheets.count, madeAfter("b")], [4, 3, 5]); // "b" was used longest ago
  sheets.clear();
  const large = canvasCache(10); // the one on the screen is kept, whatever its size
  large.get("a", make);
  assert.deepEqual([sheets.count, large.count], [0, 1]);
});

test("another kind keeps each side's head as far as it has one", () => {
  const chosen = { layer: 5, head: 3, other_layer: 1, other_head: 7 };
  const entries = [2, 6].map((layers) => ({ layers, heads: 4 }));
  const fitted = (sides) => fitHeads(entries.slice(0, sides), (name) => chosen[name]);
  assert.deepEqual(fitted(2), { layer: 1, head: 3, other_layer: 1, other_head: 3 });
  assert.deepEqual(fitted(1), { layer: 1, head: 3 });
});

test("a training is played in some seconds, however many moments it has", () => {
  assert.deepEqual([3, 28, 500].map(momentDuration), [700, 250, 120]);
});
