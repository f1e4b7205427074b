// What is said of a prediction, and what is no prediction.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isGuess, readGuess, verdictOf, wordOf } from "../../viz_transformer/widgets/prediction/verdict.ts";
import { assertNear, assertTable } from "./helpers.mjs";

/** Hold the verdict on a guess to its score and what is said. */
function assertVerdict(asked, guess, score, words) {
  const verdict = verdictOf({ options: [], unit: "", ...asked, guess });
  assertNear(verdict.score, score, 1e-12);
  assert.ok(verdict.told.endsWith(words), verdict.told);
}

test("a number is judged by the factor that it is off", () => {
  const asked = { kind: "number", truth: 10.8, unit: "nats" };
  assertVerdict(asked, 10.8, 1, "You said 10.8 nats; it is 10.8 nats.");
  assertVerdict(asked, 10.5, 1, "it is 10.8 nats.");
  assertVerdict(asked, 5.4, 1 - Math.log10(2), "Off by a factor of 2.");
  assertVerdict(asked, 292, 0, "Off by a factor of 27.");
  assertVerdict(asked, -10.8, 0, "You said −10.8 nats; it is 10.8 nats.");
  assertVerdict(asked, 0, 0, "it is 10.8 nats.");
});

test("a unit is written as one says it", () => {
  const score = 1 - Math.log10(2);
  const told = (unit, words) => assertVerdict({ kind: "number", truth: 2, unit }, 1, score, words);
  told("cells", "You said 1 cell; it is 2 cells. Off by a factor of 2.");
  told("nats per token", "You said 1 nat per token; it is 2 nats per token. Off by a factor of 2.");
  told("%", "You said 1%; it is 2%. Off by a factor of 2.");
  told("of 6", "You said 1 of 6; it is 2 of 6. Off by a factor of 2.");
  told("ms", "You said 1 ms; it is 2 ms. Off by a factor of 2.");
});

test("a choice is right or wrong, and hostile text is text", () => {
  const asked = { kind: "choice", truth: "b", options: ["<i>", "b"] };
  assertVerdict(asked, "<i>", 0, "You said <i>. The answer is b.");
  assertVerdict(asked, "b", 1, "You said b.");
});

test("a row is judged by what both share, a key by its weight and its rank", () => {
  const row = { kind: "row", truth: [0.1, 0.9], options: ["el", "gato"] };
  const words = "Your row has 60% of its weight where it belongs. Most goes to “gato”: 90%; you gave it 50%.";
  assertVerdict(row, [0.5, 0.5], 0.6, words);
  const key = { kind: "key", truth: [0.2, 0.6, 0.2], options: ["a", "b", "c"] };
  assertVerdict(key, 1, 1, "You chose “b”: 60%, rank 1 of 3. No word gets more from this head.");
  assertVerdict(key, 2, 1 / 3, "“c”: 20%, rank 3 of 3. This head attends most to “b”: 60%.");
});

test("a mark stands with a word, and the middle has no mark", () => {
  const words = [1, 0.95, 0.7, 0.2].map(wordOf);
  assert.deepEqual(words, ["✓ Right.", "✓ Very near.", "Near.", "✗ Not so."]);
});

test("what is no guess is told, and asked again", () => {
  for (const typed of ["many", "", " ", "NaN", "1e999"])
    assert.match(readGuess("number", typed).problem, /^a prediction is a number, not '/);
  assert.deepEqual(readGuess("number", " −2.50 "), { guess: -2.5 });
  assert.match(readGuess("row", [0, 0]).problem, /some weight/);
  assert.deepEqual(readGuess("row", [0, 0.4]), { guess: [0, 1] });
  assert.deepEqual(readGuess("choice", "a"), { guess: "a" });
});

test("an explanation is a sentence, judged by the one who wrote it", () => {
  const guess = { sentence: "Scores grow.", holds: "partly" };
  assertVerdict({ kind: "sentence", truth: "" }, guess, 0.5, "your answer leaves something out.");
  assert.deepEqual(readGuess("sentence", " Yes. "), { guess: { sentence: "Yes.", holds: null } });
  assert.match(readGuess("sentence", " \n").problem, /write a sentence/);
  const fits = (kept) => isGuess({ kind: "sentence", options: [] }, kept);
  assert.ok(fits(guess) && fits({ ...guess, holds: null }));
  const odd = [
    null,
    "text",
    {},
    { ...guess, sentence: " " },
    { ...guess, holds: "toString" },
    { ...guess, holds: 1 },
  ];
  assert.deepEqual(odd.filter(fits), []);
});

test("what was kept of another question is no guess", () => {
  const options = ["el", "gato"];
  assertTable(
    (kind, guess) => isGuess({ kind, options }, guess),
    [
      ["number", -1.5, true],
      ["number", "3", false],
      ["number", null, false],
      ["choice", "gato", true],
      ["choice", 1, false],
      ["choice", ["gato"], false],
      ["key", 1, true],
      ["key", 2, false],
      ["key", -1, false],
      ["key", 0.5, false],
      ["key", "length", false],
      ["row", [0.25, 0.75], true],
      ["row", [1], false],
      ["row", [1.5, -0.5], false],
      ["row", ["0.5", "0.5"], false],
      ["row", [[0.5], [0.5]], false],
      ["row", { length: 2, 0: 0.5, 1: 0.5 }, false],
    ],
  );
});
