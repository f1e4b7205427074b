// The head lab's own decisions, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { NO_ANSWER } from "../../viz_transformer/widgets/base/js/kernel.js";
import { Replies } from "../../viz_transformer/widgets/head_lab/replies.js";
import { headConfidence, rankCorrelation } from "../../viz_transformer/widgets/head_lab/confidence.js";
import { effectsInWords, headEffects } from "../../viz_transformer/widgets/head_lab/head_effects.js";
import { cellInWords, headOf, rowsOf } from "../../viz_transformer/widgets/head_lab/head_weights.js";
import { headState } from "../../viz_transformer/widgets/head_lab/head_switches.js";
import {
  changesInWords,
  effectInWords,
  factorOf,
  movedInWords,
  withFactor,
} from "../../viz_transformer/widgets/head_lab/head_changes.js";
import { lossOf } from "../../viz_transformer/widgets/head_lab/loss.js";
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
  const before = { log_probs: [-0.1, -0.2, -0.3], output: ["la", "<b>", "<eos>"] };
  const after = { ...before, log_probs: [-0.1, -2, -0.1] };
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

const floats = (...values) => new DataView(Float32Array.from(values).buffer);
const doubles = (...values) => new DataView(Float64Array.from(values).buffer);

test("confidence is the mean of the largest weights where there is a choice", () => {
  const cross = { kind: "cross", reads: ["<sos>", "el"], keys: ["cat", "<eos>"], shape: [1, 2, 2, 2] };
  const weights = Float32Array.of(0.75, 0.25, 0.25, 0.75, 0, 0, 0.5, 0.5);
  // In the second head the first query looks at nothing; <eos> is no word to look at.
  assert.deepEqual(headConfidence(cross, weights), [0.5, 0.5]);
  const ended = { ...cross, reads: ["<eos>", "el"] };
  assert.deepEqual(headConfidence(ended, weights), [0.25, 0.5]);
  const decoder = { kind: "decoder", reads: ["<sos>", "el"], keys: ["<sos>", "el"], shape: [1, 1, 2, 2] };
  assert.deepEqual(headConfidence(decoder, Float32Array.of(1, 0, 0.25, 0.75)), [0.75]); // the first has none
  assert.deepEqual(headConfidence(decoder, Float32Array.of(0.5, 0.5, 0.25, 0.75)), [0.625]); // without a mask
  const alone = { kind: "decoder", reads: ["<sos>"], keys: ["<sos>"], shape: [1, 1, 1, 1] };
  assert.deepEqual(headConfidence(alone, Float32Array.of(1)), [null]);
});

test("rank correlation is 1 for one order, −1 for the opposite, and null for none", () => {
  assert.equal(rankCorrelation([1, 2, 9], [0, 5, 6]), 1);
  assert.equal(rankCorrelation([1, 2, 9], [6, 5, 0]), -1);
  assert.equal(rankCorrelation([1, 1, 1], [6, 5, 0]), null);
  assert.equal(rankCorrelation([1], [6]), null);
  assert.ok(Math.abs(rankCorrelation([1, 1, 2], [1, 2, 3]) - Math.sqrt(3) / 2) < 1e-12); // ties share a rank
});

/** Two heads of one layer: the surer one has an effect of `first` nats per token. */
function alone(first, second) {
  const rows = [0.75, 0.25, 0.75, 0.25, 0.5, 0.5, 0.5, 0.5];
  const entry = { kind: "encoder", reads: ["a", "b"], keys: ["a", "b"], shape: [1, 2, 2, 2] };
  return {
    log_probs: [-1, -3],
    kinds: [{ ...entry, dtype: "float32", weights: floats(...rows) }],
    each: [
      {
        kind: "encoder",
        shape: [1, 2, 2],
        log_probs: doubles(-1 - 2 * first, -3, -1, -3 - 2 * second),
      },
    ],
  };
}

test("heads are ranked by the size of their effect, beside their confidence", () => {
  assert.equal(lossOf([-1, -3]), 2);
  const effects = headEffects(alone(0.25, -0.5));
  assert.deepEqual(effects, [
    { kind: "encoder", layer: 0, head: 1, lossChange: -0.5, confidence: 0.5, rank: 1, confidenceRank: 2 },
    { kind: "encoder", layer: 0, head: 0, lossChange: 0.25, confidence: 0.75, rank: 2, confidenceRank: 1 },
  ]);
  assert.equal(
    effectsInWords(effects),
    "The head with the sharpest attention, encoder layer 0 head 0 (confidence 0.75), changes the loss by +0.250 nats " +
      "per token when it is switched off. The head that matters most, encoder layer 0 head 1, changes the loss " +
      "by −0.500 nats per token, and is number 2 of 2 by its confidence. Rank correlation of confidence and " +
      "effect: −1.00 (1 would mean the same order, 0 no relation).",
  );
  assert.match(effectsInWords(headEffects(alone(0.5, 0))), /is also the one that matters most: switched off/);
  assert.match(effectsInWords(headEffects(alone(0.5, 0))), /1 of the 2 heads change it by less than 0\.001/);
  const unsure = headEffects(alone(0, 0.5)).map((effect) => ({ ...effect, confidence: null }));
  assert.match(
    effectsInWords(unsure),
    /^The head that matters most, encoder layer 0 head 1, changes[^.]*0\.500/,
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
  let changes = 0;
  const replies = new Replies({ settle }, () => changes++);
  replies.fetchMissing(state);
  sent[0].onSlow();
  assert.equal(replies.failure, NO_ANSWER);
  replies.fetchMissing(state);
  assert.equal(sent.length, 1);
  sent[0].keep({ reply: { translation: ["gato"] } });
  sent[0].onLate();
  assert.deepEqual([replies.base.translation, replies.failure, changes], [["gato"], undefined, 2]);
  replies.fetchMissing(state);
  assert.deepEqual(sent[1].request, { sentence: "the cat", each: 0 });
});
