// The beam stepper's own decisions, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as beam from "../../viz_transformer/widgets/beam_stepper/candidates.js";
import { prefixesOf } from "../../viz_transformer/widgets/beam_stepper/tree.js";
import { verdictSentence } from "../../viz_transformer/widgets/beam_stepper/verdict.js";
import { assertTable, withoutMarks } from "./helpers.mjs";

const one = (parent, token, status, log_prob = -1) => ({
  parent,
  token,
  status,
  log_prob,
  score: log_prob / 2,
  token_log_prob: log_prob,
  reason: "why",
});

// Two places in the beam: "el" and "la"; "la" is continued twice, "el" ends.
const STEPS = [
  [one(0, "el", "kept"), one(0, "la", "kept"), one(0, "un", "pruned"), one(0, "<pad>", "forbidden")],
  [one(1, "vaca", "kept"), one(0, "<eos>", "finished"), one(1, "gata", "kept"), one(0, "gato", "pruned")],
  [one(0, "<eos>", "finished"), one(1, "<eos>", "pruned")],
];
const REPLY = { steps: STEPS, end: "<eos>", hypotheses: [{ tokens: ["la", "vaca"], path: [1, 0, 0] }] };

test("arrow keys lead along the branches", () => {
  assertTable(
    (step, index, key) => Object.values(beam.moveInTree(STEPS, { step, index }, key) ?? []),
    [
      [0, 1, "ArrowRight", [1, 0]], // its best child
      [0, 2, "ArrowRight", [1, 0]], // an end: on with the best
      [1, 0, "ArrowLeft", [0, 1]],
      [0, 0, "ArrowLeft", [0, 0]],
      [2, 0, "ArrowRight", [2, 0]],
      [1, 0, "ArrowDown", [1, 2]], // by rows, not by rank
      [1, 3, "ArrowDown", [1, 3]],
      [1, 0, "ArrowUp", [1, 0]],
      [1, 0, "a", []],
    ],
  );
});

test("what is shown of a step is the chosen candidate, else the best text's own", () => {
  assert.equal(beam.shownCandidate(REPLY, 1, 3), 3);
  assert.equal(beam.shownCandidate(REPLY, 0, null), 1);
  assert.equal(beam.shownCandidate(REPLY, 2, 7), 0); // chosen in a wider beam
  assert.equal(beam.shownCandidate({ ...REPLY, hypotheses: [{ path: [] }] }, 1, null), 0);
});

test("greedy search's beginnings are found in the tree, its end included", () => {
  const found = (...words) => prefixesOf(beam.candidateTexts(STEPS), words, "<eos>").map((step) => [...step]);
  assert.deepEqual(found("la", "vaca"), [[1], [0], [0]]);
  assert.deepEqual(found("el", "gato"), [[0], [3], []]);
  assert.deepEqual(found("el")[1], [1]);
});

test("the verdict says what was found, and where greedy search parts from it", () => {
  const text = (words, score) => ({ tokens: words.split(" ").filter(Boolean), score, log_prob: 2 * score });
  const verdict = (best, greedy, sampled = false) =>
    withoutMarks(verdictSentence({ hypotheses: [best], greedy, sampled, end: "<eos>" }));
  const found = "Beam search found “la vaca” (score −1.000)";
  const best = text("la vaca", -1);
  assertTable(verdict, [
    [best, null, `${found}.`],
    [best, text("la vaca", -1), `${found}; greedy search writes the same.`],
    [
      best,
      text("la gata", -1.5),
      `Greedy search would have written “la gata” (score −1.500). ${found}. They part at step 2: greedy search writes “gata”, and this text has “vaca”.`,
    ],
    // At the end of the shorter text, and where there is none.
    [best, text("la", -1), /step 2: greedy search writes “<eos>”/],
    [best, text("", -1), /written “\(nothing\)”.*this text has “la”/],
    [
      best,
      text("la gata", -1),
      true,
      /\(log-probability −2\.000\)\. Sampling drew .* \(log-probability −1\.000\)/,
    ],
    [text("la", -1), text("la <eos>", -1), /^(?!.*part)/], // the end may be a word of its own
  ]);
});

test("a head of the weights is named, and a decoder's keys are what it has written", () => {
  const looking = (kind) =>
    /** @type {any} */ ({ source: ["the", "cat"], prompt: ["<sos>"], attention: { kind } });
  assert.deepEqual(beam.attentionKeys(looking("cross"), ["el", "gato"]), ["the", "cat"]);
  assert.deepEqual(beam.attentionKeys(looking("decoder"), ["el", "gato"]), ["<sos>", "el"]);
  assert.equal(beam.attentionOf({ attention: null }, 0, 0, 0, null), null);
  const described = [null, 2].map((head) => beam.describeHead({ layer: 1, head }, { heads: 4 }));
  assert.deepEqual(described, ["the mean of the 4 heads of layer 1", "head 2 of layer 1"]);
});

test("a request holds what its method needs and nothing else", () => {
  const search = { sentence: "a b", method: "beam", beam_width: 4, length_penalty: 0.6, checkpoints: [] };
  const traits = { ...search, temperature: 1, top_k: null, top_p: undefined, seed: 3 };
  const asked = (change) => beam.searchRequest((name) => ({ ...traits, ...change })[name]);
  const sampled = { temperature: 1, top_k: null, top_p: null, seed: 3 };
  assert.deepEqual(asked({}), { text: "a b", method: "beam", beam_width: 4, length_penalty: 0.6 });
  assert.deepEqual(asked({ method: "sample" }), { text: "a b", method: "sample", ...sampled });
  const other = [
    { length_penalty: 0 },
    { checkpoints: ["<b>"], checkpoint: "<b>" },
    { method: "sample", top_k: 3 },
  ];
  assertTable(
    (changes) => beam.describeCarried(changes.map(asked)),
    [
      [[{}, {}, { beam_width: 1 }], /this page can show: length penalty 0.6 with beam width 1, 4\.$/],
      [
        other,
        "Without the notebook, this page can show: temperature 1, top-k 3, top-p all, seed 3; length penalty 0 with beam width 4; <b>, length penalty 0.6 with beam width 4.",
      ],
    ],
  );
});
