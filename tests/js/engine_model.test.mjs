// The model in the page, where no torch is needed to say what is right: what it refuses, and what it does
// when a sentence is read again after an edit. tests/test_engine_model.py holds its numbers to torch's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { UserError } from "../../viz_transformer/engine/errors.ts";
import { causalMask, joinMasks, paddingMask } from "../../viz_transformer/engine/masks.ts";
import { forward, makeModel } from "../../viz_transformer/engine/model.ts";
import { outputsOf, readSentence } from "../../viz_transformer/engine/rereading.ts";
import { readSafetensors } from "../../viz_transformer/engine/safetensors.ts";
import { openSteps } from "../../viz_transformer/engine/steps.ts";

const folder = new URL("../../data/en-es/", import.meta.url);
const bytes = readFileSync(new URL("model.safetensors", folder));
const config = JSON.parse(readFileSync(new URL("config.json", folder), "utf8"));
const model = makeModel(config, readSafetensors(bytes));
const ids = { source: [5, 6, 7], target: [1, 400, 401, 402] };
const PAD = config.pad_id;

/** Hold a call to the UserError of one line that it raises. */
function assertRefused(call, pattern) {
  assert.throws(call, (error) => {
    assert.ok(error instanceof UserError, String(error));
    assert.doesNotMatch(error.message, /\n/);
    assert.match(error.message, pattern);
    return true;
  });
}

test("a call changes nothing of the model", () => {
  const before = forward(model, ids).logits.data;
  const heads = [{ kind: /** @type {const} */ ("cross"), layer: 1, head: 0, factor: 0 }];
  const changed = forward(model, ids, { interventions: { heads, layerNorm: false } }).logits.data;
  assert.notDeepEqual(changed, before);
  assert.deepEqual(forward(model, ids).logits.data, before);
});

test("weights that are damaged or do not fit are refused in one line", () => {
  for (const part of [bytes.subarray(0, 5000), bytes.subarray(0, -4)])
    assertRefused(() => readSafetensors(part), /truncated or damaged/);
  const other = readSafetensors(bytes);
  other.delete("encoder.layers.1.feed_forward.w_1.bias");
  const missing = /encoder\.layers\.1\.feed_forward\.w_1\.bias is missing, expected \[128\]/;
  assertRefused(() => makeModel(config, other), missing);
  const misfit = /source_embedding\.weight is \[761, 64\], expected \[762, 64\]/;
  assertRefused(() => makeModel({ ...config, vocab_size: 762 }, readSafetensors(bytes)), misfit);
});

test("what the page cannot compute is said in one line", () => {
  assertRefused(() => makeModel({ ...config, n_classes: 2 }, new Map()), /n_classes=2/);
  const masks = { cross: new Uint8Array(9) };
  assertRefused(() => forward(model, ids, { masks }), /9 numbers.*4 queries and 3 keys/);
  for (const replaced of [{ mean: true }, { output: [[0]] }]) {
    const heads = [{ kind: /** @type {const} */ ("encoder"), layer: 0, head: 1, ...replaced }];
    const call = () => forward(model, ids, { interventions: { heads } });
    assertRefused(call, /Python also replaces outputs/);
  }
});

test("steps stop where the model's positions do", () => {
  const steps = openSteps(model, { source: ids.source });
  for (let position = 0; position < config.max_length; position++) steps.step([400]);
  assertRefused(() => steps.step([400]), /max_length is 64/);
});

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
  const { rows, outputs } = outputsOf(model, readSentence(model, kind, after, earlier));
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

test("an edit is read again in the rows that may attend to it, and in no others", () => {
  const before = sentenceOf([5, 6, 7, 2], [1, 400, 401, 402]);
  const cross = Uint8Array.from({ length: 16 }, (_, i) => Number(i !== 5)); // query 1 may not attend to key 1
  const padded = sentenceOf([5, 6, 2, PAD], [1, 400, 401, PAD]);
  const longer = sentenceOf([...padded.source, PAD], [...padded.target, PAD]);
  const rows = [
    assertAsWhole("decoder", before, { ...before, target: [1, 400, 500, 402] }),
    assertAsWhole("encoder", before, { ...before, source: [5, 9, 7, 2] }),
    assertAsWhole("cross", before, { ...before, masks: { ...before.masks, cross } }),
    // Padding is hidden: what stands there reaches nothing.
    assertAsWhole("encoder", padded, { ...padded, source: [5, 6, 2, 8] }),
    assertAsWhole("decoder", padded, { ...padded, source: [5, 6, 2, 8] }),
    assertAsWhole("decoder", padded, longer),
  ];
  assert.deepEqual(rows, [[2, 3], [0, 1, 2, 3], [1, 2, 3], [3], [], [4]]);
});

test("any edit under any masks is as the whole", () => {
  let seed = 7;
  const below = (n) => {
    seed = (seed * 48271) % 2147483647;
    return Math.floor((seed / 2147483647) * n);
  };
  for (const kind of ["encoder", "decoder", "cross"]) {
    for (let i = 0; i < 20; i++) {
      const [nSource, nTarget] = [2 + below(4), 2 + below(4)];
      const words = (length) => Array.from({ length }, () => 3 + below(700));
      const mask = (length) => Uint8Array.from({ length }, () => below(2));
      const squares = { encoder: nSource * nSource, decoder: nTarget * nTarget, cross: nTarget * nSource };
      const masks = Object.fromEntries(Object.entries(squares).map(([name, size]) => [name, mask(size)]));
      const before = sentenceOf(words(nSource), words(nTarget), masks);
      const side = below(2) ? "source" : "target";
      const edited = before[side].with(below(before[side].length), 3 + below(700));
      const flipped = masks[kind].with(below(masks[kind].length), below(2));
      assertAsWhole(kind, before, { ...before, [side]: edited, masks: { ...masks, [kind]: flipped } });
    }
  }
});
