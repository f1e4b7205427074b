// A sentence that is read again after an edit, against the same sentence read whole.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { causalMask, joinMasks, paddingMask } from "../../viz_transformer/engine/masks.js";
import { forward, makeModel } from "../../viz_transformer/engine/model.js";
import { outputsOf, readSentence } from "../../viz_transformer/engine/rereading.js";
import { readSafetensors } from "../../viz_transformer/engine/safetensors.js";

const folder = new URL("../../data/en-es/", import.meta.url);
const config = JSON.parse(readFileSync(new URL("config.json", folder), "utf8"));
const weights = readSafetensors(readFileSync(new URL("model.safetensors", folder)));
const model = makeModel(config, weights);
const PAD = config.pad_id;

/** A sentence whose masks are the right ones, but for those that are given. */
function sentenceOf(source, target, masks = {}) {
  const right = {
    encoder: paddingMask(source, PAD),
    decoder: joinMasks(paddingMask(target, PAD), causalMask(target.length)),
    cross: paddingMask(source, PAD, target.length),
  };
  return { source, target, masks: { ...right, ...masks } };
}

/** Hold the rows that were read again, and all others as they were, to the sentence read whole. */
function assertAsWhole(kind, before, after) {
  const [earlier, again] = [before, after].map((sentence) => readSentence(model, kind, sentence));
  const reread = readSentence(model, kind, after, earlier);
  const { rows, outputs } = outputsOf(model, reread);
  const whole = outputsOf(model, again).outputs;
  const old = outputsOf(model, earlier).outputs;
  const row = ({ data, cols }, at) => data.subarray(at * cols, (at + 1) * cols);
  for (let at = 0; at < whole.rows; at++) {
    const found = rows.includes(at) ? row(outputs, rows.indexOf(at)) : row(old, at);
    assert.deepEqual(found, row(whole, at), `row ${at} of ${rows}`);
  }
  const { logits, memory } = forward(model, after, { masks: after.masks });
  assert.deepEqual(whole, kind === "encoder" ? memory : logits);
  return rows;
}

/** Numbers from 0 to 1, the same each time. */
function makeRandom(seed) {
  return () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
}

test("an edit reaches the rows that may attend to it, and no others", () => {
  const before = sentenceOf([5, 6, 7, 2], [1, 400, 401, 402]);
  const target = [1, 400, 500, 402];
  assert.deepEqual(assertAsWhole("decoder", before, { ...before, target }), [2, 3]);
  const source = [5, 9, 7, 2];
  assert.deepEqual(assertAsWhole("encoder", before, { ...before, source }), [0, 1, 2, 3]);
  const cross = Uint8Array.from({ length: 16 }, (_, i) => Number(i !== 5)); // query 1 may not attend to key 1
  assert.deepEqual(
    assertAsWhole("cross", before, { ...before, masks: { ...before.masks, cross } }),
    [1, 2, 3],
  );
});

test("padding that is hidden reaches nothing, and may be added", () => {
  const before = sentenceOf([5, 6, 2, PAD], [1, 400, 401, PAD]);
  const source = [5, 6, 2, 8];
  assert.deepEqual(assertAsWhole("encoder", before, { ...before, source }), [3]);
  assert.deepEqual(assertAsWhole("decoder", before, { ...before, source }), []);
  const longer = sentenceOf([...before.source, PAD], [...before.target, PAD]);
  assert.deepEqual(assertAsWhole("decoder", before, longer), [4]);
});

test("any edit under any masks is as the whole", () => {
  const random = makeRandom(7);
  const whole = (below) => Math.floor(random() * below);
  for (const kind of ["encoder", "decoder", "cross"]) {
    for (let i = 0; i < 20; i++) {
      const [nSource, nTarget] = [2 + whole(4), 2 + whole(4)];
      const ids = (length) => Array.from({ length }, () => 3 + whole(700));
      const mask = (length) => Uint8Array.from({ length }, () => whole(2));
      const masks = {
        encoder: mask(nSource * nSource),
        decoder: mask(nTarget * nTarget),
        cross: mask(nTarget * nSource),
      };
      const before = sentenceOf(ids(nSource), ids(nTarget), masks);
      const side = random() < 0.5 ? "source" : "target";
      const edited = before[side].with(whole(before[side].length), 3 + whole(700));
      const flipped = masks[kind].with(whole(masks[kind].length), whole(2));
      assertAsWhole(kind, before, { ...before, [side]: edited, masks: { ...masks, [kind]: flipped } });
    }
  }
});
