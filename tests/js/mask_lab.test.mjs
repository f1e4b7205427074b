// The mask lab's words, code, places and pictures. tests/test_mask_lab.py holds the masks that a page composes to
// Python's.

import assert from "node:assert/strict";
import * as rules from "../../viz_transformer/widgets/mask_lab/composition.ts";
import * as places from "../../viz_transformer/widgets/mask_lab/layout.ts";
import { test } from "node:test";
import { shapeBoxes } from "../../viz_transformer/widgets/mask_lab/composition.ts";
import { shownChange, verdictOf } from "../../viz_transformer/widgets/mask_lab/leaks.ts";
import { maskCode, rowVerdict } from "../../viz_transformer/widgets/mask_lab/libraries.ts";
import { firstLook, presetOf, PRESETS } from "../../viz_transformer/widgets/mask_lab/presets.ts";
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
  const painted = rules.paintCells(WORDS, STATE, [
    [0, 0, 2, true],
    [0, 1, 0, true], // open without paint
  ]);
  assert.deepEqual(painted, [[0, 0, 2, true]]);
  assert.equal(bits(compose({ painted }).may[0]), "101 110 111");
  assert.deepEqual(rules.paintCells(WORDS, { ...STATE, painted }, [[0, 0, 2, false]]), []);
  assert.deepEqual(compose({ painted: [[9, 0, 0, false]] }).painted, []); // what the mask does not have
  // Cells of the mask that stood here until this frame.
  const gone = /** @type {any} */ ([
    [9, 0, 0, true],
    [0, 9, 0, true],
    [0, 0, 9, true],
  ]);
  assert.deepEqual(rules.paintCells(WORDS, { ...STATE, painted }, gone), painted);
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

test("an output that moved and must not is a leak; rounding is no move", () => {
  assertTable(verdictOf, [
    [0, true, true, "cut"],
    [0, true, false, "still"],
    [1, true, true, "moved"],
    [1, true, false, "leak"],
    [9, false, false, "padding"],
  ]);
  assert.equal([0, 3e-5, 2e-4, 1.234, NaN].map(shownChange).join(), "0,0,0.0002,1.23,NaN");
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
  const [padding, ahead, mask] = shapeBoxes(compose(), "may");
  assert.deepEqual([padding.note, ahead.note], ["the same for all queries", "the same for all sentences"]);
  const own = [padding, ahead, mask].map(({ own }) => `${own.sheets}·${own.rows}`);
  assert.deepEqual(own, ["2·1", "1·3", "2·3"]);
  const shapes = shapeBoxes(compose(), "may_not").map(({ shape }) => shape);
  assert.deepEqual(shapes, ["key_padding_mask [2, 3]", "attn_mask [3, 3]", "[2, 1, 3, 3]"]);
});

const SIZES = [1, 7, 40].map((count) => ({ queries: count, keys: count }));
const NAMES = { query: 70, key: 70, now: 90, right: 60 };

test("a picture fills its room, with nothing on top of anything, from a phone to a large screen", () => {
  for (const [width, height] of [
    [290, 300],
    [358, 420],
    [640, 400],
    [904, 450],
    [2200, 1100],
  ])
    for (const size of SIZES)
      for (const isMeasured of [true, false]) {
        const names = isMeasured ? NAMES : { ...NAMES, now: 0, right: 0 };
        const found = places.layOut({ width, height }, 16, { ...size, names, isMeasured });
        const label = JSON.stringify({ width, height, ...size, isMeasured });
        assert.ok(found.row >= 23 && found.cell >= 14, label);
        assert.ok(found.width >= width - 1 || found.cell > 100, label);
        const stops = [found.bars, found.right, found.now, found.names, found.left].filter((x) => x !== null);
        assert.deepEqual(
          stops,
          stops.toSorted((a, b) => a - b),
          label,
        );
        if (isMeasured) assert.ok(found.bars - found.bar > 40, label); // a sign, and a number
        const { left, top, row, cell } = found;
        const last = { row: size.queries - 1, col: size.keys - 1 };
        const middle = [left + (last.col + 0.5) * cell, top + (last.row + 0.5) * row];
        assert.deepEqual(places.cellAt(found, middle[0], middle[1], size), last);
        assert.equal(places.cellAt(found, left - 1, middle[1], size), null);
      }
});

test("a stream is as wide as its change, and all fit beside each other below their key", () => {
  const layout = places.layOut({ width: 900, height: 450 }, 16, {
    ...SIZES[1],
    names: NAMES,
    isMeasured: true,
  });
  const streams = places.streamsOf(layout, 3, [15, 0, 5, 0, 0, 1e-3, 0]);
  assert.deepEqual(
    streams.map(({ row }) => row),
    [0, 2, 5],
  );
  assert.ok(Math.abs(streams[0].width / streams[1].width - 3) < 1e-9);
  const [from, to] = [layout.left + 3 * layout.cell, layout.left + 4 * layout.cell];
  assert.ok(streams.every(({ x, width }) => x - width / 2 >= from && x + width / 2 <= to));
  assert.deepEqual(places.streamsOf(layout, 3, [0, 0]), []);
});

test("a fast pointer paints the cells that it skips", () => {
  const told = (cells) => cells.map(({ row, col }) => `${row}${col}`).join(" ");
  assert.equal(told(places.cellsBetween({ row: 0, col: 2 }, { row: 0, col: 5 })), "03 04 05");
  assert.equal(told(places.cellsBetween({ row: 3, col: 3 }, { row: 1, col: 1 })), "22 11");
  assert.equal(told(places.cellsBetween({ row: 1, col: 1 }, { row: 1, col: 1 })), "");
});
