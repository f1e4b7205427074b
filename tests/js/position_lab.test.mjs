// The position lab: where its pictures answer, and what its sentences say. tests/test_position_lab.py holds
// its numbers to Python's and torch's.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as hands from "../../viz_transformer/widgets/base/js/clock_hands.js";
import * as encodings from "../../viz_transformer/widgets/position_lab/encodings.js";
import * as matrix from "../../viz_transformer/widgets/position_lab/matrix.js";
import * as words from "../../viz_transformer/widgets/position_lab/narration.js";
import { sentenceScores, shiftResult } from "../../viz_transformer/widgets/position_lab/shift.js";
import { exchanged, shuffled } from "../../viz_transformer/widgets/position_lab/shuffle.js";
import { assertNear, assertTable } from "./helpers.mjs";

const table = encodings.sinusoids(40, 8);
const waves = encodings.sinusoids(64, 64);
const zeros = (rows, cols) => matrix.matrixOf(new Float64Array(rows * cols), rows, cols);

/** Numbers that look random and are the same each time. */
function numbers(rows, cols, seed) {
  const value = (_, i) => Math.sin(12.9898 * (i + 1) + 78.233 * seed) * 2;
  return matrix.matrixOf(Float64Array.from({ length: rows * cols }, value), rows, cols);
}

/** A head that looks random, with a sentence of five words. */
const head = (() => {
  const [mixing, queryWeight, keyWeight, sentence] = [1, 2, 3, 4].map((seed) => numbers(8, 8, seed));
  const five = matrix.rowsOf(sentence, 0, 5);
  return {
    words: five,
    mixing,
    queries: matrix.dotProducts(five, queryWeight),
    keys: matrix.dotProducts(five, keyWeight),
  };
})();

test("wavelengths are those of the paper, and look-alikes are near in the pair's own plane", () => {
  assertNear(hands.wavelength(0, 512), 2 * Math.PI);
  assertNear(hands.wavelength(10, 64), 2 * Math.PI * 10000 ** (20 / 64));
  assert.equal(words.tokens(hands.wavelength(31, 64)), "47,117");
  assert.deepEqual(hands.lookAlikes(table, 7, 0), [1, 13, 26, 32]);
  assert.equal(hands.lookAlikes(zeros(5, 4), 2, 1).length, 4);
  assert.equal(encodings.confusions(table, 7)[0], 4);
  assert.equal(encodings.nearestRow(waves, 7).row, 6);
  assert.equal(encodings.rangeAt(encodings.scoresByPosition("none", table, head), 40), null);
});

test("a score of sums has four parts, and the claim is judged by what changed", () => {
  const { parts } = sentenceScores("sinusoidal", table, head, 4);
  const names = ["word · word", "word · position", "position · word", "position · position"];
  assert.equal(parts.map(([name]) => name).join(), names.join());
  const verdict = (encoding, shift) => {
    const { changed, size } = shiftResult(encoding, table, head, shift);
    return words.claimVerdict(shift, changed, size);
  };
  const verdicts = [verdict("sinusoidal", 9), verdict("rotary", 9), verdict("rotary", 0)];
  assert.deepEqual(verdicts, ["false", "true", ""]);
});

test("neighbours' cosine is a mean over its rows", () => {
  const rows = matrix.matrixOf(Float64Array.from([1, 0, 2, 0, 0, 3]), 3, 2);
  assertNear(encodings.neighbourCosine(rows, 0, 3), 0.5);
  assert.equal(encodings.neighbourCosine(table, 5, 6), null);
});

test("the readout names position, dimension, value and wavelength", () => {
  const learned = matrix.matrixOf(Float64Array.from([-0.5, 0]), 1, 2);
  assertTable(words.cellSentence, [
    ["sinusoidal", waves, 7, 12, "position 7, dimension 12: 0.95, one turn every 35.3 tokens"],
    ["learned", learned, 0, 0, "position 0, dimension 0: −0.50"],
  ]);
  assert.equal(
    words.formula("sinusoidal", 6, 64),
    "PE(pos, 12) = sin(pos / 10000^(12/64)) · PE(pos, 13) = cos(pos / 10000^(12/64))",
  );
});

test("a pair's sentence says why it cannot tell positions apart", () => {
  const nearest = encodings.nearestRow(waves, 7);
  assertTable(
    (pair) =>
      words.pairSentence(
        "sinusoidal",
        waves,
        { pair, position: 7 },
        hands.lookAlikes(waves, 7, pair),
        nearest,
      ),
    [
      [0, /once every 6\.3 tokens\. .* position 7 looks like 1, 13, 26, .*: the hand comes round again\./],
      [6, /looks like 6, 8, .*moves little from word to word, and comes round again/],
      [12, /and 8 more: the hand moves too little from word to word/],
      [31, /all positions look alike: its hand is so slow that it has hardly moved/],
      [0, /All 32 pairs together tell it from every other: the nearest, 6, is 1\.47 away\./],
    ],
  );
  const none = words.pairSentence("none", zeros(8, 8), { pair: 0, position: 0 }, [1], null);
  assert.match(none, /neither this pair nor all 4 together/);
});

test("the sentence on offsets bears out what the lines do", () => {
  const says = (encoding, which, position, offset) => {
    const scores = encodings.scoresByPosition(encoding, which, head);
    return words.offsetSentence(encoding, scores, { position, offset }, encodings.rangeAt(scores, offset));
  };
  const sums = /^Position 7 · position 10 \(offset \+3\) = \d\.\d\d\. .*Only the offset counts\.$/;
  assertTable(says, [
    ["sinusoidal", table, 7, 3, sums],
    ["learned", numbers(40, 8, 4), 7, -3, /position 4 \(offset −3\).*the position counts/],
    ["sinusoidal", table, 7, -9, /^The table has no position −2/],
    ["rotary", table, 7, 3, /^One query at position 7 · one key at 10/],
    ["none", zeros(40, 8), 7, 3, /All are 0/],
  ]);
});

test("the shuffle's sentence follows the model's answer", () => {
  const still = { moved: [0, 2e-7, 0], translation: "a", as_written: "a" };
  const changed = { moved: [0.1, 1.25, 0.2], translation: "a", as_written: "b" };
  assertTable(
    (order, reply) => words.shuffleSentence(["the", "<b>", "cat"], { order }, reply),
    [
      [[2, 1, 0], changed, /<b>.* moved most, by 1\.25 of its length\. The translation changes too\.$/],
      [[2, 1, 0], still, /none changes by 0\.0001 .*permutation equivariance\..*one translation/],
      [[0, 1, 2], still, /in which they were written/],
    ],
  );
});

test("words change places one step at a time, and a shuffle is a new order of the same words", () => {
  assert.deepEqual(exchanged([0, 1, 2], 0, 1), [1, 0, 2]);
  const order = [2, 0, 1];
  assert.equal(exchanged(order, 0, -1), order);
  assert.equal(exchanged(order, 2, 3), order);
  for (const draw of [0, 0.3, 0.999]) {
    const next = shuffled([0, 1, 2, 3], () => draw);
    assert.deepEqual([...next].sort(), [0, 1, 2, 3]);
    assert.notDeepEqual(next, [0, 1, 2, 3]);
  }
  assert.deepEqual(shuffled([0]), [0]);
});
