// The stepper's pure functions: its arithmetic, where numbers come from, and what is said of them.

import assert from "node:assert/strict";
import * as math from "../../viz_transformer/widgets/base/head/arithmetic.ts";
import * as derivation from "../../viz_transformer/widgets/base/head/derivation.ts";
import * as plans from "../../viz_transformer/widgets/base/head/plan.ts";
import * as told from "../../viz_transformer/widgets/base/head/sentences.ts";
import { test } from "node:test";
import { heightOf, placesOf } from "../../viz_transformer/widgets/base/head/room.ts";
import { codeLine } from "../../viz_transformer/widgets/base/head/step_code.ts";
import { plainText } from "../../viz_transformer/widgets/base/text.ts";
import { assertTable, floats, withoutMarks } from "./helpers.mjs";

const ALL = ["x", "q", "k", "v", "scores", "scaled", "masked", "weights", "output", "concat", "result"];
const PLAIN = {
  step: 0,
  head: 0,
  query: 1,
  key: null,
  column: null,
  scale: true,
  mask: true,
  temperature: 1,
};
const text = (parts) => parts.map(([, each]) => each).join("");
const at = (name, row, col) => ({ name, row, col });

/** One head of two numbers: x is [1, 2], [3, 4], [0, 1]; all matrices are plain. */
function hand(changes = {}) {
  return math.unpackSteps({
    text: "a b c",
    kind: "decoder",
    layer: 0,
    queries: ["a", "b", "c"],
    keys: ["a", "b", "c"],
    reads: null,
    heads: 1,
    d_model: 2,
    d_head: 2,
    x: floats([1, 2], [3, 4], [0, 1]),
    memory: null,
    w_q: floats([1, 0], [0, 1]),
    w_k: floats([0, 1], [1, 0]),
    w_v: floats([2, 0], [0, -1]),
    w_o: floats([1, 1], [0, 1]),
    b_q: null,
    b_k: floats(0.5, 0),
    b_v: null,
    b_o: null,
    mask: new DataView(Uint8Array.from([1, 0, 0, 1, 1, 0, 0, 0, 0]).buffer),
    ...changes,
  });
}

test("a fully masked row gives zeros, and its lines say so", () => {
  const chosen = { ...PLAIN, query: 2 };
  const worked = math.computeHead(hand(), chosen);
  assert.deepEqual([...worked.matrices.weights.values], [0, 0, 0]);
  assert.equal(codeLine(hand(), worked, chosen, "weights"), "weights = e");
  assert.equal(codeLine(hand(), worked, chosen, "exponentials"), "e = np.zeros(len(k))");
  assert.match(told.sentenceOf(hand(), worked, chosen, "masked"), /may attend to no word/);
  assert.match(told.sentenceOf(hand(), worked, chosen, "weights"), /all weights are 0/);
  assert.equal(math.argmaxFinite([-Infinity, -Infinity]), 0);
});

test("a number is written out with its terms", () => {
  const [layer, worked] = [hand(), math.computeHead(hand(), PLAIN)];
  assertTable(
    (name, row, col) => text(derivation.formulaOf(layer, worked, PLAIN, at(name, row, col))),
    [
      ["q", 0, 1, "3.00·0.00 + 4.00·1.00 = 4.00"],
      ["k", 2, 0, "0.00·0.00 + 1.00·1.00 + 0.50 = 1.50"],
      ["k_t", 0, 2, "0.00·0.00 + 1.00·1.00 + 0.50 = 1.50"],
      ["v", 1, 1, "3.00·0.00 + 4.00·(−1.00) = −4.00"],
      ["scores", 0, 0, "3.00·2.50 + 4.00·1.00 = 11.50"],
      ["scaled", 0, 0, "11.50 ÷ √2 = 8.13"],
      ["masked", 0, 2, "3.18, but it may not attend: −∞"],
      ["exponentials", 0, 1, "e to the power of 18.03 − 18.03 = 1.00"],
      ["weights", 0, 1, "1.00 ÷ (0.00 + 1.00 + 0.00) = 1.00"],
      ["x", 0, 1, "4.00"],
      ["concat", 0, 1, "number 1 of head 0: −4.00"],
    ],
  );
  const warm = { ...PLAIN, scale: false, temperature: 2 };
  const formula = derivation.formulaOf(layer, math.computeHead(layer, warm), warm, at("scaled", 0, 0));
  assert.equal(text(formula), "11.50 ÷ 2.00 = 5.75");
});

test("of a long sum the largest terms are shown, and all on request", () => {
  const n = 40;
  const x = Array.from({ length: n }, (_, i) => (i === 7 ? -9 : i === 30 ? 5 : 0.5));
  const weights = floats(Array(2 * n).fill(0.5));
  const words = { queries: ["a"], keys: ["a"], mask: null };
  const layer = hand({ ...words, d_model: n, x: floats(x), w_q: weights, w_k: weights, w_v: weights });
  const chosen = { ...PLAIN, query: 0 };
  const worked = math.computeHead(layer, chosen);
  const [cut, whole] = [false, true].map((all) =>
    derivation.formulaOf(layer, worked, chosen, at("q", 0, 0), all),
  );
  assert.equal(text(cut.filter(([kind]) => kind === "more")), "… 35 smaller …");
  assert.ok(text(cut).includes("(−9.00)·0.50") && text(cut).includes("5.00·0.50"));
  assert.equal(cut.filter(([kind]) => kind === "a").length, 5);
  assert.equal(whole.filter(([kind]) => kind === "a").length, n);
  assert.equal(text(whole).split(" = ")[1], "7.50");
  const fewer = x.map((each, i) => (i >= 10 && i < 30 ? 0 : each)); // as masked keys are
  const sparse = derivation.formulaOf(
    layer,
    math.computeHead(
      hand({ ...words, d_model: n, x: floats(fewer), w_q: weights, w_k: weights, w_v: weights }),
      chosen,
    ),
    chosen,
    at("q", 0, 0),
  );
  assert.equal(text(sparse.filter(([kind]) => kind === "more")), "… 15 smaller …");
});

test("every number names the row and the column that it is made of", () => {
  const layer = hand();
  const from = (name, row, col) => derivation.sourcesOf(layer, at(name, row, col));
  assertTable(from, [
    ["q", 0, 1, [at("x", 0, null), at("w_q", null, 1)]],
    ["k", 2, 0, [at("seen", 2, null), at("w_k", null, 0), at("b_k", 0, 0)]],
    ["k_t", 0, 2, from("k", 2, 0)],
    ["scores", 0, 2, [at("q", 0, null), at("k_t", null, 2)]],
    ["masked", 0, 1, [at("scaled", 0, 1), at("allowed", 0, 1)]],
    ["concat", 0, 1, [at("heads", 0, 1)]],
    ["w_q", 0, 1, []],
  ]);
  const marks = plans.marksOf(layer, at("scores", 0, 2), "k_t");
  assert.deepEqual(
    [plans.roleAt(marks, 0, 2), plans.roleAt(marks, 1, 2), plans.roleAt(marks, 0, 1)],
    ["b", "b", null],
  );
  assert.equal(plans.roleAt(plans.marksOf(layer, at("scores", 0, 2), "scores"), 0, 2), "is");
});

test("a place in the code is that of the number", () => {
  const layer = hand();
  assertTable(
    (cell) => derivation.cellInCode(layer, PLAIN, cell),
    [
      [at("k_t", 1, 2), "k[2, 1]"],
      [at("x", 0, 1), "x[1, 1]"],
      [at("scores", 0, 2), "scores[2]"],
    ],
  );
  const line = (name, change) =>
    codeLine(layer, math.computeHead(layer, PLAIN), { ...PLAIN, ...change }, name);
  assert.equal(line("w_q", {}), null);
  assert.equal(line("scaled", { scale: false, temperature: 2 }), "scaled = scores / 2");
  assert.deepEqual([derivation.sixDigits(1 / 3), derivation.sixDigits(-Infinity)], ["0.333333", "-inf"]);
});

test("every step shows what it multiplies, and follows the same word and number", () => {
  const [layer, worked] = [hand(), math.computeHead(hand(), PLAIN)];
  const followed = (change, step) => plans.followedCell(layer, worked, { ...PLAIN, ...change }, step, 0);
  for (const step of ALL) {
    const plan = plans.planOf(layer, step);
    for (const name of plan.rows ?? [plan.a, plan.b, plan.c])
      assert.ok(worked.matrices[name], `${step}: ${name}`);
    const cell = followed({ key: 2, column: 1 }, step);
    assert.equal(cell.name, plans.planOf(layer, step).c);
    assert.ok(Number.isFinite(worked.matrices[cell.name].at(cell.row, cell.col)) || step === "masked");
    assert.equal(derivation.stepOf(layer, cell.name), step);
    assert.equal(typeof told.meaningOf(layer, PLAIN, cell), "string");
    assert.doesNotMatch(text(derivation.formulaOf(layer, worked, PLAIN, cell)), /undefined/);
  }
  assert.deepEqual(followed({ key: 2, column: 1 }, "k"), at("k", 2, 1));
  assert.deepEqual(followed({ column: 9 }, "q"), at("q", 0, 0));
  assert.deepEqual(plans.traitsFollowing(layer, at("k_t", 1, 2)), { key: 2, column: 1 });
  assert.deepEqual(plans.traitsFollowing(layer, at("all", 2, 1)), { query: 2, column: 1 });
  assert.deepEqual(plans.traitsFollowing(layer, at("concat", 0, 1)), { head: 0, column: 1 });
  assert.deepEqual([plans.planOf(layer, "k").bias, plans.planOf(layer, "q").bias], ["b_k", null]);
});

test("sentences are true of the numbers", () => {
  const layer = hand();
  const says = (step, change) => {
    const chosen = { ...PLAIN, ...change };
    return withoutMarks(told.sentenceOf(layer, math.computeHead(layer, chosen), chosen, step));
  };
  assertTable(says, [
    ["scores", {}, /score of “b” with “b” is the largest: 25\.50/],
    ["scaled", {}, /divided by √2 = 1\.41\..*of “b”, is now 18\.03/],
    ["scaled", { temperature: 3 }, /√2 = 1\.41 and by the temperature 3\.00/],
    ["scaled", { scale: false }, /Not divided/],
    ["masked", {}, /may not attend to 1 word that would come later: its score becomes/],
    ["masked", { mask: false }, /mask is off/],
    ["weights", {}, /attends most to “b”: 1\.00/],
  ]);
  assert.match(told.layerName(layer, 0), /Decoder self-attention · layer 0 · head 0/);
});

test("choices that no longer fit are moved inside", () => {
  const fitted = math.fitChoice(hand(), { ...PLAIN, step: 99, head: 7, query: 9, key: 3 });
  assert.deepEqual([fitted.step, fitted.head, fitted.query, fitted.key], [10, 0, 2, null]);
});

test("what a step shows fills its room, side by side and one below the other", () => {
  const measure = (word) => 0.6 * word.length;
  for (const [width, height] of [
    [944, 450],
    [358, 400],
    [2200, 900],
  ])
    for (const step of ALL) {
      const chosen = PLAIN;
      const snapshot = { layer: hand(), worked: math.computeHead(hand(), chosen), chosen, step, cell: null };
      const places = placesOf(snapshot, { width, height, unit: 16, measure });
      const where = `${step} in ${width} × ${height}`;
      assert.ok(heightOf(places) <= height + 1, where);
      for (const { left, top, cols, cell, rows, row, names } of places) {
        assert.ok(left - names >= -1 && left + cols * cell <= width + 1, where);
        for (const other of places) {
          if (other.left === left && other.top > top) assert.ok(top + rows * row <= other.top, where);
          if (other.top === top && other.left > left) assert.ok(left + cols * cell <= other.left, where);
        }
      }
      const least = heightOf(placesOf(snapshot, { width, height: 0, unit: 16, measure }));
      assert.ok(least < 400, where);
    }
});

test("headlines are true of the numbers", () => {
  const layer = hand();
  const says = (step, change) => {
    const chosen = { ...PLAIN, ...change };
    const worked = math.computeHead(layer, chosen);
    return withoutMarks(plainText(told.headlineOf({ layer, worked, chosen, step, cell: null })));
  };
  assertTable(says, [
    ["scores", {}, "b scores b highest: 25.50"],
    ["masked", {}, "b may look at 2 of 3 words"],
    ["weights", {}, "b looks at b: >\u00a099%"],
    ["weights", { query: 2 }, "c may look at no word"],
  ]);
});
