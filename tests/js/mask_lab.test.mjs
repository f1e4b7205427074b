// The mask lab's pure functions: the mask's algebra, its words, its code, the leak meter's verdicts.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as rules from "../../viz_transformer/widgets/mask_lab/composition.js";
import { maskCode } from "../../viz_transformer/widgets/mask_lab/mask_code.js";
import * as meter from "../../viz_transformer/widgets/mask_lab/leak_meter.js";
import { firstLook, presetOf, PRESETS } from "../../viz_transformer/widgets/mask_lab/presets.js";
import { rowVerdict } from "../../viz_transformer/widgets/mask_lab/library_table.js";
import {
  shapeBoxes,
  shapesLayout,
  shapesSentence,
  wrapped,
} from "../../viz_transformer/widgets/mask_lab/broadcasting.js";

const WORDS = {
  source: [
    ["the", "cat", "is", "tired", "<eos>"],
    ["i", "<eos>"],
  ],
  target: [
    ["<sos>", "el", "gato"],
    ["<sos>", "yo"],
  ],
  written: [
    ["el", "gato", "<eos>"],
    ["yo", "<eos>"],
  ],
};
const STATE = {
  kind: "decoder",
  side: "right",
  padding: true,
  causal: true,
  mistake: "none",
  lengths: [5, 2],
  painted: [],
};
const compose = (changes = {}) => rules.composeMask(WORDS, { ...STATE, ...changes });
const bits = (rows) => rows.map((row) => row.map(Number).join("")).join(" ");

test("padding and look-ahead are joined by and", () => {
  const { may, parts } = compose();
  assert.equal(bits(may[0]), "100 110 111");
  assert.equal(bits(may[1]), "100 110 110");
  assert.deepEqual(
    parts.map(({ shape }) => shape),
    [
      [2, 1, 1, 3],
      [1, 1, 3, 3],
    ],
  );
});

test("left padding leaves rows that may look at nothing", () => {
  const left = compose({ side: "left" });
  assert.deepEqual(left.queryTokens[1], ["<pad>", "<sos>", "yo"]);
  assert.equal(bits(left.may[1]), "000 010 011");
  assert.deepEqual(rules.emptyRows(left, 1), [0]);
  assert.deepEqual(rules.emptyRows(left, 0), []);
});

test("cross-attention is masked by the source, or by mistake by the target", () => {
  const right = compose({ kind: "cross", causal: false });
  assert.deepEqual([right.queries, right.keys], [3, 5]);
  assert.equal(bits(right.may[1]), "11000 11000 11000");
  const wrong = compose({ kind: "cross", causal: false, mistake: "target_padding", lengths: [3, 2] });
  assert.deepEqual([wrong.queries, wrong.keys], [3, 3], "both padded to one length");
});

test("a look-ahead mask read as padding rules whole sentences of a batch as long", () => {
  const { may, sentences } = compose({ padding: false, mistake: "causal_as_padding" });
  assert.equal(sentences, 3);
  assert.deepEqual(may.map(bits), ["100 100 100", "110 110 110", "111 111 111"]);
});

test("the source as target stands where it is written", () => {
  const copied = compose({ mistake: "source_as_target" });
  assert.deepEqual(copied.keyTokens[1], ["i", "<eos>", "<pad>", "<pad>", "<pad>"]);
  assert.deepEqual(copied.written, copied.keyTokens);
  assert.ok(!copied.allowed(0, 2, 2) && copied.allowed(0, 2, 1));
});

test("a painted cell wins, and is forgotten when it is painted back", () => {
  const painted = rules.paintCell(WORDS, STATE, [0, 0, 2], true);
  assert.deepEqual(painted, [[0, 0, 2, true]]);
  assert.equal(bits(compose({ painted }).may[0]), "101 110 111");
  assert.deepEqual(rules.paintCell(WORDS, { ...STATE, painted }, [0, 0, 2], false), []);
  assert.deepEqual(
    compose({ painted: [[9, 0, 0, false]] }).painted,
    [],
    "what the mask does not have is left out",
  );
  // A click on a cell of the mask that stood here until this frame.
  for (const gone of /** @type {[number, number, number][]} */ ([
    [9, 0, 0],
    [0, 9, 0],
    [0, 0, 9],
  ])) {
    assert.deepEqual(rules.paintCell(WORDS, { ...STATE, painted }, gone, true), painted);
  }
});

test("a cell is told in words", () => {
  const plain = (text) => text.replace(/[\u2068\u2069]/g, "");
  const told = (changes, b, q, k) => plain(rules.describeMaskCell(compose(changes), b, q, k));
  assert.equal(told({}, 0, 1, 2), "“el” (query) may not attend to “gato” (key): it comes later.");
  assert.equal(told({}, 0, 2, 1), "“gato” (query) may attend to “el” (key).");
  assert.equal(
    told({}, 1, 0, 2),
    "“<sos>” (query) may not attend to “<pad>” (key): it is padding, and it comes later.",
  );
  assert.match(
    told({ painted: [[0, 0, 2, true]] }, 0, 0, 2),
    /may attend to “gato” \(key\): painted by hand/,
  );
  assert.match(told({ mistake: "inverted" }, 0, 0, 2), /may attend .* this one is inverted/);
  assert.match(
    told({ mistake: "causal_as_padding", padding: false }, 1, 0, 2),
    /all of sentence 2 may attend only to its first 2/,
  );
});

test("each convention writes a cell its own way", () => {
  assert.deepEqual(
    ["may", "may_not", "additive"].map((p) => [true, false].map((may) => rules.cellText(may, p))),
    [
      ["True", "False"],
      ["False", "True"],
      ["0", "−∞"],
    ],
  );
});

test("every preset is recognised, and has something to look at", () => {
  for (const preset of PRESETS) {
    const state = { ...STATE, ...preset.state };
    assert.equal(presetOf(state), preset);
    const composed = rules.composeMask(WORDS, state);
    const look = firstLook(preset, composed);
    assert.ok(look.sentence < composed.sentences && look.query < composed.queries);
    assert.ok(look.key < composed.keys && look.edited < composed.keys);
  }
  assert.equal(presetOf({ ...STATE, padding: false }), undefined);
});

test("code says what is joined", () => {
  assert.deepEqual(maskCode(compose(), "may", "ours"), [
    "# [2, 1, 1, 3] & [1, 1, 3, 3] → [2, 1, 3, 3]",
    "mask = padding_mask(target_ids, pad_id) & causal_mask(3)",
  ]);
  assert.match(maskCode(compose(), "may_not", "ours").at(-1), /to_torch_mask\(mask\)/);
  assert.match(
    maskCode(compose({ padding: false, causal: false }), "may", "torch")[0],
    /torch.ones\(2, 1, 3, 3/,
  );
});

const leaks = (change, longer = 0) => ({
  changes: () => change,
  longer: () => longer,
  replacements: [],
});

test("an output that moved and must not is a leak", () => {
  assert.deepEqual(
    [0, 1].flatMap((change) => [true, false].map((allowed) => meter.verdictOf(change, true, allowed))),
    ["deaf", "still", "moved", "leak"],
  );
  assert.equal(meter.verdictOf(9, false, false), "padding");
  const chosen = { sentence: 0, edit: "word", edited: 1, side: "right" };
  assert.deepEqual(
    meter.leakRows(leaks(1), compose(), chosen).map(({ verdict }) => verdict),
    ["leak", "moved", "moved"],
  );
});

test("leaks are counted where nothing may pass", () => {
  assert.deepEqual(meter.countLeaks(leaks(0), compose()), { leaks: 0, places: 6 });
  assert.deepEqual(meter.countLeaks(leaks(1), compose()), { leaks: 6, places: 6 });
});

test("the meter says what it saw", () => {
  const chosen = { ...STATE, sentence: 0, edit: "word", edited: 1 };
  const told = (values, changes) =>
    meter.leakSentence(meter.leakRows(values, compose(), { ...chosen, ...changes }), compose(), {
      ...chosen,
      ...changes,
    });
  assert.match(told(leaks(0)), /^No leak.*2 outputs did not move though they may.*hides too much/s);
  assert.match(told(leaks(1)), /^Leak: 1 output moved.*saw the future/s);
  assert.match(told(leaks(0, 1), { edit: "padding" }), /^Leak: 3 outputs moved because of two more padding/);
  assert.match(
    told(leaks(0, 1), { edit: "padding", side: "left" }),
    /not through the mask.*positions from the left/,
  );
  assert.match(told(leaks(0, 0), { edit: "padding" }), /^No leak/);
});

test("changes are shown as they are", () => {
  assert.deepEqual([0, 3e-5, 2e-4, 1.234, NaN].map(meter.shownChange), ["0", "0", "0.0002", "1.23", "NaN"]);
});

test("a library's row has a name", () => {
  assert.equal(rowVerdict([0, 0], [0, 0]), "zeros");
  assert.equal(rowVerdict([NaN, NaN], [0, 0]), "NaN");
  assert.equal(rowVerdict([0.5, 0.5], [0, 0]), "uniform, padding too");
  assert.equal(rowVerdict([0.5, 0.5], [0.5, 0.5]), "the same");
  assert.equal(rowVerdict([0.5, 0.5], [0.25, 0.75]), "differs by 0.250");
});

test("boxes say along which axes they are stretched", () => {
  const [padding, ahead, mask] = shapeBoxes(compose(), "may");
  assert.deepEqual([padding.note, ahead.note], ["the same for all queries", "the same for all sentences"]);
  assert.deepEqual(
    [padding.own, ahead.own, mask.own],
    [
      { sheets: 2, rows: 1 },
      { sheets: 1, rows: 3 },
      { sheets: 2, rows: 3 },
    ],
  );
  assert.deepEqual(
    shapeBoxes(compose(), "may_not").map(({ shape }) => shape),
    ["key_padding_mask [2, 3]", "attn_mask [3, 3]", "[2, 1, 3, 3]"],
  );
  assert.match(
    shapesSentence([padding, ahead, mask]),
    /padding \[2, 1, 1, 3\].*; and look-ahead .*together mask/,
  );
});

test("the boxes fit their width, and their notes too", () => {
  for (const width of [380, 560, 900]) {
    const { box, gap, cell, sheets } = shapesLayout(compose(), 3, width);
    assert.ok(3 * box + 2 * gap <= width + 1, `${width}: ${box}`);
    assert.ok(cell * 3 + 9 * (sheets - 1) <= box);
  }
  assert.deepEqual(
    wrapped("the same for all queries", 12, (text) => text.length),
    ["the same for", "all queries"],
  );
});
