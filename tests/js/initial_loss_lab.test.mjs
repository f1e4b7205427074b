// The initial loss lab's own decisions, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { scoresAt, startInWords, stdText } from "../../viz_transformer/widgets/initial_loss_lab/starts.js";

const starts = {
  stds: [0.5, 1],
  losses: [2, 294.03],
  echoes: [0.4, 1],
  tokens: ["<sos>", "el", "gato"],
  read: [[0, 1], [0]],
  wanted: [[1, 2], [2]],
  logits: new DataView(Float32Array.from({ length: 2 * 3 * 3 }, (_, i) => i % 7).buffer),
};

test("a place's scores follow those of the sentences before it", () => {
  assert.deepEqual(scoresAt(starts, { index: 0, sentence: 0, place: 1 }), [3, 4, 5]);
  assert.deepEqual(scoresAt(starts, { index: 1, sentence: 1, place: 0 }), [1, 2, 3]);
});

test("an echo is called one where it is", () => {
  const plain = (chosen) => startInWords(starts, chosen).replace(/[\u2068\u2069]/g, "");
  assert.equal(
    plain({ index: 1, sentence: 0, place: 1 }),
    "After “<sos> el” the largest logit is that of “el”, the word it has just read. " +
      "Loss 294.0; an even bet gives 1.10. At 100% of all positions it just repeats the word it has read.",
  );
  assert.match(plain({ index: 0, sentence: 0, place: 0 }), /that of “gato”\. Loss 2\.0/);
});

test("a standard deviation has no more digits than it needs", () => {
  assert.deepEqual([0.005, 512 ** -0.5, 1, 2].map(stdText), ["0.005", "0.0442", "1", "2"]);
});
