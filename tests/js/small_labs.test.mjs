// The own decisions of the labs that have few: block, figure, initial loss and model summary.

import assert from "node:assert/strict";
import * as machine from "../../viz_transformer/widgets/model_summary_lab/model_parts.ts";
import { test } from "node:test";
import { pngAddress } from "../../viz_transformer/widgets/base/bytes.ts";
import { plainText } from "../../viz_transformer/widgets/base/text.ts";
import {
  headlineOf as headlineOfBlock,
  movesOf,
  moveText,
} from "../../viz_transformer/widgets/block_lab/spread.ts";
import {
  headlineOf,
  lineOf,
  logitsAt,
  stdText,
} from "../../viz_transformer/widgets/initial_loss_lab/starts.ts";
import { headGrids } from "../../viz_transformer/widgets/model_summary_lab/model_parts.ts";
import {
  billInWords,
  consequencesInWords,
  shapeLines,
} from "../../viz_transformer/widgets/model_summary_lab/sentences.ts";
import {
  correctionInWords,
  nearestStop,
  withSize,
} from "../../viz_transformer/widgets/model_summary_lab/sizes.ts";
import { floats, withoutMarks } from "./helpers.mjs";

test("the moves of one changed word are a row for each part, and rounding is no move", () => {
  // Two parts, three words: the first part tells all the others, the second none.
  const reached = [2, 1, 1, 1, 2, 1, 0.5, 1, 2];
  const kept = [2, 0, 0, 0, 2, 1e-7, 0, 0, 2];
  const words = { tokens: ["the", "cat", "<eos>"], parts: ["attention", "norm"] };
  const reply = { ...words, spread: floats(reached, kept) };
  assert.equal(movesOf(reply, 2).join(" | "), "0.5,1,2 | 0,0,2");
  const told = (changed) => withoutMarks(plainText(headlineOfBlock(reply, changed)));
  assert.equal(told(1), "Reverse the vector of cat: other words move in attention");
  assert.equal(
    withoutMarks(plainText(headlineOfBlock({ ...reply, spread: floats([2], [2]), tokens: ["a"] }, 0))),
    "Reverse the vector of a: no other word moves",
  );
  assert.equal([0, 1e-7, 0.004, 1.234].map(moveText).join(), "0,0,< 0.01,1.23");
});

test("bytes become an address, from wherever in a message they start", () => {
  const bytes = Uint8Array.from({ length: 20_003 }, (_, at) => at % 256);
  const address = pngAddress(new DataView(bytes.buffer, 3));
  assert.ok(address.startsWith("data:image/png;base64,"));
  const back = Uint8Array.from(atob(address.split(",")[1]), (letter) => letter.charCodeAt(0));
  assert.deepEqual(back, bytes.subarray(3));
});

test("a place's scores follow those of the sentences before it, and an echo is called one", () => {
  const starts = {
    ...{ stds: [0.5, 1], losses: [2, 294.03], echoes: [0.4, 1], tokens: ["<sos>", "el", "gato"] },
    ...{ read: [[0, 1], [0]], wanted: [[1, 2], [2]] },
    logits: floats(Array.from({ length: 2 * 3 * 3 }, (_, i) => i % 7)),
  };
  assert.deepEqual(logitsAt(starts, { index: 0, sentence: 0, place: 1 }), [3, 4, 5]);
  assert.deepEqual(logitsAt(starts, { index: 1, sentence: 1, place: 0 }), [1, 2, 3]);
  const says = (index, place) => withoutMarks(plainText(headlineOf(starts, { index, sentence: 0, place })));
  assert.equal(says(1, 1), "After el the largest logit is that of the same word");
  assert.equal(says(0, 0), "After <sos> the largest logit is that of gato");
  assert.equal(
    lineOf(starts, { index: 1, sentence: 0, place: 1 }),
    "Loss 294.0; a uniform guess gives 1.10. At 100% of all positions it repeats the word that it has read.",
  );
  assert.equal([0.005, 512 ** -0.5, 1, 2].map(stdText).join(), "0.005,0.0442,1,2");
});

const SIZES = { n_source: 6, n_target: 4, d_model: 512, n_heads: 8, d_ff: 2048, n_layers: 6, vocab_size: 35 };
const PARTS = machine.modelParts(SIZES);
const part = (name, stack = "decoder", parts = PARTS) =>
  parts.find((each) => each.stack === stack && each.name === name);

test("of the decoder, the source's length moves cross-attention alone, and no count", () => {
  const isMoved = ({ shapes }) =>
    Object.values(shapes).some((axes) => axes.some(({ from }) => from.includes("n_source")));
  const moved = PARTS.filter((each) => each.stack === "decoder" && isMoved(each));
  assert.equal(moved.map(({ name }) => name).join(), "cross-attention");
  assert.equal(machine.consequences(PARTS, "n_source").counts, 0);
});

test("equal lengths stay told apart by what they follow from", () => {
  const square = part("cross-attention", "decoder", machine.modelParts({ ...SIZES, n_target: 6 }));
  assert.equal(
    shapeLines(square)
      .map(([name]) => name)
      .join("; "),
    "query; key, value; weights; output",
  );
  assert.equal(shapeLines(part("self-attention", "encoder"))[0][0], "query, key, value");
  assert.equal(shapeLines(part("logits"))[0][0], "");
});

test("what follows from a size is told with what does not, and a bill is the sum in words", () => {
  const says = (name, label) => consequencesInWords(PARTS, name, label);
  assert.match(says("n_heads", "heads"), /^“heads”: \d+ of 29 shapes change, and none/);
  assert.match(says("d_model", "d_model"), /and 11 of 13 counts\.$/);
  assert.match(says("n_layers", "layers"), /every shape stays/);
  const total = machine.learnedByAll(PARTS);
  assert.equal(
    billInWords(part("cross-attention"), total),
    "W^Q, W^K, W^V and W^O, each 512 × 512: 1,048,576. In 6 layers 6,291,456, 14.3% of all parameters.",
  );
  assert.equal(billInWords(part("logits"), total), "it uses the encoder's table");
});

test("heads divide the width, and a slider stands at the stop nearest by ratio", () => {
  const set = (name, value, most = 1000) => withSize(SIZES, { name, most }, value);
  assert.deepEqual(set("d_model", 100), { ...SIZES, d_model: 100, n_heads: 5 });
  assert.deepEqual(set("n_heads", 7), { ...SIZES, n_heads: 4 });
  assert.deepEqual([set("d_model", 33).d_model, set("d_ff", 99, 50).d_ff], [32, 50]);
  assert.equal(set("n_source", Number.NaN), SIZES);
  assert.deepEqual([nearestStop([32, 64, 128], 96), nearestStop([1, 2, 4], 1000)], [2, 2]);
});

test("a size that is set otherwise than asked for is said, and why", () => {
  const told = (name, value, most = 1000) =>
    correctionInWords(SIZES, { name, label: name, most, stops: [] }, value);
  assert.equal(told("n_heads", 7), "7 heads do not divide d_model = 512: there are 4.");
  assert.equal(told("d_model", 100), "8 heads do not divide d_model = 100: there are 5.");
  assert.equal(told("d_model", 513), "d_model is even: it is 512.");
  assert.equal(told("d_ff", 99, 50), "“d_ff” is 50, of 1 to 50.");
  assert.equal(told("n_layers", 0), "“n_layers” is 1, of 1 to 1,000.");
  assert.equal(told("n_source", Number.NaN), "“n_source” is still 6.");
  for (const [name, value] of [
    ["n_heads", 16],
    ["d_model", 256],
    ["vocab_size", 35],
  ])
    assert.equal(told(name, value), "");
});

test("the grids are to scale, and no more than have room", () => {
  const { width, height, path } = headGrids({ heads: 2, queries: 4, keys: 8 });
  assert.deepEqual([width, height], [2 * 22 + 4 + 2, 11 + 2]);
  assert.equal(path.match(/M/g).length, 2 * (5 + 9));
  assert.equal(headGrids({ heads: 40, queries: 100, keys: 100 }).path.match(/M/g).length, 16 * 4);
});
