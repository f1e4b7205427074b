// The wall of heads: what the filters leave, where each cell stands, and how the keys move over it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { headInWords } from "../../viz_transformer/widgets/explorer/narration.js";
import { shownInWords } from "../../viz_transformer/widgets/explorer/selection.js";
import {
  headNote,
  labelCounts,
  labelMark,
  scoreInDigits,
  scoresInWords,
  wallHeads,
} from "../../viz_transformer/widgets/explorer/wall_heads.js";
import {
  cellBox,
  moveOnWall,
  wallHeadAt,
  wallLayout,
} from "../../viz_transformer/widgets/explorer/wall_layout.js";
import { LABELS, labelColour } from "../../viz_transformer/widgets/base/js/colour.js";

const EVERYTHING = { order: "layer", labels: [], layers: [], least: null };
const named = (name) => ({ name, evidence: 0.9 });

/** Two layers of three heads: 0·1 and 1·0 look at the token before, 1·2 is broad. */
function someHeads(more = {}) {
  return {
    kind: "encoder",
    layers: 2,
    heads: 3,
    labels: [
      [null, named("previous token"), null],
      [named("previous token"), null, named("broad")],
    ],
    entropies: Float32Array.of(0.5, 0.1, 0.6, 0.2, 0.7, 0.99),
    scores: { mine: Float32Array.of(3, NaN, 1, 5, -2, 0) },
    ...more,
  };
}

test("in the order of layers every head keeps its place, and a filter marks those it leaves out", () => {
  const { cells, kept, byLayer } = wallHeads(someHeads(), { ...EVERYTHING, labels: ["previous token"] });
  assert.equal(byLayer, true);
  assert.equal(cells.length, 6);
  assert.deepEqual([...kept], [0, 1, 0, 1, 0, 0]);
});

test("sorted, only the heads that are kept stand on the wall; one without a score comes last", () => {
  const sorted = (filter) =>
    wallHeads(someHeads(), { ...EVERYTHING, ...filter }).cells.map((each) => each.join("·"));
  assert.deepEqual(sorted({ order: "mine" }), ["1·0", "0·0", "0·2", "1·2", "1·1", "0·1"]);
  assert.deepEqual(sorted({ order: "mine", least: 1 }), ["1·0", "0·0", "0·2"]);
  assert.deepEqual(sorted({ order: "entropy", layers: [1, 1] }), ["1·0", "1·1", "1·2"]);
  assert.deepEqual(sorted({ order: "label", labels: ["broad", ""] }), ["1·2", "0·0", "0·2", "1·1"]);
});

test("labels that are not here yet filter nothing", () => {
  const { kept } = wallHeads(someHeads({ labels: null }), { ...EVERYTHING, labels: ["broad"] });
  assert.deepEqual([...kept], [1, 1, 1, 1, 1, 1]);
});

test("labels are counted over all kinds, and those without one come last", () => {
  assert.deepEqual(labelCounts([someHeads(), someHeads({ labels: null })]), [
    ["broad", 1],
    ["previous token", 2],
    ["", 3],
  ]);
  assert.equal(labelMark("first-token sink"), "FTS");
  assert.equal(labelMark("broad"), "B");
  assert.equal(labelMark("offset −3"), "−3");
});

test("scores are written in digits that fit their size", () => {
  assert.equal(scoreInDigits(someHeads(), "mine", 1, 0), "5");
  assert.equal(scoreInDigits(someHeads(), "mine", 0, 1), "");
  assert.equal(scoreInDigits(someHeads(), "layer", 1, 0), "");
  assert.equal(scoreInDigits(someHeads(), "entropy", 1, 2), "0.99");
  assert.deepEqual(scoresInWords(someHeads(), 1, 1), ["\u2068mine\u2069 −2"]);
});

test("a head is called by the model's own numbers, where a part of the model was kept", () => {
  const entry = someHeads({ numbers: { layers: [4, 9], heads: [0, 5, 7] } });
  assert.equal(headNote(entry, { layer: 1, head: 2 })[0], "layer 9 · head 7");
  assert.match(headInWords(entry, { layer: 0, head: 1 }), /^Head 4·5 of encoder self-attention/);
  const chosen = { layer: 1, head: 2, selected: [], aggregate: "head" };
  assert.equal(shownInWords(entry, chosen), "layer 9 · head 7");
  assert.equal(shownInWords(entry, { ...chosen, aggregate: "rollout" }), "rollout of layers 4 to 9");
});

test("every label has a colour, the known ones each their own", () => {
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

function layoutOf(layers, heads, width, height, more = {}) {
  const entry = { kind: "decoder", layers, heads, labels: null, entropies: null, ...more };
  return wallLayout([{ ...entry, ...wallHeads(entry, EVERYTHING) }], width, height);
}

test("a thousand heads in order fill the room and no more, and 5,120 in layers are as low as they can be", () => {
  for (const order of ["label", "entropy"]) {
    const entry = { kind: "decoder", layers: 32, heads: 32, labels: null, entropies: null };
    const layout = wallLayout([{ ...entry, ...wallHeads(entry, { ...EVERYTHING, order }) }], 980, 420);
    assert.ok(layout.height <= 420, `${layout.height} pixels`);
  }
  const [section] = layoutOf(80, 64, 1220, 420).sections;
  assert.ok(section.turned && section.rows * section.cellHeight < 460);
});

for (const [layers, heads] of [
  [2, 4],
  [12, 12],
  [32, 32],
  [48, 25],
  [1, 1],
]) {
  test(`${layers} layers of ${heads} heads stay inside the room, and each is found under its middle`, () => {
    const layout = layoutOf(layers, heads, 1220, 420);
    assert.ok(layout.height <= 420, `${layout.height} pixels`);
    const [section] = layout.sections;
    section.cells.forEach(([layer, head], i) => {
      const { x, y, width, height } = cellBox(section, i);
      assert.ok(x >= 0 && x + width <= 1220 && y + height <= layout.height + 1);
      assert.deepEqual(wallHeadAt(layout, x + width / 2, y + height / 2), { kind: "decoder", layer, head });
    });
    assert.equal(wallHeadAt(layout, 2, 2), null);
  });
}

test("a wall of more layers than heads is turned where that makes its pictures larger", () => {
  assert.equal(layoutOf(48, 25, 1220, 420).sections[0].turned, true);
  assert.equal(layoutOf(12, 12, 1220, 420).sections[0].turned, false);
});

test("the arrow keys move over cells, and from one kind to the next", () => {
  const kinds = ["encoder", "decoder"].map((kind) => {
    const entry = someHeads({ kind });
    return { ...entry, ...wallHeads(entry, EVERYTHING) };
  });
  const layout = wallLayout(kinds, 1200, 400);
  const from = { kind: "encoder", layer: 0, head: 2 };
  assert.deepEqual(moveOnWall(layout, from, "ArrowLeft"), { kind: "encoder", layer: 0, head: 1 });
  assert.deepEqual(moveOnWall(layout, from, "ArrowDown"), { kind: "encoder", layer: 1, head: 2 });
  assert.deepEqual(moveOnWall(layout, from, "ArrowUp"), from);
  assert.deepEqual(moveOnWall(layout, from, "ArrowRight"), { kind: "decoder", layer: 0, head: 0 });
  assert.deepEqual(moveOnWall(layout, { kind: "decoder", layer: 1, head: 0 }, "ArrowLeft"), {
    kind: "encoder",
    layer: 1,
    head: 2,
  });
});

test("from a head that a filter left out a key moves to the first that is kept; to none if there is none", () => {
  const on = (labels) => {
    const entry = someHeads();
    return wallLayout(
      [{ ...entry, ...wallHeads(entry, { ...EVERYTHING, order: "entropy", labels }) }],
      900,
      300,
    );
  };
  const from = { kind: "encoder", layer: 0, head: 0 };
  assert.deepEqual(moveOnWall(on(["broad"]), from, "ArrowDown"), { kind: "encoder", layer: 1, head: 2 });
  assert.deepEqual(moveOnWall(on(["induction"]), from, "ArrowDown"), from);
});
