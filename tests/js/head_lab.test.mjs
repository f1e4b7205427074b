// The head lab's own decisions, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellInWords, headOf, rowsOf } from "../../viz_transformer/widgets/head_lab/head_weights.js";
import { headState } from "../../viz_transformer/widgets/head_lab/head_switches.js";
import {
  changesInWords,
  effectInWords,
  factorOf,
  movedInWords,
  withFactor,
} from "../../viz_transformer/widgets/head_lab/head_changes.js";
import { barShare, leastOf } from "../../viz_transformer/widgets/head_lab/tables.js";

const GENDER = { kind: "encoder", layer: 1, head: 3 };

test("a factor is set, changed and taken away, in Python's order, and the old list stays", () => {
  const none = [];
  const one = withFactor(none, GENDER, 0);
  assert.deepEqual(one, [{ ...GENDER, factor: 0 }]);
  assert.deepEqual(none, []);
  assert.equal(factorOf(one, GENDER), 0);
  assert.equal(factorOf(one, { ...GENDER, head: 2 }), 1);
  const more = withFactor(
    withFactor(one, { kind: "cross", layer: 0, head: 1 }, 2),
    { kind: "encoder", layer: 0, head: 3 },
    -1,
  );
  assert.deepEqual(
    more.map(({ kind, layer }) => [kind, layer]),
    [
      ["encoder", 0],
      ["encoder", 1],
      ["cross", 0],
    ],
  );
  assert.deepEqual(withFactor(more, GENDER, 0.5).find((each) => each.layer === 1).factor, 0.5);
  assert.deepEqual(withFactor(one, GENDER, 1), []);
  // What only rides along with a place is no part of a factor.
  const ranked = { ...GENDER, rank: 1 };
  assert.deepEqual(withFactor([], ranked, 0), one);
});

test("changes are told in words, the first three of them", () => {
  assert.equal(changesInWords([]), "Every head is as it was trained.");
  assert.equal(changesInWords([{ ...GENDER, factor: 0 }]), "Encoder layer 1 head 3 is off.");
  assert.match(changesInWords([{ ...GENDER, factor: -0.5 }]), /head 3 says −0\.5 times as much\.$/);
  const five = Array.from({ length: 5 }, (_, head) => ({ ...GENDER, head, factor: 0 }));
  assert.match(changesInWords(five), /head 2 is off, and 2 more\.$/);
  assert.equal(headState(GENDER, 0), "encoder layer 1 head 3, off");
  assert.equal(headState(GENDER, 1), "encoder layer 1 head 3, factor 1");
  assert.equal(headState(GENDER, 1.5), "encoder layer 1 head 3, factor 1.5");
});

test("the effect is the loss and the word that changed most", () => {
  const before = { log_probs: [-0.1, -0.2, -0.3], loss: 0.2, output: ["la", "<b>", "<eos>"] };
  const after = { ...before, log_probs: [-0.1, -2, -0.1], loss: 2.2 / 3 };
  assert.equal(
    effectInWords(before, after),
    "Loss 0.200 → 0.733 nats per token. Most changed: “\u2068<b>\u2069”, log-probability −0.200 → −2.000.",
  );
  assert.match(effectInWords(before, { ...before }), /no word's log-probability changes by 0\.001/);
  assert.match(effectInWords(before, before), /^Loss 0\.200 nats per token\. Click a head/);
});

test("bars are a share of the least log-probability, which is at least a nat away", () => {
  assert.equal(leastOf([-0.1], [-0.3]), -1);
  assert.equal(leastOf([-0.1, -4], [-2, -1]), -4);
  assert.deepEqual(
    [0, -1, -4, -9].map((value) => barShare(value, -4)),
    [0, 0.25, 1, 1],
  );
});

const half = { 0: 0x0000, 0.25: 0x3400, 0.5: 0x3800, 0.75: 0x3a00, 1: 0x3c00 };

function reply(...weights) {
  const bits = Uint16Array.from(weights, (weight) => half[weight]);
  return {
    kinds: [
      {
        kind: "cross",
        queries: ["el", "gato"],
        keys: ["the", "cat"],
        shape: [1, 2, 2, 2],
        dtype: "float16",
        weights: new DataView(bits.buffer),
      },
    ],
  };
}

test("a head's weights come out of the bytes, [query, key]", () => {
  const found = headOf(reply(1, 0, 0, 1, 0.5, 0.5, 0.25, 0.75), { kind: "cross", layer: 0, head: 1 });
  assert.deepEqual(
    rowsOf(found).map((line) => [...line]),
    [
      [0.5, 0.5],
      [0.25, 0.75],
    ],
  );
  assert.deepEqual(found.queries, ["el", "gato"]);
});

test("what moved and what a cell holds is told with both numbers", () => {
  const place = { kind: "cross", layer: 0, head: 1 };
  const first = headOf(reply(1, 0, 0, 1, 0.5, 0.5, 0.25, 0.75), place);
  const second = headOf(reply(1, 0, 0, 1, 0.5, 0.5, 1, 0), place);
  assert.match(
    movedInWords(first.values, second.values, first),
    /from “\u2068gato\u2069” to “\u2068the\u2069”: 0\.25 → 1\.00/,
  );
  assert.match(movedInWords(first.values, first.values, first), /no weight changes by 0\.01/);
  assert.equal(cellInWords(first, second, { row: 1, col: 0 }, null, false), "gato to the: 0.25, rank 2 of 2");
  assert.equal(
    cellInWords(first, second, { row: 1, col: 0 }, null, true),
    "gato to the: 0.25, rank 2 of 2; with your changes 1.00",
  );
  assert.equal(cellInWords(first, second, null, 1, false), "gato to cat: 0.75, rank 1 of 2"); // the pinned row's strongest
  assert.equal(cellInWords(first, second, null, null, false), "");
  assert.equal(cellInWords(first, second, null, 7, false), ""); // a row of a longer sentence
});
