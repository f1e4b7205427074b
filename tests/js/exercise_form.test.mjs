// Exercises in a page: what is read from their fields. tests/test_exercise_form.py holds what is said of
// an answer to Python's words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { compute } from "../../viz_transformer/widgets/exercise_form/arithmetic.ts";
import { check, isAnswer } from "../../viz_transformer/widgets/exercise_form/checking.ts";
import { assertTable } from "./helpers.mjs";

/** @type {Record<string, any>} */
const ASKED = {
  row: { kind: "row", n_fields: 4, value: { shape: [3], data: [1, 2, 3] } },
  mask: { kind: "table", n_fields: 2, value: { shape: [1, 2], data: [true, false] } },
  number: { kind: "number" },
  choice: { kind: "choice", options: ["A", "B"] },
  view: { kind: "view", checks: [[["encoder", 1, 2], true, "Yes."]] },
  repair: { kind: "repair", checks: [[[0, 1], true, "Yes."]] },
};

test("numbers and sums are computed as in Python", () => {
  const numbers =
    "24 = 24; −0.25 = -0.25; .5 = 0.5; 1e-3 = 0.001; 640_000 = 640000; 1/64 = 0.015625; 1/0 = Infinity";
  const sums =
    "2 + 3 * 4 = 14; 7 - 2 - 1 = 4; 8 / 2 / 2 = 2; -2**2 = -4; 2**-1 = 0.5; 2**3**2 = 512; (1 + 2) * -3 = -9";
  for (const each of `${numbers}; ${sums}; math.sqrt(64) = 8; nan = NaN`.split("; ")) {
    const [text, value] = each.split(" = ");
    assert.equal(compute(` ${text} `), Number(value), each);
  }
  const found = ["-log(0.5) / 4", "exp(2)", "2*pi", "e**2"].map(compute);
  assert.deepEqual(found, [-Math.log(0.5) / 4, Math.exp(2), 2 * Math.PI, Math.E ** 2]);
});

test("what is no number is none", () => {
  const texts =
    "eight; 1,5; 1 2; (1; 1); 2 *; sqrt; sqrt 4; 1 = 1; --; 1e; 1..2; [1]; constructor(1); alert(1); toString";
  for (const text of ["", " ", ...texts.split("; ")]) assert.equal(compute(text), null, text);
});

test("a row may be shorter than its fields, and has no gaps", () => {
  const asked = { ...ASKED.row, mistakes: [], tolerance: 1e-3, right: "Yes." };
  assert.deepEqual(check(asked, ["1", "2", "3", ""]), { passed: true, message: "Yes." });
  assertTable(
    (kind, typed) => check(ASKED[kind], typed).message,
    [
      ["row", ["1", "", "3", " "], "A field is still empty."],
      ["row", ["", "", "", ""], "Write the numbers first."],
      ["row", ["1", "two", "", ""], /^“two” is no number/],
      ["number", "12 heads", /^“12 heads” is no number/],
      ["number", "  ", "Write a number first."],
    ],
  );
});

test("what was kept of another exercise is no answer", () => {
  const answers = {
    row: [["1", "", "", ""]],
    mask: [[true, true]],
    view: [["encoder", 1, 2]],
    repair: [[0, 1]],
  };
  const others = {
    row: [3, "3", null, {}, ["1", "2"], [1, 2, 3, 4], [true, true]],
    mask: [["1", "2"], [true], [[true, true]]],
    view: ["encoder,1,2", ["encoder", 9, 2], [["encoder"], 1, 2], null],
    number: [3, "(".repeat(1e6)],
    choice: ["C"],
    repair: [[0], [0, 9], ["0", "1"], "01"],
  };
  const judged = (table) =>
    Object.entries(table).flatMap(([kind, kept]) => kept.map((each) => isAnswer(ASKED[kind], each)));
  assert.deepEqual(judged(answers), [true, true, true, true]);
  assert.ok(!judged(others).includes(true), judged(others).join());
});
