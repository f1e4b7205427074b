// The block lab's own decisions, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { moveText, movesOf, spreadInWords } from "../../viz_transformer/widgets/block_lab/spread.js";
import { columnLines } from "../../viz_transformer/widgets/block_lab/spread_lines.js";

// Two parts, three words: the first part tells everybody, the second nobody.
const told = [
  [2, 1, 1],
  [1, 2, 1],
  [0.5, 1, 2],
];
const kept = [
  [2, 0, 0],
  [0, 2, 1e-7],
  [0, 0, 2],
];
const reply = {
  tokens: ["the", "cat", "<eos>"],
  parts: ["attention", "norm"],
  spread: new DataView(Float32Array.from([told, kept].flat(2)).buffer),
};

test("the moves of one changed word are a row for each word", () => {
  assert.deepEqual(movesOf(reply, 2), [
    [0.5, 0],
    [1, 0],
    [2, 2],
  ]);
});

test("rounding is no move", () => {
  assert.equal(
    spreadInWords(reply, 1).replace(/[\u2068\u2069]/g, ""),
    "“cat” is changed. Other words that move: attention 2 of 2, norm none.",
  );
  assert.deepEqual([0, 1e-7, 0.004, 1.234].map(moveText), ["0", "0", "0.00", "1.23"]);
});

test("a line leads to each word that moves, and to no other", () => {
  const column = { left: 0, right: 10, heights: [5, 15, 25], changed: 1 };
  const lines = columnLines({ ...column, moves: [1, 2, 1e-9] });
  assert.deepEqual(
    lines.map(({ path }) => path),
    ["M0 15C5 15 5 5 10 5", "M0 15C5 15 5 15 10 15"],
  );
  assert.ok(lines[1].thickness > lines[0].thickness);
});
