// The head lab's own decisions, without a browser. tests/test_head_lab.py holds the effect of each head,
// its confidence and the words about them to Python's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { NO_ANSWER } from "../../viz_transformer/widgets/base/js/kernel.js";
import { headConfidence, rankCorrelation } from "../../viz_transformer/widgets/head_lab/confidence.js";
import * as changes from "../../viz_transformer/widgets/head_lab/head_changes.js";
import { effectsInWords } from "../../viz_transformer/widgets/head_lab/head_effects.js";
import { headState } from "../../viz_transformer/widgets/head_lab/head_switches.js";
import { cellInWords, headOf } from "../../viz_transformer/widgets/head_lab/head_weights.js";
import { Replies } from "../../viz_transformer/widgets/head_lab/replies.js";
import { barShare, leastOf } from "../../viz_transformer/widgets/head_lab/tables.js";
import { assertNear, assertTable, halves, withoutMarks } from "./helpers.mjs";

const GENDER = { kind: "encoder", layer: 1, head: 3 };
const OFF = { ...GENDER, factor: 0 };

test("a factor is set, changed and taken away, in Python's order, and the old list stays", () => {
  const none = [];
  const one = changes.withFactor(none, GENDER, 0);
  assert.deepEqual([one, none], [[OFF], []]);
  assert.equal(changes.factorOf(one, GENDER), 0);
  assert.equal(changes.factorOf(one, { ...GENDER, head: 2 }), 1);
  const two = changes.withFactor(one, { kind: "cross", layer: 0, head: 1 }, 2);
  const more = changes.withFactor(two, { kind: "encoder", layer: 0, head: 3 }, -1);
  assert.equal(more.map(({ kind, layer }) => kind + layer).join(), "encoder0,encoder1,cross0");
  assert.equal(changes.withFactor(more, GENDER, 0.5)[1].factor, 0.5);
  assert.deepEqual(changes.withFactor(one, GENDER, 1), []);
  // What only rides along with a place is no part of a factor.
  assert.deepEqual(changes.withFactor([], /** @type {any} */ ({ ...GENDER, rank: 1 }), 0), one);
});

test("changes are told in words, the first three of them", () => {
  const five = Array.from({ length: 5 }, (_, head) => ({ ...OFF, head }));
  assertTable(changes.changesInWords, [
    [[], "Every head is as it was trained."],
    [[OFF], "Encoder layer 1 head 3 is off."],
    [[{ ...GENDER, factor: -0.5 }], /head 3 says −0\.5 times as much\.$/],
    [five, /head 2 is off, and 2 more\.$/],
  ]);
  const states = [0, 1, 1.5].map((factor) =>
    headState(GENDER, factor).replace("encoder layer 1 head 3, ", ""),
  );
  assert.equal(states.join(), "off,factor 1,factor 1.5");
});

test("the effect is the loss and the word that changed most", () => {
  const before = { log_probs: [-0.1, -0.2, -0.3], output: ["la", "<b>", "<eos>"] };
  const after = { ...before, log_probs: [-0.1, -2, -0.1] };
  assert.equal(
    withoutMarks(changes.effectInWords(before, after)),
    "Loss 0.200 → 0.733 nats per token. Most changed: “<b>”, log-probability −0.200 → −2.000.",
  );
  const same = changes.effectInWords(before, { ...before });
  assert.match(same, /no word's log-probability changes by 0\.001/);
  assert.match(changes.effectInWords(before, before), /^Loss 0\.200 nats per token\. Click a head/);
});

test("bars are a share of the least log-probability, which is at least a nat away", () => {
  assert.equal(leastOf([-0.1], [-0.3]), -1);
  assert.equal(leastOf([-0.1, -4], [-2, -1]), -4);
  assert.deepEqual(
    [0, -1, -4, -9].map((value) => barShare(value, -4)),
    [0, 0.25, 1, 1],
  );
});

test("a head's weights are told in words, and what moved with both numbers", () => {
  const entry = { kind: "cross", queries: ["el", "gato"], keys: ["the", "cat"], shape: [1, 1, 2, 2] };
  const head = (...weights) => {
    const reply = { kinds: [{ ...entry, dtype: "float16", weights: halves(weights) }] };
    return headOf(reply, { kind: "cross", layer: 0, head: 0 });
  };
  const [first, second] = [head(0.5, 0.5, 0.25, 0.75), head(0.5, 0.5, 1, 0)];
  const moved = (after) => withoutMarks(changes.movedInWords(first.values, after.values, first));
  assert.match(moved(second), /from “gato” to “the”: 0\.25 → 1\.00/);
  assert.match(moved(first), /no weight changes by 0\.01/);
  assertTable(
    (cell, pinned, isChanged) => cellInWords(first, second, cell, pinned, isChanged),
    [
      [{ row: 1, col: 0 }, null, true, "gato to the: 0.25, rank 2 of 2; with your changes 1.00"],
      [null, 1, false, "gato to cat: 0.75, rank 1 of 2"], // the pinned row's strongest
      [null, null, false, ""],
      [null, 7, false, ""], // a row of a longer sentence
    ],
  );
});

test("confidence is the mean of the largest weights where there is a choice", () => {
  const cross = { kind: "cross", reads: ["<sos>", "el"], keys: ["cat", "<eos>"], shape: [1, 2, 2, 2] };
  const decoder = { kind: "decoder", reads: ["<sos>", "el"], keys: ["<sos>", "el"], shape: [1, 1, 2, 2] };
  const alone = { kind: "decoder", reads: ["<sos>"], keys: ["<sos>"], shape: [1, 1, 1, 1] };
  const weights = [0.75, 0.25, 0.25, 0.75, 0, 0, 0.5, 0.5];
  assertTable(
    (entry, values) => headConfidence(entry, Float32Array.from(values)),
    [
      // In the second head the first query looks at nothing; <eos> is no word to look at.
      [cross, weights, [0.5, 0.5]],
      [{ ...cross, reads: ["<eos>", "el"] }, weights, [0.25, 0.5]],
      [decoder, [1, 0, 0.25, 0.75], [0.75]], // the first has no choice
      [decoder, [0.5, 0.5, 0.25, 0.75], [0.625]], // without a mask it has
      [alone, [1], [null]],
    ],
  );
  assert.equal(rankCorrelation([1, 2, 9], [6, 5, 0]), -1);
  assert.equal(rankCorrelation([1, 2], [6, 5]), -1);
  assert.equal(rankCorrelation([1, 1, 1], [6, 5, 0]), null);
  assert.equal(rankCorrelation([1], [6]), null);
  assertNear(rankCorrelation([1, 1, 2], [1, 2, 3]), Math.sqrt(3) / 2, 1e-12); // ties share a rank
});

test("heads whose confidence cannot be told are ranked by their effect alone", () => {
  const place = { kind: "encoder", layer: 0, confidence: null, confidenceRank: 1 };
  const effects = [0.5, 0].map((lossChange, i) => ({ ...place, head: i, lossChange, rank: i + 1 }));
  assert.match(
    effectsInWords(effects),
    /^The head that matters most, encoder layer 0 head 0, changes[^.]*0\.500/,
  );
});

test("an engine in the page gives all replies in the frame that asks", () => {
  const asked = [];
  const settle = (request, keep) => {
    asked.push(Object.keys(request).at(-1));
    keep("each" in request ? { error: new Error("no room") } : { reply: { translation: ["gato"] } });
    return true;
  };
  const replies = new Replies({ settle }, assert.fail);
  const factors = [{ kind: "encoder", layer: 0, head: 0, factor: 0 }];
  for (let frame = 0; frame < 2; frame++) replies.fetchMissing({ sentence: "the cat", factors });
  assert.deepEqual(asked, ["changes", "each", "changes"]); // once each, though one failed
  assert.equal(replies.failure, "no room");
  assert.deepEqual(replies.after({ factors }).request.changes, factors);
});

test("a first reply that takes long is waited for, asked for once, and shown when it comes", () => {
  const [sent, state] = [[], { sentence: "the cat", factors: [] }];
  const settle = (request, keep, onLate, onSlow) => {
    sent.push({ request, keep, onLate, onSlow });
    return false;
  };
  let changed = 0;
  const replies = new Replies({ settle }, () => changed++);
  replies.fetchMissing(state);
  sent[0].onSlow();
  assert.equal(replies.failure, NO_ANSWER);
  replies.fetchMissing(state);
  assert.equal(sent.length, 1);
  sent[0].keep({ reply: { translation: ["gato"] } });
  sent[0].onLate();
  assert.deepEqual([replies.base.translation, replies.failure, changed], [["gato"], undefined, 2]);
  replies.fetchMissing(state);
  assert.deepEqual(sent[1].request, { sentence: "the cat", each: 0 });
});
