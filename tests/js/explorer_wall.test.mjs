// The wall of heads: what the filters leave, where each cell stands, and how the keys move over it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { LABELS, labelColour } from "../../viz_transformer/widgets/base/colour.ts";
import { headInWords, headline } from "../../viz_transformer/widgets/explorer/sentences.ts";
import { shownInWords } from "../../viz_transformer/widgets/explorer/selection.ts";
import * as wall from "../../viz_transformer/widgets/explorer/wall_heads.ts";
import {
  cellBox,
  moveOnWall,
  wallHeadAt,
  wallLayout,
} from "../../viz_transformer/widgets/explorer/wall_layout.ts";
import { assertTable, withoutMarks } from "./helpers.mjs";

const EVERYTHING = { order: "layer", labels: [], layers: [], least: null };
const [PREVIOUS, BROAD] = ["previous token", "broad"].map((name) => ({ name, evidence: 0.9 }));

/** Two layers of three heads: 0·1 and 1·0 look at the token before, 1·2 is broad. */
const HEADS = {
  ...{ kind: "encoder", layers: 2, heads: 3 },
  labels: Array.of([null, PREVIOUS, null], [PREVIOUS, null, BROAD]),
  entropies: Float32Array.of(0.5, 0.1, 0.6, 0.2, 0.7, 0.99),
  scores: { mine: Float32Array.of(3, NaN, 1, 5, -2, 0) },
};
const filtered = (filter, heads = HEADS) => wall.wallHeads(heads, { ...EVERYTHING, ...filter });
const layoutOf = (entries, width, height, filter = {}) =>
  wallLayout(
    entries.map((entry) => ({ ...entry, ...filtered(filter, entry) })),
    width,
    height,
  );

test("in the order of layers every head keeps its place, and a filter marks those it leaves out", () => {
  const { cells, kept, byLayer } = filtered({ labels: ["previous token"] });
  assert.deepEqual([byLayer, cells.length, kept.join()], [true, 6, "0,1,0,1,0,0"]);
  // Labels that are not here yet filter nothing.
  assert.equal(filtered({ labels: ["broad"] }, { ...HEADS, labels: null }).kept.join(), "1,1,1,1,1,1");
});

test("sorted, only the heads that are kept stand on the wall; one without a score comes last", () => {
  assertTable(
    (filter) =>
      filtered(filter)
        .cells.map((each) => each.join("·"))
        .join(" "),
    [
      [{ order: "mine" }, "1·0 0·0 0·2 1·2 1·1 0·1"],
      [{ order: "mine", least: 1 }, "1·0 0·0 0·2"],
      [{ order: "entropy", layers: [1, 1] }, "1·0 1·1 1·2"],
      [{ order: "label", labels: ["broad", ""] }, "1·2 0·0 0·2 1·1"],
    ],
  );
});

test("labels are counted over all kinds, and those without one come last", () => {
  const counts = wall.labelCounts([HEADS, { ...HEADS, labels: null }]);
  assert.equal(counts.join(" "), "broad,1 previous token,2 ,3");
  assert.equal(["first-token sink", "broad", "offset −3"].map(wall.labelMark).join(), "FTS,B,−3");
  const theme = { labels: LABELS.light };
  const known = [
    "previous token",
    "next token",
    "same token",
    "broad",
    "first-token sink",
    "last-token sink",
  ];
  assert.equal(new Set(known.map((name) => labelColour(name, theme))).size, known.length);
  assert.ok(LABELS.light.includes(labelColour("a label of tomorrow", theme)));
  assert.equal(LABELS.light.length, LABELS.dark.length);
});

test("scores are written in digits that fit their size", () => {
  assertTable(
    (order, layer, head) => wall.scoreInDigits(HEADS, order, layer, head),
    [
      ["mine", 1, 0, "5"],
      ["mine", 0, 1, ""],
      ["layer", 1, 0, ""],
      ["entropy", 1, 2, "0.99"],
    ],
  );
  assert.deepEqual(wall.scoresInWords(HEADS, 1, 1).map(withoutMarks), ["mine −2"]);
});

test("a head is called by the model's own numbers, where a part of the model was kept", () => {
  const entry = { ...HEADS, numbers: { layers: [4, 9], heads: [0, 5, 7] } };
  assert.equal(wall.headNote(entry, { layer: 1, head: 2 })[0], "layer 9 · head 7");
  assert.match(headInWords(entry, { layer: 0, head: 1 }), /^Head 4·5 of encoder self-attention/);
  const chosen = { layer: 1, head: 2, selected: [], aggregate: "head" };
  assert.equal(shownInWords(entry, chosen), "layer 9 · head 7");
  assert.equal(shownInWords(entry, { ...chosen, aggregate: "rollout" }), "rollout of layers 4 to 9");
});

test("the arrow keys move over cells, from one kind to the next, and to what a filter has kept", () => {
  const both = layoutOf([HEADS, { ...HEADS, kind: "decoder" }], 1200, 400);
  const only = (label) => layoutOf([HEADS], 900, 300, { order: "entropy", labels: [label] });
  assertTable(
    (layout, kind, layer, head, key) => Object.values(moveOnWall(layout, { kind, layer, head }, key)).join(),
    [
      [both, "encoder", 0, 2, "ArrowLeft", "encoder,0,1"],
      [both, "encoder", 0, 2, "ArrowDown", "encoder,1,2"],
      [both, "encoder", 0, 2, "ArrowUp", "encoder,0,2"],
      [both, "encoder", 0, 2, "ArrowRight", "decoder,0,0"],
      [both, "decoder", 1, 0, "ArrowLeft", "encoder,1,2"],
      [only("broad"), "encoder", 0, 0, "ArrowDown", "encoder,1,2"],
      [only("induction"), "encoder", 0, 0, "ArrowDown", "encoder,0,0"],
    ],
  );
});

test("in a low window the kinds of a shallow model, one below another, keep pictures that can be read", () => {
  const kinds = ["encoder", "decoder", "cross"].map((kind) => ({ ...HEADS, kind }));
  for (const { cellHeight } of layoutOf(kinds, 600, 200).sections) assert.ok(cellHeight >= 24);
});

test("each head of the wall is found under its middle, and stays inside the room", () => {
  const layout = layoutOf([HEADS, { ...HEADS, kind: "decoder" }], 900, 420);
  for (const section of layout.sections)
    for (const [i, [layer, head]] of section.cells.entries()) {
      const { x, y, width, height } = cellBox(section, i);
      assert.ok(x >= 0 && x + width <= 900 && y + height <= layout.height + 1);
      const found = wallHeadAt(layout, x + width / 2, y + height / 2);
      assert.deepEqual(found, { kind: section.kind, layer, head });
    }
});

test("a wall says how many patterns are clear, and of none that chance could make them", () => {
  const wall = (rows, ...labels) => {
    const section = { layers: 1, heads: 2, rows, labels: [labels], signed: false };
    return headline(/** @type {any} */ ({ mode: "wall", sections: [section] }));
  };
  assert.deepEqual(wall(6, { name: "previous token" }, null), ["1 of 2 heads have a clear pattern"]);
  assert.deepEqual(wall(6, null, null), ["All 2 heads: the text is too short to establish a pattern"]);
  assert.deepEqual(wall(60, null, null), [
    "No pattern of these 2 heads is stronger than chance in this text",
  ]);
});
