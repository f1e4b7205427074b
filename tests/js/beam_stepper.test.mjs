// The beam stepper's own decisions, without a browser.

import assert from "node:assert/strict";
import * as beam from "../../viz_transformer/widgets/beam_stepper/candidates.ts";
import * as say from "../../viz_transformer/widgets/beam_stepper/sentences.ts";
import { test } from "node:test";
import { plainText } from "../../viz_transformer/widgets/base/text.ts";
import { layOut } from "../../viz_transformer/widgets/beam_stepper/river.ts";
import { waysOf } from "../../viz_transformer/widgets/beam_stepper/ways.ts";
import { assertNear, assertTable, floats, withoutMarks } from "./helpers.mjs";

const one = (parent, token, status, chance = 0.4, before = 1) => ({
  parent,
  token,
  status,
  log_prob: Math.log(chance * before),
  score: Math.log(chance * before) / 2,
  token_log_prob: Math.log(chance),
  reason: "why",
});

// Two places in the beam: "el" and "la"; "la" is continued twice, "el" ends.
const STEPS = [
  [
    one(0, "el", "kept", 0.5),
    one(0, "la", "kept", 0.4),
    one(0, "un", "pruned", 0.09),
    one(0, "<pad>", "forbidden", 0.001),
  ],
  [
    one(1, "vaca", "kept", 0.8, 0.4),
    one(0, "<eos>", "finished", 0.5, 0.5),
    one(1, "gata", "kept", 0.2, 0.4),
    one(0, "gato", "pruned", 0.04, 0.5),
  ],
  [one(0, "<eos>", "finished", 0.9, 0.32), one(1, "<eos>", "pruned", 0.5, 0.08)],
];
const text = (words, score, path = []) => ({
  tokens: words.split(" ").filter(Boolean),
  score,
  log_prob: 2 * score,
  path,
});
const REQUEST = /** @type {const} */ ({ text: "a b", method: "beam", beam_width: 2, length_penalty: 0.6 });
const resultOf = (change = {}, request = {}) => ({
  ...beam.searchResult(
    { ...REQUEST, ...request },
    {
      source: ["the", "cow"],
      prompt: ["<sos>"],
      end: "<eos>",
      hypotheses: [text("la vaca", -1, [1, 0, 0])],
      greedy: null,
      steps: STEPS,
      attention: null,
    },
  ),
  ...change,
});
const RESULT = resultOf();
const river = (result, room = { width: 900, height: 500 }) =>
  layOut(result, beam.heightsOf(result).flat(), room, 16, ({ token }) => token.length / 2);

test("arrow keys lead along the branches, up and down as they stand", () => {
  const { columns } = river(RESULT);
  assertTable(
    (step, index, key) =>
      Object.values(beam.moveInTree(STEPS, { step, index }, key, columns[step].order) ?? []),
    [
      [0, 1, "ArrowRight", [1, 0]], // its best child
      [0, 2, "ArrowRight", [1, 0]], // an end: on with the best
      [1, 0, "ArrowLeft", [0, 1]],
      [0, 0, "ArrowLeft", [0, 0]],
      [2, 0, "ArrowRight", [2, 0]],
      [1, 1, "ArrowDown", [1, 0]], // by rows, not by rank: "el" stands above "la"
      [1, 3, "ArrowDown", [1, 3]],
      [1, 1, "ArrowUp", [1, 1]],
      [1, 0, "a", []],
    ],
  );
});

test("what is shown of a step is the chosen candidate, else the leader, and only at the end what was found", () => {
  const shown = (result, step, chosen) => Object.values(beam.shownCandidate(result, step, chosen));
  assert.deepEqual(shown(RESULT, 1, 3), [1, 3]);
  assert.deepEqual(shown(RESULT, 0, null), [0, 0]); // not the winner's own, 1
  assert.deepEqual(shown(RESULT, 2, 7), [2, 0]); // chosen in a wider beam
  assert.deepEqual(shown({ ...RESULT, hypotheses: [{ path: [0, 1] }] }, 2, null), [1, 1]); // it ended before
  assert.deepEqual(beam.pathTo(STEPS, { step: 1, index: 2 }), [1, 2]);
});

test("greedy search's beginnings are found in the tree, its end included", () => {
  const found = (...words) => beam.prefixesOf(RESULT.texts, words, "<eos>").map((step) => [...step]);
  assert.deepEqual(found("la", "vaca"), [[1], [0], [0]]);
  assert.deepEqual(found("el", "gato"), [[0], [3], []]);
  assert.deepEqual(found("el")[1], [1]);
});

test("a branch is as high as its text is probable, leaves its origin with its share, and lies on no other", () => {
  for (const [width, height] of [
    [900, 500],
    [350, 300],
    [2000, 900],
  ]) {
    const { columns, start, ...whole } = river(RESULT, { width, height });
    for (const [step, { branches, tailBox }] of columns.entries()) {
      let bottom = 0;
      for (const { index, flow, top, height: row, from } of branches) {
        assertNear(flow / start.height, Math.exp(STEPS[step][index].log_prob), 1e-6);
        assert.ok(row >= flow && row >= 24 && top >= bottom && /^M\d.*Z$/.test(from));
        bottom = top + row;
      }
      assert.ok(
        tailBox.top >= bottom && bottom <= whole.height && tailBox.top + tailBox.height <= whole.height,
      );
      assert.ok(tailBox.left + tailBox.width <= whole.width);
    }
    assert.ok(whole.width >= width && whole.height >= height);
  }
  const [first] = river(RESULT).columns;
  assert.deepEqual(
    [first.branches.map(({ index }) => index), first.tail, first.cuts.length],
    [[0, 1, 2], [3], 1],
  );
});

test("a wide beam scrolls, and of many words below the branches some are shown", () => {
  const many = Array.from({ length: 60 }, (_, i) =>
    one(0, `word${i}`, i < 30 ? "kept" : "pruned", i ? 1e-5 : 0.9),
  );
  const { columns, height, start } = river(
    resultOf({ steps: [many, [one(0, "<eos>", "finished", 0.9, 0.9)]] }),
  );
  assert.equal(columns[0].branches.length, 30);
  assert.ok(height > 500 && start.height >= 80);
  assert.ok(columns[0].nWords > 0 && columns[0].nWords < columns[0].tail.length);
  assert.equal(columns[0].tailBox.height, 3 * 24);
});

test("heights are shares of a step where whole texts are too improbable, and in sampling those of a draw", () => {
  const little = STEPS.map((step) => step.map((each) => ({ ...each, log_prob: each.log_prob - 5 })));
  const heights = beam.heightsOf(resultOf({ steps: little, hypotheses: [text("la vaca", -4)] }));
  for (const step of heights)
    assertNear(
      step.reduce((a, b) => a + b),
      1,
    );
  assertNear(heights[1][0] / heights[1][3], 0.32 / 0.02);
  const drawn = [
    [
      { ...one(0, "el", "kept", 0.6), share: 0.7 },
      { ...one(0, "la", "pruned", 0.4), share: 0.3 },
    ],
  ];
  assert.deepEqual(beam.heightsOf(resultOf({ steps: drawn, sampled: true })), [[0.7, 0.3]]);
});

test("the headline tells who leads, and the winner only at the end", () => {
  const at = (step, change, request) =>
    withoutMarks(plainText(say.headlineOf(resultOf(change, request), step)));
  assertTable(at, [
    [0, "After one word, el leads: 50%"],
    [1, "After 2 words, la vaca leads: 32%"],
    [2, "la vaca wins: 14%"],
    [2, {}, { beam_width: 1 }, "Greedy search writes la vaca: 14%"],
    [1, {}, { beam_width: 1 }, "After 2 words, greedy search has la vaca: 32%"],
    [1, { sampled: true }, "After 2 words, la vaca is drawn"],
    [2, { sampled: true }, "la vaca is drawn; its probability: 14%"],
    [2, { hypotheses: [text("", -1)] }, "(nothing) wins: 14%"],
  ]);
});

test("the line tells who led before, what has ended, and where greedy search differs from what was found", () => {
  const line = (result, step = 2) => withoutMarks(plainText(say.lineOf(result, step)));
  const found = (best, greedy, sampled = false) =>
    line(
      resultOf({
        hypotheses: [text(best, -1)],
        greedy: greedy === null ? null : text(greedy, -1.5),
        sampled,
      }),
    );
  assertTable(found, [
    ["la vaca", null, "Score −1.000."],
    ["la vaca", "la vaca", "Score −1.000; greedy search writes the same."],
    ["la vaca", "la gata", "Score −1.000; greedy search writes la gata, −1.500, and differs from word 2 on."],
    ["la vaca", "la", /writes la, .* from word 2 on\.$/], // at the end of the shorter text, and where there is none
    ["la vaca", "", /writes \(nothing\), .* from word 1 on\.$/],
    [
      "la vaca",
      "la gata",
      true,
      "Log-probability −2.000; greedy search writes la gata, −3.000, and differs from word 2 on.",
    ],
    ["la", "la <eos>", /writes la <eos>, −1\.500\.$/], // the end may be a word of its own
  ]);
  assert.equal(line(RESULT, 0), "A branch is as high as its text's probability so far; ✂ is pruned.");
  assert.equal(line(RESULT, 1), "After one word, el led: 50%.");
  const same = STEPS[1].map((each) => ({ ...each, parent: 0 }));
  assert.equal(line(resultOf({ steps: [STEPS[0], same, STEPS[2]] }), 1), "el has ended: 25%.");
  assert.match(
    line(resultOf({ sampled: true }, { temperature: 2 }), 0),
    /likely to be drawn: temperature 2,/,
  );
});

test("the ways to write stand side by side, each as far as it has come", () => {
  const traits = /** @type {any} */ ({
    sentence: "a b",
    method: "beam",
    beam_width: 2,
    length_penalty: 0.6,
    seed: 0,
  });
  const greedy = text("el", -0.7);
  const at = (step, change = {}) =>
    waysOf({ ...traits, ...change }, 2, () => null, resultOf({ greedy }), step).map(
      ({ name, isShown, tokens, logProb }) => [name, isShown, tokens?.join(" "), logProb],
    );
  assert.deepEqual(at(0), [
    ["greedy search", false, "el", undefined],
    ["beam of 2", true, "el", undefined],
    ["sampling", false, undefined, undefined],
  ]);
  assert.deepEqual(at(1).map(([, , ...told]) => told)[0], ["el", -1.4]); // it has ended
  assert.deepEqual(at(2)[1], ["beam of 2", true, "la vaca", -2]);
  const other = at(2, { method: "sample" });
  assert.deepEqual(
    other.map(([, isShown]) => isShown),
    [false, false, true],
  );
});

test("attention is that of the text a candidate continues, of a head or as the mean", () => {
  assert.equal(beam.attentionOf(RESULT, { step: 0, index: 0 }, 0, null), null);
  // [hypothesis, layer, head, key] of the steps, one after another
  const weights = floats([
    [
      [0.75, 0.25],
      [0.25, 0.75],
    ],
    [
      [
        [1, 0],
        [0, 1],
      ],
      [
        [0.5, 0.5],
        [0, 1],
      ],
    ],
  ]);
  const attention = {
    kind: "cross",
    layers: 1,
    heads: 2,
    shapes: [
      [1, 2],
      [2, 2],
    ],
    dtype: "float32",
    weights,
  };
  const of = (position, head) =>
    beam.attentionOf(/** @type {any} */ ({ attention, steps: STEPS }), position, 0, head);
  assert.deepEqual(of({ step: 0, index: 0 }, null), [0.5, 0.5]);
  assert.deepEqual(of({ step: 1, index: 0 }, null), [0.25, 0.75]); // of "la", the second in the beam
  assert.deepEqual(of({ step: 1, index: 3 }, 0), [1, 0]);
  const keys = (kind) =>
    beam.attentionKeys(
      /** @type {any} */ ({ source: ["the", "cat"], prompt: ["<sos>"], attention: { kind } }),
      ["el", "gato"],
    );
  assert.deepEqual(
    [keys("cross"), keys("decoder")],
    [
      ["the", "cat"],
      ["<sos>", "el"],
    ],
  );
});

test("a request holds what its method needs and nothing else, and so does its line of Python", () => {
  const search = { sentence: "a b", method: "beam", beam_width: 4, length_penalty: 0.6, checkpoints: [] };
  const traits = { ...search, temperature: 1, top_k: null, top_p: undefined, seed: 3 };
  const asked = (change) => beam.searchRequest(/** @type {any} */ ({ ...traits, ...change }));
  const sampled = { temperature: 1, top_k: null, top_p: null, seed: 3 };
  assert.deepEqual(asked({}), { text: "a b", method: "beam", beam_width: 4, length_penalty: 0.6 });
  assert.deepEqual(asked({ method: "sample" }), { text: "a b", method: "sample", ...sampled });
  const named = { checkpoints: ["<b>"], checkpoint: "<b>" };
  const code = (change, live = true) => say.codeOf(asked(change), { step: 1, index: 2 }, live);
  assertTable(code, [
    [{}, 'model.decode("a b", beam_width=4, length_penalty=0.6).steps[1].candidates[2]'],
    [{ method: "sample" }, 'model.sample("a b", temperature=1, seed=3).steps[1].candidates[2]'],
    [{ ...named }, /^models\["<b>"\]\.decode/],
    [{}, false, "view.search.steps[1].candidates[2]"],
  ]);
  const other = [{ length_penalty: 0 }, named, { method: "sample", top_k: 3 }];
  assertTable(
    (changes) => say.describeCarried(changes.map(asked)),
    [
      [[{}, {}, { beam_width: 1 }], /this page can show: length penalty 0.6 with beam width 1, 4\.$/],
      [
        other,
        "Without the notebook, this page can show: temperature 1, top-k 3, top-p all, seed 3; length penalty 0 with beam width 4; <b>, length penalty 0.6 with beam width 4.",
      ],
    ],
  );
});
