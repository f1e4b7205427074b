// What is said of a prediction, and what is no prediction.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readGuess, verdictOf } from "../../viz_transformer/widgets/prediction/verdict.js";

const said = ({ told }) => told.map((piece) => piece.strong ?? piece).join("");
const number = (guess, truth = 10.8) =>
  verdictOf({ kind: "number", guess, truth, options: [], unit: "nats" });

test("a number is judged by the factor that it is off", () => {
  /** @type {[number, number, string][]} */
  const cases = [
    [10.8, 1, "You said 10.8 nats; it is 10.8 nats. Spot on."],
    [10.5, 1, "Spot on."],
    [5.4, 1 - Math.log10(2), "Off by a factor of 2."],
    [292, 0, "Off by a factor of 27."],
    [-10.8, 0, "You said −10.8 nats; it is 10.8 nats."],
    [0, 0, "it is 10.8 nats."],
  ];
  for (const [guess, score, words] of cases) {
    const verdict = number(guess);
    assert.ok(Math.abs(verdict.score - score) < 1e-12);
    assert.ok(said(verdict).endsWith(words), said(verdict));
  }
});

test("a unit is written as one says it", () => {
  const told = (guess, truth, unit) => said(verdictOf({ kind: "number", guess, truth, options: [], unit }));
  assert.equal(told(1, 5, "cells"), "You said 1 cell; it is 5 cells. Off by a factor of 5.");
  assert.equal(
    told(1, 2, "nats per token"),
    "You said 1 nat per token; it is 2 nats per token. Off by a factor of 2.",
  );
  assert.equal(told(40, 80, "%"), "You said 40%; it is 80%. Off by a factor of 2.");
  assert.equal(told(1, 2, "of 6"), "You said 1 of 6; it is 2 of 6. Off by a factor of 2.");
  assert.equal(told(1, 2, "ms"), "You said 1 ms; it is 2 ms. Off by a factor of 2.");
});

test("a choice is right or wrong, and hostile text is text", () => {
  const asked = { kind: "choice", truth: "b", options: ["<i>", "b"], unit: "" };
  const wrong = verdictOf({ ...asked, guess: "<i>" });
  assert.deepEqual([wrong.score, said(wrong)], [0, "You said <i>. The answer is b."]);
  const right = verdictOf({ ...asked, guess: "b" });
  assert.deepEqual([right.score, said(right)], [1, "You said b, and that is right."]);
});

test("a row is judged by what both share", () => {
  const verdict = verdictOf({
    kind: "row",
    guess: [0.5, 0.5],
    truth: [0.1, 0.9],
    options: ["el", "gato"],
    unit: "",
  });
  assert.ok(Math.abs(verdict.score - 0.6) < 1e-12);
  assert.equal(
    said(verdict),
    "Your row has 60% of its weight where it belongs. Most goes to gato: 0.90; you gave it 0.50.",
  );
  assert.deepEqual(verdict.table.rows[1], ["measured", [0.1, 0.9]]);
});

test("a key is judged by its weight, and told its rank", () => {
  const asked = { kind: "key", truth: [0.2, 0.6, 0.2], options: ["a", "b", "c"], unit: "" };
  const first = verdictOf({ ...asked, guess: 1 });
  assert.deepEqual(
    [first.score, said(first)],
    [1, "You chose b: weight 0.60, rank 1 of 3. No word gets more from this head."],
  );
  const last = verdictOf({ ...asked, guess: 2 });
  assert.ok(Math.abs(last.score - 1 / 3) < 1e-12);
  assert.equal(said(last), "You chose c: weight 0.20, rank 3 of 3. This head attends most to b: 0.60.");
});

test("what is no guess is told, and asked again", () => {
  for (const typed of ["many", "", " ", "NaN", "1e999"]) {
    assert.match(readGuess("number", typed).problem, /^a prediction is a number, not '/);
  }
  assert.deepEqual(readGuess("number", " −2.50 "), { guess: -2.5 });
  assert.match(readGuess("row", [0, 0]).problem, /some weight/);
  assert.deepEqual(readGuess("row", [0, 0.4]), { guess: [0, 1] });
  assert.deepEqual(readGuess("choice", "a"), { guess: "a" });
});
