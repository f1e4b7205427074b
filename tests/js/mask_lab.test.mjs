// The mask lab's words, code and pictures, and the leak meter's verdicts. tests/test_mask_lab.py holds the
// masks that a page composes to Python's.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as boxes from "../../viz_transformer/widgets/mask_lab/broadcasting.js";
import * as rules from "../../viz_transformer/widgets/mask_lab/composition.js";
import * as meter from "../../viz_transformer/widgets/mask_lab/leak_meter.js";
import { rowVerdict } from "../../viz_transformer/widgets/mask_lab/library_table.js";
import { maskCode } from "../../viz_transformer/widgets/mask_lab/mask_code.js";
import { firstLook, presetOf, PRESETS } from "../../viz_transformer/widgets/mask_lab/presets.js";
import { assertTable, withoutMarks } from "./helpers.mjs";

const tokens = (...sentences) => sentences.map((sentence) => sentence.split(" "));
const WORDS = {
  source: tokens("the cat is tired <eos>", "i <eos>"),
  target: tokens("<sos> el gato", "<sos> yo"),
  written: tokens("el gato <eos>", "yo <eos>"),
};
const STATE = {
  ...{ kind: "decoder", side: "right", padding: true, causal: true, mistake: "none" },
  ...{ lengths: [5, 2], painted: [] },
};
const compose = (changes = {}) => rules.composeMask(WORDS, { ...STATE, ...changes });
const bits = (rows) => rows.map((row) => row.map(Number).join("")).join(" ");

test("a painted cell wins, and is forgotten when it is painted back", () => {
  const painted = rules.paintCell(WORDS, STATE, [0, 0, 2], true);
  assert.deepEqual(painted, [[0, 0, 2, true]]);
  assert.equal(bits(compose({ painted }).may[0]), "101 110 111");
  assert.deepEqual(rules.paintCell(WORDS, { ...STATE, painted }, [0, 0, 2], false), []);
  assert.deepEqual(compose({ painted: [[9, 0, 0, false]] }).painted, []); // what the mask does not have
  // A click on a cell of the mask that stood here until this frame.
  for (const gone of /** @type {[number, number, number][]} */ ([
    [9, 0, 0],
    [0, 9, 0],
    [0, 0, 9],
  ]))
    assert.deepEqual(rules.paintCell(WORDS, { ...STATE, painted }, gone, true), painted);
});

test("a cell is told in words, and each convention writes it its own way", () => {
  const shifted = { mistake: "causal_as_padding", padding: false };
  assertTable(
    (changes, ...cell) =>
      withoutMarks(rules.describeMaskCell(compose(changes), .../** @type {[any, any, any]} */ (cell))),
    [
      [{}, 0, 1, 2, "“el” (query) may not attend to “gato” (key): it comes later."],
      [{}, 0, 2, 1, "“gato” (query) may attend to “el” (key)."],
      [{}, 1, 0, 2, /may not attend to “<pad>” \(key\): it is padding, and it comes later\.$/],
      [{ painted: [[0, 0, 2, true]] }, 0, 0, 2, /may attend to “gato” \(key\): painted by hand/],
      [{ mistake: "inverted" }, 0, 0, 2, /may attend .* this one is inverted/],
      [shifted, 1, 0, 2, /all of sentence 2 may attend only to its first 2/],
    ],
  );
  const written = (convention) => [true, false].map((may) => rules.cellText(may, convention)).join();
  assert.deepEqual(["may", "may_not", "additive"].map(written), ["True,False", "False,True", "0,−∞"]);
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

test("code says what is joined, also where nothing is", () => {
  assert.equal(maskCode(compose(), "may", "ours")[0], "# [2, 1, 1, 3] & [1, 1, 3, 3] → [2, 1, 3, 3]");
  assert.match(maskCode(compose(), "may_not", "ours").at(-1), /to_torch_mask\(mask\)/);
  const none = compose({ padding: false, causal: false });
  assert.match(maskCode(none, "may", "torch")[0], /torch.ones\(2, 1, 3, 3/);
});

const leaks = (change, longer = 0) => ({ changes: () => change, longer: () => longer, replacements: [] });

test("an output that moved and must not is a leak, and leaks are counted where nothing may pass", () => {
  assertTable(meter.verdictOf, [
    [0, true, true, "deaf"],
    [0, true, false, "still"],
    [1, true, true, "moved"],
    [1, true, false, "leak"],
    [9, false, false, "padding"],
  ]);
  const chosen = { sentence: 0, edit: "word", edited: 1, side: "right" };
  const rows = meter.leakRows(leaks(1), compose(), chosen);
  assert.equal(rows.map(({ verdict }) => verdict).join(), "leak,moved,moved");
  assert.deepEqual(meter.countLeaks(leaks(0), compose()), { leaks: 0, places: 6 });
  assert.deepEqual(meter.countLeaks(leaks(1), compose()), { leaks: 6, places: 6 });
});

test("the meter says what it saw", () => {
  const says = (change, longer, changes) => {
    const chosen = { ...STATE, sentence: 0, edit: "word", edited: 1, ...changes };
    const rows = meter.leakRows(leaks(change, longer), compose(), chosen);
    return meter.leakSentence(rows, compose(), chosen);
  };
  assertTable(says, [
    [0, 0, {}, /^No leak.*2 outputs did not move though they may.*hides too much/s],
    [1, 0, {}, /^Leak: 1 output moved.*saw the future/s],
    [0, 1, { edit: "padding" }, /^Leak: 3 outputs moved because of two more padding/],
    [0, 1, { edit: "padding", side: "left" }, /not through the mask.*positions from the left/],
    [0, 0, { edit: "padding" }, /^No leak/],
  ]);
  const shown = [0, 3e-5, 2e-4, 1.234, NaN].map(meter.shownChange);
  assert.equal(shown.join(), "0,0,0.0002,1.23,NaN");
});

test("a library's row has a name", () => {
  assertTable(rowVerdict, [
    [[0, 0], [0, 0], "zeros"],
    [[NaN, NaN], [0, 0], "NaN"],
    [[0.5, 0.5], [0, 0], "uniform, padding too"],
    [[0.5, 0.5], [0.5, 0.5], "the same"],
    [[0.5, 0.5], [0.25, 0.75], "differs by 0.250"],
  ]);
});

test("boxes say along which axes they are stretched", () => {
  const [padding, ahead, mask] = boxes.shapeBoxes(compose(), "may");
  assert.deepEqual([padding.note, ahead.note], ["the same for all queries", "the same for all sentences"]);
  const own = [padding, ahead, mask].map(({ own }) => `${own.sheets}·${own.rows}`);
  assert.deepEqual(own, ["2·1", "1·3", "2·3"]);
  const shapes = boxes.shapeBoxes(compose(), "may_not").map(({ shape }) => shape);
  assert.deepEqual(shapes, ["key_padding_mask [2, 3]", "attn_mask [3, 3]", "[2, 1, 3, 3]"]);
  const sentence = boxes.shapesSentence([padding, ahead, mask]);
  assert.match(sentence, /padding \[2, 1, 1, 3\].*; and look-ahead .*together mask/);
});
