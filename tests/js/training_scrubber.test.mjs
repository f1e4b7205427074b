// The training scrubber's own decisions, without a browser.

import assert from "node:assert/strict";
import * as runs from "../../viz_transformer/widgets/training_scrubber/runs.ts";
import { test } from "node:test";
import { nearestValue } from "../../viz_transformer/widgets/base/scales.ts";
import { plainText } from "../../viz_transformer/widgets/base/text.ts";
import {
  headlineOf,
  lineOf,
  momentInWords,
} from "../../viz_transformer/widgets/training_scrubber/sentences.ts";
import { assertNear, assertTable, halves, withoutMarks } from "./helpers.mjs";

/** The same bytes from an odd place on, as those of a message may stand. */
function shifted({ buffer }) {
  const moved = new Uint8Array(buffer.byteLength + 1);
  moved.set(new Uint8Array(buffer), 1);
  return new DataView(moved.buffer, 1);
}
const bytesOf = (Type, ...values) => shifted(Type.from(values));

const SENT = {
  ...{ kind: "cross", queries: ["el", "gato"], keys: ["the", "cat"] },
  shape: /** @type {[number, number, number, number]} */ ([1, 2, 2, 2]),
  masked: bytesOf(Uint8Array, 0, 0, 0, 0),
  entropies: bytesOf(Float32Array, 1, 0.75, 0.5, NaN), // [moment, layer, head]
  // Two moments of two heads.
  weights: shifted(halves([0.5, 0.5, 0.5, 0.5, 0.25, 0.5, 1, 0], [1, 0, 0, 1, 0, 1, 0.25, 0.25])),
};
const RUN = runs.readRun({
  ...{
    name: "seed 0",
    task: "translate",
    sources: ["a b", "c"],
    references: ["x y", "z"],
    moments: [0, 10, 40],
  },
  translations: ["", "x x", "x y"].map((text) => [text, "z"]),
  momentLosses: bytesOf(Float32Array, 3, 2.5, 1, 0.5, 0.125, 0.0625),
  validation: bytesOf(Float32Array),
  steps: bytesOf(Float64Array, 1, 10, 20, 40),
  losses: bytesOf(Float32Array, 4, 2, 0.5, 0.125),
});
const BARE = { ...RUN, losses: new Float32Array(), steps: new Float64Array() };

test("a head at a moment is that head's weights", () => {
  assert.deepEqual(Array.from(RUN.losses), [4, 2, 0.5, 0.125]);
  const entry = runs.readHeads(SENT);
  assert.deepEqual([entry.layers, entry.heads, entry.rows, entry.cols, entry.masked], [1, 2, 2, 2, null]);
  assert.deepEqual(Array.from(runs.headAtMoment(entry, 0, 0, 1)), [0.25, 0.5, 1, 0]);
  assert.deepEqual(Array.from(runs.headAtMoment(entry, 1, 0, 0)), [1, 0, 0, 1]);
  const closed = runs.readHeads({ ...SENT, masked: bytesOf(Uint8Array, 0, 1, 0, 0) });
  assert.deepEqual(Array.from(closed.masked), [0, 1, 0, 0]);
});

test("the weight that grows most is followed, of words if one of theirs grows, and of no masked cell", () => {
  const entry = runs.readHeads(SENT);
  const cell = (of, head) => Object.values(runs.restingCell({ ...entry, ...of }, 0, head));
  assert.deepEqual(cell({}, 0), [0, 0]); // 0.5 to 1, as "gato" to "cat" does later
  assert.deepEqual(cell({}, 1), [0, 1]); // 0.5 to 1
  assert.deepEqual(cell({ masked: Uint8Array.of(1, 0, 0, 0) }, 0), [1, 1]);
  assert.deepEqual(cell({ keys: ["<sos>", "cat"] }, 0), [1, 1]);
  assert.deepEqual(cell({ keys: ["<sos>", "<eos>"] }, 1), [0, 1]);
});

test("losses are told with the record that they are of", () => {
  assertTable(runs.lossesInWords, [
    [RUN, 1, 0, "training loss 2.00, this sentence’s 1.00 nats per token"],
    [RUN, 0, 1, "training loss 4.00 (at step 1), this sentence’s 2.50 nats per token"],
    [BARE, 2, 1, "this sentence’s 0.06 nats per token"],
  ]);
  const losses = [0, 0.25, 0.004, 12.345, NaN].map(runs.formatLoss);
  assert.equal(losses.join(), "0.00,0.25,0.004,12.35,not a number");
  // The other run is shown at the moment of the nearest step, of two alike the earlier.
  const nearest = [24, 26, 25, 900].map((step) => nearestValue([0, 10, 40], step));
  assert.deepEqual(nearest, [1, 2, 1, 2]);
  const told = runs.curvesInWords([RUN, BARE], [1, 0]);
  assert.match(
    told,
    /from 4\.00 to 0\.13 nats per token; 2\.00 at step 10\. seed 0: no loss was recorded\.$/,
  );
});

test("words that have no partner are marked on both sides, and the verdict says how many", () => {
  const { written, reference, verdict, short } = runs.compareWords("el gato  el", "el gato negro duerme");
  const marks = (words) => words.map(({ differs }) => Number(differs)).join("");
  assert.deepEqual([marks(written), marks(reference)], ["001", "0011"]);
  assert.deepEqual([verdict, short], ["✗ not yet: 2 words differ", "✗ 2 words differ"]);
  assert.equal(runs.compareWords("a b", "a").verdict, "✗ not yet: 1 word differs");
  assert.equal(runs.compareWords(" a b\n", "a b").verdict, "✓ right");
  assert.equal(runs.compareWords("a", "b", "continue").verdict, "≠ another text: 1 word differs");
  const nothing = runs.compareWords("", "a");
  assert.deepEqual([nothing.written, nothing.right], [[], false]);
});

test("entropy is told beside how it began, and a row's as a sum", () => {
  const entry = runs.readHeads(SENT);
  assertTable(
    (moment, head) => runs.entropyInWords(entry, [0, 30], moment, 0, head),
    [
      [1, 0, "The whole head: entropy 1.00 of its maximum at step 0, 0.50 now."],
      [0, 1, /^The whole head: entropy 0\.75 of its maximum; 1 is spread evenly/],
      [1, 1, /no entropy/],
    ],
  );
  const row = "This row: −Σ w log₂ w = 1.50 bits, of at most log₂ 4 = 2.00: 0.75 of its maximum";
  assert.equal(runs.rowEntropy([0.5, 0.25, 0.25, 0]), row);
  assert.match(runs.rowEntropy([1]), /of at most log₂ 1 = 0\.00$/);
});

test("the headline tells the weight that is followed, or which of two runs is right", () => {
  const entry = runs.readHeads(SENT);
  const run = { ...RUN, moments: [0, 10] };
  const side = {
    ...{ index: 0, run, moment: 1, sentence: 0, kinds: null, entry, pointed: null },
    ...{
      chosen: { kind: "cross", layer: 0, head: 0 },
      weights: new Float32Array(),
      followed: { query: 1, key: 1 },
    },
  };
  const told = (words) => withoutMarks(plainText(words));
  assert.equal(told(headlineOf([side])), "Step 10: gato gives cat 100% in head 0·0");
  assert.equal(
    told(headlineOf([{ ...side, pointed: { query: 1, key: 0 } }])),
    "Step 10: gato gives the 0% in head 0·0",
  );
  assert.equal(told(lineOf([side])), "It is 50% at step 0 and 100% at step 10.");
  assert.equal(momentInWords(side), "step 10, not yet right");
  const two = [side, { ...side, run: { ...run, name: "large", translations: [[""], ["x y"]] } }];
  assert.equal(told(headlineOf(two)), "Step 10: seed 0 ✗ not yet; large ✓ right");
  assert.equal(told(lineOf(two)), "right translation: x y");
});

test("a validation loss that rises again cuts the axis, and its lowest is told", () => {
  const turned = { ...RUN, validation: Float32Array.of(3, 1, 1.5) };
  assert.deepEqual(runs.lowestValidation(turned), { at: 1, loss: 1, rises: true });
  assert.deepEqual(runs.lossRange([turned, BARE]), { low: 0, high: 2, isLog: false, isCut: true });
  const told = "validation loss is lowest at step 10: 1.00; 1.50 at the end";
  assert.equal(runs.validationInWords(turned), told);
  assert.match(runs.lossesInWords(turned, 2, 0), /validation loss 1\.50/);
  assert.match(runs.curvesInWords([turned], [1]), new RegExp(`Its ${told}`));
  const falling = { ...RUN, validation: Float32Array.of(NaN, 2, 1) };
  assert.deepEqual(runs.lowestValidation(falling), { at: 2, loss: 1, rises: false });
  assert.equal(runs.lossRange([falling]).isCut, false);
  assert.deepEqual([runs.lowestValidation(RUN), runs.validationInWords(RUN)], [null, ""]);
});

test("an axis is logarithmic where the loss spans much, and steps where moments crowd", () => {
  assert.deepEqual(runs.lossRange([RUN, BARE]), { low: 0.125, high: 4, isLog: true, isCut: false });
  const flat = runs.lossRange([{ ...RUN, losses: Float32Array.of(2, 1, 0.5, NaN, Infinity) }]);
  assert.deepEqual(flat, { low: 0, high: 2, isLog: false, isCut: false });
  assert.deepEqual(runs.lossRange([BARE]), { low: 0, high: 1, isLog: false, isCut: false });
  assert.deepEqual(runs.logTicks(0.04, 3.2), [0.1, 0.3, 1, 3]);
  assert.deepEqual(runs.logTicks(0.4, 3.2), [0.5, 1, 2]);
  assert.equal(runs.logTicks(0.001, 3.2), undefined);
  const crowded = { moments: [0, 1, 3, 9, 40], steps: RUN.steps };
  const [even, log] = [runs.stepAxis([RUN]), runs.stepAxis([crowded])];
  assert.deepEqual([even.isLog, even.at(10), log.isLog, log.at(0), log.at(40)], [false, 0.25, true, 0, 1]);
  for (const axis of [even, log]) assertNear(axis.stepAt(axis.at(7)), 7, 1e-9);
});

test("a film has the first moment and the last, and between them those that are apart", () => {
  assert.deepEqual(runs.filmMoments([0, 30, 60, 90, 100], 50), [0, 4]);
  assert.deepEqual(runs.filmMoments([0, 30, 60, 90, 200], 50), [0, 2, 4]);
  assert.deepEqual(runs.filmMoments([0], 50), [0]);
  assert.deepEqual(runs.filmMoments([0, 20], 50), [0]);
});
