// The head lab's own decisions, without a browser. tests/test_head_lab.py holds the effect of each head and its
// confidence to Python's.

import assert from "node:assert/strict";
import * as changes from "../../viz_transformer/widgets/head_lab/changes.ts";
import * as sentences from "../../viz_transformer/widgets/head_lab/sentences.ts";
import { test } from "node:test";
import { plainText } from "../../viz_transformer/widgets/base/text.ts";
import { STOPPED } from "../../viz_transformer/widgets/base/waits.ts";
import { columnsOf, runsOf } from "../../viz_transformer/widgets/head_lab/changes.ts";
import {
  headConfidence,
  headEffects,
  rankCorrelation,
} from "../../viz_transformer/widgets/head_lab/effects.ts";
import { layOut, pathOf } from "../../viz_transformer/widgets/head_lab/layout.ts";
import { createReplies } from "../../viz_transformer/widgets/head_lab/replies.ts";
import { assertNear, assertTable, withoutMarks } from "./helpers.mjs";

const GENDER = { kind: "encoder", layer: 1, head: 3 };
const OFF = { ...GENDER, factor: 0 };
const told = (pieces) => withoutMarks(plainText(pieces));

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
  const states = [0, 1, 1.5].map((factor) => changes.headState(GENDER, factor).split(", ")[1]);
  assert.equal(states.join(), "off,factor 1,factor 1.5");
});

const answer = (translation, output = [...translation, "<eos>"]) => ({ translation, output });
const flip = (before, after, gap = -1) =>
  columnsOf(before, answer(after), gap).map((each) => `${each.before}>${each.after}>${each.index}`);

test("words that differ stand in each other's place, and keep their log-probabilities", () => {
  const before = answer(["el", "profesor", "perdió"]);
  assert.deepEqual(flip(before, ["la", "maestra", "perdió"]), [
    "el>la>0",
    "profesor>maestra>1",
    "perdió>perdió>2",
    "<eos>><eos>>3",
  ]);
  assert.deepEqual(flip(answer(["a", "b"]), ["a", "x", "b"]), [
    "a>a>0",
    "null>x>null",
    "b>b>1",
    "<eos>><eos>>2",
  ]);
  assert.deepEqual(flip(answer(["a", "b"]), []), ["a>null>0", "b>null>1", "<eos>><eos>>2"]);
  // Judged from the second word on, as of some models that continue a text, with a mark at the end and without.
  assert.deepEqual(flip(answer(["a", "b"], ["b", "<eos>"]), ["a", "c"]), ["b>c>0", "<eos>><eos>>1"]);
  assert.deepEqual(flip(answer(["a", "b"], ["b"]), ["a", "b"]), ["b>b>0"]);
  assert.deepEqual(flip(answer(["la", "vaca"], ["vaca"]), ["la", "gata"], 1), ["la>la>null", "vaca>gata>0"]);
});

test("the headline tells the change, and each run of words that it moved", () => {
  const say = (factors, ...words) => {
    const [before, after] = words.map((each) => each.split(" ").filter(Boolean));
    return told(sentences.flipInWords(factors, columnsOf(answer(before), answer(after), -1)));
  };
  const half = { ...GENDER, factor: -0.5 };
  const cases = [
    [[OFF], "el gato", "la gata", "Without encoder head 1·3, el gato turns into la gata"],
    [[OFF], "el gato", "el gato", "Without encoder head 1·3, every word stays"],
    [[half], "el gato", "gato", "With −0.5 times encoder head 1·3, el goes"],
    [[OFF, { ...OFF, head: 2 }], "a", "a b", "Without 2 heads, b comes in"],
    [[OFF, half], "a b c", "x b z", "With 2 heads changed, a turns into x and c turns into z"],
    [[OFF], "a b c d e f g", "x b y d z f o", "Without encoder head 1·3, 4 of 8 words differ"],
  ];
  for (const [factors, before, after, expected] of cases) assert.equal(say(factors, before, after), expected);
  assert.deepEqual(runsOf([]), []);
});

test("what a change costs is told by the loss and the word that it moved most", () => {
  const [before, after] = [
    [-0.1, -0.2, -0.3],
    [-0.1, -2, -0.1],
  ];
  const words = ["la", "<b>", "<eos>"];
  assert.equal(
    withoutMarks(sentences.lossInWords(before, after, words)),
    "Loss 0.200 → 0.733; most: “<b>” 0.200 → 2.000.",
  );
  assert.match(sentences.lossInWords(before, before, words), /^No word's loss changes by 0\.001/);
  const effect = {
    ...GENDER,
    lossChange: 0.1041,
    rank: 1,
    confidence: 0.4,
    confidenceRank: 17,
    logProbs: new Float64Array(),
  };
  assertTable(
    (lossChange, rank) => sentences.effectInWords({ ...effect, lossChange, rank }, 24),
    [
      [0.1041, 1, "Switched off alone, it raises the loss by 0.104: the most of 24 heads."],
      [-0.0021, 4, "Switched off alone, it lowers the loss by 0.002: rank 4 of 24 heads."],
      [-0.0001, 9, "Switched off alone, it leaves the loss as it is."],
    ],
  );
  const four = [0.5, -0.0004, 0, 0.002].map((lossChange, i) => ({
    ...effect,
    lossChange,
    confidence: i / 4,
  }));
  assert.match(sentences.effectsInWords(four), /^2 of 4 heads change.*Rank correlation.*: −0\.40\.$/);
  const untold = four.map((each) => ({ ...each, confidence: null }));
  assert.equal(sentences.effectsInWords(untold), "2 of 4 heads change the loss by less than 0.001.");
  assert.match(sentences.pointInWords(effect, 24), /loss \+0\.104, rank 1 of 24, sharpness 0\.40, rank 17$/);
  assert.equal(sentences.codeOf([OFF]), 'vt.Interventions(heads=[vt.HeadChange("encoder", 1, 3, factor=0)])');
});

const ENTRY = { shape: [1, 1, 3, 3], reads: [], dtype: "float32", weights: new DataView(new ArrayBuffer(0)) };
const LOOKS = { ...ENTRY, kind: "encoder", queries: ["a", "b", "<eos>"], keys: ["a", "b", "<eos>"] };

test("a head is told by its strongest look from word to another word, or by the pinned one", () => {
  const weights = Float32Array.from([0.9, 0.05, 0.05, 0.7, 0.2, 0.1, 0, 0, 1]);
  const look = (entry, pinned) => {
    const found = sentences.lookOf(weights, entry, pinned);
    return told(sentences.lookInWords({ ...GENDER, kind: entry.kind }, entry, found));
  };
  assert.equal(look(LOOKS, null), "Reading b, encoder head 1·3 looks at a: 70%");
  assert.equal(look(LOOKS, 2), "Reading <eos>, encoder head 1·3 looks at <eos>: 100%");
  assert.equal(look({ ...LOOKS, kind: "cross" }, null), "Writing a, cross head 1·3 looks at a: 90%");
  const sink = Float32Array.from([0.9, 0, 0.1, 0.2, 0, 0.8, 0.1, 0, 0.9]); // what looks less at a word, looks most at <eos>
  assert.equal(sentences.lookOf(sink, LOOKS, null).weight, sink[0]);
  const marks = { ...LOOKS, queries: ["<sos>"], keys: ["<sos>"] };
  assert.equal(sentences.lookOf(Float32Array.of(1), marks, null).weight, 1); // no word at all
  const moved = Float32Array.from(weights, (weight, i) => (i === 3 ? 0.25 : weight));
  const say = (after) => withoutMarks(sentences.movedInWords(weights, after, LOOKS));
  assert.match(say(moved), /from “b” to “a”: 0\.70 → 0\.25/);
  assert.match(say(weights), /no weight changes by 0\.01/);
});

test("rows of words fill the room, stand below each other where they belong, and are wider where they must", () => {
  const room = { width: 600, height: 400, unit: 16, measure: (text, size) => 0.5 * size * text.length };
  const columns = columnsOf(answer(["el", "gato"]), answer(["la", "gata"]), -1);
  const words = { read: ["the", "cat", "<eos>"], columns, under: null, isCross: false };
  const apart = layOut(words, room);
  assert.equal(apart.width, 600);
  assert.equal(
    apart.slots.reduce((sum, each) => sum + each, 0),
    600,
  );
  assert.ok(apart.yRead < apart.yWritten && apart.yWritten < apart.floor - apart.tallest);
  assert.ok(pathOf(apart, 0, 2, false).y < apart.yRead - apart.chip / 2); // over the words
  const down = pathOf(apart, 1, 0, true);
  assert.ok(down.y > apart.yRead && down.y < apart.yWritten);
  const inserted = columnsOf(answer(["a", "b"]), answer(["a", "x", "b"]), -1);
  const across = layOut({ ...words, columns: inserted, isCross: true }, room);
  assert.match(pathOf(across, 1, 0, true).d, new RegExp(` ${across.written[2]} [\\d.]+$`)); // not of what came between
  const under = inserted.map(({ index }) => index);
  const below = layOut({ ...words, read: ["<sos>", "a", "b", "more"], columns: inserted, under }, room);
  assert.deepEqual(
    below.read.slice(0, 3),
    [0, 2, 3].map((i) => below.written[i]),
  );
  assert.ok(below.read[3] > below.written[3]);
  const narrow = layOut({ ...words, read: Array(60).fill("word") }, room);
  const low = layOut(words, { ...room, height: 300 });
  assert.ok(low.yWritten - low.yRead > low.chip + low.font); // a word that is struck through stands between
  assert.ok(narrow.width > 600 && narrow.font === 0.85 * 16);
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

const bytes = (array) => new DataView(array.buffer);
const KIND = {
  kind: "encoder",
  queries: ["a"],
  reads: ["a"],
  keys: ["a"],
  shape: [2, 1, 1, 1],
  dtype: "float32",
};
const WHOLE = { log_probs: [-1], kinds: [{ ...KIND, weights: bytes(Float32Array.of(1, 1)) }] };

test("an engine in the page gives all replies in the frame that asks", () => {
  const asked = [];
  const settle = (request, keep) => {
    asked.push(Object.keys(request).at(-1));
    keep("each" in request ? { error: new Error("no room") } : { reply: { translation: ["gato"] } });
    return true;
  };
  const replies = createReplies({ settle }, assert.fail, () => false);
  for (let frame = 0; frame < 2; frame++) replies.want({ sentence: "the cat", factors: [OFF] });
  assert.deepEqual(asked, ["changes", "changes", "each"]); // once each, though one failed
  const found = replies.want({ sentence: "the cat", factors: [OFF] });
  assert.equal(found.failure, "no room");
  assert.deepEqual(found.after.request.changes, [OFF]);
});

test("a kernel ranks a layer at a time, can be stopped, and what is asked meanwhile comes first", () => {
  const sent = [];
  let news = 0;
  const settle = (request, keep, _, part) => {
    sent.push({ request, keep, part });
    return false;
  };
  const replies = createReplies(
    { settle },
    () => news++,
    () => true,
  );
  const state = { sentence: "the cat", factors: [] };
  replies.want(state);
  replies.want(state);
  assert.equal(sent.length, 1); // waited for, and asked for once
  sent[0].keep({ reply: WHOLE });
  replies.want(state);
  assert.deepEqual(sent[1].request, { sentence: "the cat", each: 0, kind: "encoder", layer: 0 });
  assert.deepEqual([sent[0].part, sent[1].part], ["", "Ranking heads: 0 of 2."]);
  sent[1].keep({ error: new Error(STOPPED) });
  const { failure, goOn } = replies.want(state);
  assert.deepEqual([failure, sent.length], ["", 2]); // not asked for again
  goOn();
  replies.want({ ...state, factors: [OFF] });
  assert.deepEqual(sent[2].request.changes, [OFF]);
  sent[2].keep({ reply: WHOLE });
  const layers = [0, 1];
  for (const layer of layers) {
    const { done, of, isCurrent } = replies.want({ ...state, factors: [OFF] });
    assert.deepEqual([done, of, isCurrent], [layer, 2, false]);
    assert.equal(sent.at(-1).request.layer, layer);
    const log_probs = bytes(Float64Array.of(-1.5 - layer));
    sent.at(-1).keep({ reply: { each: [{ kind: "encoder", shape: [1, 1, 1], log_probs }] } });
  }
  const { base, each, done, isCurrent } = replies.want({ ...state, factors: [OFF] });
  assert.deepEqual([done, isCurrent, news], [2, true, 1]);
  const effects = headEffects(base.log_probs, base.kinds, each);
  assert.deepEqual(
    effects.map(({ layer, lossChange, rank }) => [layer, lossChange, rank]),
    [
      [1, 1.5, 1],
      [0, 0.5, 2],
    ],
  );
  assert.equal(replies.want({ ...state, sentence: "a dog" }).done, 0);
});
