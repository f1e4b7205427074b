// The position lab and the clock: where their hands point and answer, and what their sentences say.
// tests/test_position_lab.py holds the numbers to Python's and torch's.

import assert from "node:assert/strict";
import * as hands from "../../viz_transformer/widgets/base/positions/hands.ts";
import * as layout from "../../viz_transformer/widgets/base/positions/layout.ts";
import * as told from "../../viz_transformer/widgets/base/positions/sentences.ts";
import * as encodings from "../../viz_transformer/widgets/position_lab/encodings.ts";
import * as matrix from "../../viz_transformer/widgets/position_lab/matrix.ts";
import * as words from "../../viz_transformer/widgets/position_lab/sentences.ts";
import { test } from "node:test";
import {
  placed,
  sentenceScores,
  shiftResult,
  shuffled,
} from "../../viz_transformer/widgets/position_lab/shift.ts";
import { assertNear, assertTable, withoutMarks } from "./helpers.mjs";

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
  assert.equal(told.tokens(hands.wavelength(31, 64)), "47,117");
  assert.deepEqual(hands.lookAlikes(table, 7, 0), [1, 13, 26, 32]);
  assert.equal(hands.lookAlikes(zeros(5, 4), 2, 1).length, 4);
  assert.equal(encodings.nearestRow(waves, 7).row, 6);
  assert.equal(encodings.nearestRow(zeros(1, 4), 0), null);
  assert.equal(encodings.rangeAt(encodings.scoresByPosition("none", table, head), 40), null);
});

test("a dragged hand stays on the turn that it is on, and one that makes no wave goes to the nearest tip", () => {
  /** @returns {[right: number, up: number]} */
  const at = (angle) => [Math.cos(angle), Math.sin(angle)];
  const drag = (pair, before, angle) => hands.positionTowards(waves, pair, before, at(angle), true);
  const speed = hands.angularFrequency(3, 64);
  assertTable(drag, [
    [3, 7, 9 * speed, 9],
    [3, 22, 24 * speed, 24],
    [3, 22, 9 * speed, 24], // the same direction, a turn later
    [0, 50, 51, 51],
    [0, 50, 48, 48],
    [0, 0, -1, 0], // the table has nothing before its first position
    [31, 5, 3, 63], // and nothing after its last
  ]);
  const learned = numbers(6, 4, 2);
  const [right, up] = hands.handOf(learned, 1, 4);
  assert.equal(hands.positionTowards(learned, 1, 0, [right + 0.01, up], false), 4);
  assert.equal(hands.reachOf(zeros(3, 2), 0), 1);
});

test("as many hands are drawn as have room, with the first, the last and the chosen one", () => {
  assertTable(
    (pairs, count, chosen) => hands.shownPairs(pairs, count, chosen).join(),
    [
      [32, 5, 3, "0,3,16,23,31"],
      [32, 3, 30, "0,30,31"],
      [32, 2, 3, "0,3,31"],
      [3, 9, 1, "0,1,2"],
      [1, 9, 0, "0"],
      [2, 2, 1, "0,1"],
    ],
  );
  const phone = layout.layOut({ width: 318, height: 420 }, 16);
  assert.ok(phone.hands.count < 6 && 2 * phone.hands.radius * phone.hands.count <= 420);
});

test("a place on the axis is a whole position, and so is every tick", () => {
  const wide = layout.layOut({ width: 900, height: 470 }, 16);
  for (const rows of [1, 5, 64, 1000]) {
    for (const position of [0, rows >> 1, rows - 1])
      assert.equal(layout.positionAt(wide, rows, layout.xOf(wide, rows, position)), position);
    assert.equal(layout.positionAt(wide, rows, -50), 0);
    assert.equal(layout.positionAt(wide, rows, 5000), rows - 1);
    const ticks = layout.ticksOf(rows, 600, 40);
    assert.ok(
      ticks.every((tick) => Number.isInteger(tick) && tick >= 0 && tick < rows),
      `${ticks}`,
    );
    assert.ok(ticks.length <= 16 && ticks[0] === 0);
  }
});

test("waves are drawn of as many positions as can be told apart, a page of them", () => {
  const wide = layout.layOut({ width: 900, height: 470 }, 16);
  const lens = (rows, position, turn) => layout.lensOf(wide, rows, position, turn);
  assert.ok(lens(64, 7, 14.9).isWhole && lens(1000, 7, 5000).isWhole);
  const [first, last] = [lens(1000, 7, 14.9), lens(1000, 999, 14.9)];
  assert.deepEqual([first.from, last.from + last.count, first.isWhole], [0, 1000, false]);
  const turns = first.count / 14.9;
  assertNear((wide.right - wide.left) / turns, 40, 0.2); // pixels of a turn
  for (const page of [first, last])
    for (const position of [page.from, page.from + 5, page.from + page.count - 1])
      assert.equal(page.positionAt(page.x(position)), position);
  assert.equal(lens(1000, first.count, 14.9).from, first.count); // a page does not move while one drags within it
  assert.ok(lens(1000, 0, null).count < 120); // numbers of no wave
});

test("a score of sums has four parts, and the claim is judged by what changed", () => {
  const { parts } = sentenceScores("sinusoidal", table, head, 4);
  const names = ["word · word", "word · position", "position · word", "position · position"];
  assert.equal(parts.map(([name]) => name).join(), names.join());
  const verdict = (encoding, shift) => words.claimHolds(shift, shiftResult(encoding, table, head, shift));
  assert.deepEqual(
    [verdict("sinusoidal", 9), verdict("rotary", 9), verdict("rotary", 0)],
    [false, true, null],
  );
});

test("neighbours' cosine is a mean over its rows", () => {
  const rows = matrix.matrixOf(Float64Array.from([1, 0, 2, 0, 0, 3]), 3, 2);
  assertNear(encodings.neighbourCosine(rows, 0, 3), 0.5);
  assert.equal(encodings.neighbourCosine(table, 5, 6), null);
});

test("a hand's sentences tell how far it has turned, and where it points alike", () => {
  const says = (which, encoding, pair, position) => {
    const isWave = encodings.isWave(encoding);
    const shown = { table: which, pair, position, isWave, encoding, trained: 19 };
    return `${words.handHeadline(shown)}. ${words.handLine(shown)}`;
  };
  assertTable(says, [
    [
      waves,
      "sinusoidal",
      3,
      7,
      /^At position 7, hand 3 has turned 169°\. .* 14\.9 tokens\. .* at 22, 37, 51, 52\.$/,
    ],
    [
      waves,
      "sinusoidal",
      0,
      7,
      /has turned 401°\. A turn takes 6\.3 tokens\. .* 1, 13, 26, 32 and \d more\.$/,
    ],
    [waves, "sinusoidal", 31, 7, /has turned 0\.053°\. A turn takes 47,117 tokens\. .* everywhere else\.$/],
    [waves, "rotary", 3, 7, /^At position 7, pair 3 is turned by 169°/],
    [
      numbers(40, 8, 4),
      "learned",
      1,
      5,
      /^At position 5, dimensions 2 and 3 are −?\d\.\d\d and −?\d\.\d\d\. Nearly/,
    ],
    [numbers(40, 8, 4), "learned", 1, 30, /Only positions 0 to 18 occurred in training/],
    [zeros(8, 8), "none", 0, 0, /^Every number is 0, at every position\. Neither/],
  ]);
});

test("all hands together tell apart what one does not", () => {
  const says = (which, pair, position) => {
    const nearest = encodings.nearestRow(which, position);
    const shown = { table: which, pair, position, isWave: true, encoding: "", trained: 0 };
    return `${words.allHeadline(shown, nearest)}. ${words.allLine(nearest)}`;
  };
  assertTable(says, [
    [waves, 3, 7, /^By hand 3, .* like 4 others; by all 32, like no other\. .* position 6, 1\.47 away/],
    [zeros(8, 8), 3, 7, /like 7 others; by all 4, like others too/],
    [zeros(1, 4), 0, 0, /like no other; .* There is no other position\.$/],
  ]);
});

test("the sentence on offsets bears out what the lines do", () => {
  const says = (encoding, which, position, offset) => {
    const scores = encodings.scoresByPosition(encoding, which, head);
    const shown = { encoding, position, table: which, pair: 0, isWave: false, trained: 0 };
    const line = words.likenessLine(encoding, offset, encodings.rangeAt(scores, offset));
    return `${words.likenessHeadline(shown, scores, offset)}. ${line}`;
  };
  assertTable(says, [
    [
      "sinusoidal",
      table,
      7,
      3,
      /^Position 7 · position 10 = \d\.\d\d\. At offset \+3 it is the same from every/,
    ],
    [
      "learned",
      numbers(40, 8, 4),
      7,
      -3,
      /position 4 = .*At offset −3 the scores run from .* position counts/,
    ],
    ["sinusoidal", table, 7, -9, /^The table has no position −2\. At offset −9 it is the same/],
    ["rotary", table, 7, 3, /^One query at position 7 · one key at 10/],
    ["none", zeros(40, 8), 7, 3, /All are 0/],
  ]);
});

test("the shuffle's sentence follows the model's answer", () => {
  const still = { moved: [0, 2e-7, 0], translation: "a", as_written: "a" };
  const changed = { moved: [0.1, 1.25, 0.2], translation: "a", as_written: "b" };
  assertTable(
    (order, reply) => withoutMarks(words.shuffledLine(["the", "<b>", "cat"], order, reply)),
    [
      [[2, 1, 0], changed, "<b> changes most, by 1.25 of its length. As written, the translation was b."],
      [[2, 1, 0], still, /^No vector changes; .*the translation is the same\.$/],
      [[0, 1, 2], still, /in their original order/],
    ],
  );
});

test("a word put at another place moves those between, and a shuffle is a new order of the same words", () => {
  assert.deepEqual(placed([0, 1, 2, 3], 0, 2), [1, 2, 0, 3]);
  assert.deepEqual(placed([0, 1, 2, 3], 3, 1), [0, 3, 1, 2]);
  for (const draw of [0, 0.3, 0.999]) {
    const next = shuffled([0, 1, 2, 3], () => draw);
    assert.deepEqual([...next].sort(), [0, 1, 2, 3]);
    assert.notDeepEqual(next, [0, 1, 2, 3]);
  }
  assert.deepEqual(shuffled([0]), [0]);
});
