// What the explorer's page makes of a small trace; tests/test_explorer_data.py holds it to Python's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { labelHeads } from "../../viz_transformer/widgets/explorer/head_labels.js";
import { measureTraces } from "../../viz_transformer/widgets/explorer/measured_trace.js";
import {
  entropyShares,
  reachableKeys,
  twoDecimals,
} from "../../viz_transformer/widgets/explorer/measures.js";
import { outputRolloutOf, rolloutOf } from "../../viz_transformer/widgets/explorer/rollout.js";
import { queryWords, specialTokens } from "../../viz_transformer/widgets/explorer/token_marks.js";

/** One head of one layer of a kind, from its rows. */
function oneHead(kind, matrix) {
  const weights = Float32Array.from(matrix.flat());
  return { kind, layers: 1, heads: 1, rows: matrix.length, cols: matrix[0].length, weights };
}

const eye = (n) =>
  Array.from({ length: n }, (_, row) => Array.from({ length: n }, (_, col) => Number(row === col)));

test("two decimals are rounded as Python rounds them", () => {
  assert.deepEqual([0.125, 0.375, 0.625, 0.875, 1 / 3, 0.995, 1].map(twoDecimals), [
    ...["0.12", "0.38", "0.62", "0.88", "0.33", "0.99", "1.00"],
  ]);
});

test("a decoder's query reaches itself and the past, unless some weight lies on the future", () => {
  const past = [
    [1, 0],
    [0.5, 0.5],
  ];
  assert.deepEqual(reachableKeys(oneHead("decoder", past)), [1, 2]);
  assert.deepEqual(reachableKeys(oneHead("encoder", past)), [2, 2]);
  assert.deepEqual(reachableKeys(oneHead("decoder", [[0.5, 0.5], past[1]])), [2, 2]);
});

test("the entropy of a row is a share of its maximum", () => {
  const shares = entropyShares(Float32Array.of(1, 0, 0.5, 0.5, 0, 0), [1, 2, 2]);
  assert.deepEqual(shares, [NaN, 1, NaN]); // no choice; even; a row of zeros
});

test("a head that does one thing in enough rows has a name, with its evidence", () => {
  const [[label]] = labelHeads(oneHead("encoder", eye(8)), [..."abcdefgh"]);
  assert.equal(label.name, "same token");
  assert.equal(
    label.sentence,
    "puts 1.00 of its weight on the token itself, mean of 6 rows; even attention would put 0.12 there",
  );
  assert.deepEqual(labelHeads(oneHead("encoder", eye(4)), [..."abcd"]), [[null]]);
});

test("rollout mixes by halves, and to the output through the encoder", () => {
  const swap = [
    [0, 1],
    [1, 0],
  ];
  const encoder = oneHead("encoder", swap);
  assert.deepEqual(Array.from(rolloutOf(encoder)[0]), [0.5, 0.5, 0.5, 0.5]);
  const [output] = outputRolloutOf({
    encoder: oneHead("encoder", eye(2)),
    decoder: oneHead("decoder", eye(2)),
    cross: oneHead("cross", swap),
  });
  assert.deepEqual(Array.from(output), [0, 0.5, 0.5, 0]);
});

test("special tokens are known by their spelling, and words by what was read next", () => {
  assert.deepEqual(specialTokens(["<EOS>", "[CLS]", "<|endoftext|>", "<unk>", "[MASK]", "eos"]), [
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
  const trace = {
    sourceTokens: [],
    sourceWords: null,
    targetTokens: ["<sos>", "un", "##able"],
    outputTokens: ["un", "##do", "<eos>"],
    targetWords: [null, 0, 0],
    attention: {},
  };
  assert.deepEqual(queryWords(trace, "target"), [0, null, null]);
  assert.equal(queryWords(trace, "source"), null);
});

test("a part of a model has no rollout, and says why", () => {
  const weights = new DataView(Float32Array.of(1, 0, 0.5, 0.5).buffer);
  const trace = {
    sourceTokens: ["a", "b"],
    targetTokens: [],
    outputTokens: null,
    sourceWords: null,
    targetWords: null,
    attention: { encoder: { shape: [1, 1, 2, 2], weights } },
  };
  const lackingPart = { encoder: "capture it without layers=" };
  const [[whole], [part]] = [measureTraces([trace]), measureTraces([trace], { lackingPart })];
  assert.deepEqual([whole.noRollout, part.noRollout], ["", lackingPart.encoder]);
  assert.deepEqual([Array.from(whole.rollouts()), part.rollouts], [[1, 0, 0.25, 0.75], null]);
});

test("of two traces the difference is measured, and both words are named", () => {
  const traceOf = (word, values) => ({
    sourceTokens: [word, "b"],
    targetTokens: [],
    outputTokens: null,
    sourceWords: null,
    targetWords: null,
    attention: {
      encoder: { shape: [1, 1, 2, 2], weights: new DataView(Float32Array.from(values).buffer) },
    },
  });
  const [entry] = measureTraces([traceOf("a", [1, 0, 0.5, 0.5]), traceOf("z", [0.5, 0.5, 0.5, 0.5])]);
  assert.deepEqual(entry.queries, ["a|z", "b"]);
  assert.deepEqual(Array.from(entry.whole), [0.5, -0.5, 0, 0]);
  assert.deepEqual([entry.signed, entry.labels, entry.entropies, entry.masked], [true, null, null, null]);
});
