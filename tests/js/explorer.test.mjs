// The explorer's pure functions: what is where, what is shown, what is said.

import assert from "node:assert/strict";
import { test } from "node:test";

import { partWidths } from "../../viz_transformer/widgets/explorer/layout.js";
import {
  axisOf,
  gather,
  gatherMask,
  rowNames,
  tokenOf,
} from "../../viz_transformer/widgets/explorer/displayed_head.js";
import { differenceLimit } from "../../viz_transformer/widgets/explorer/measured_trace.js";
import {
  headAt,
  headGridLayout,
  moveHead,
  sortedHeads,
} from "../../viz_transformer/widgets/base/js/head_grid.js";
import {
  linkedColumns,
  linkedHeading,
  linkedSentence,
  movePlace,
  pinOf,
  placesOf,
} from "../../viz_transformer/widgets/explorer/linked_columns.js";
import {
  cellAt,
  matrixLayout,
  moveCell,
  panBy,
  reveal,
  zoomAround,
} from "../../viz_transformer/widgets/base/js/heatmap.js";
import { marksExplained } from "../../viz_transformer/widgets/base/js/text.js";
import { nextTextSize } from "../../viz_transformer/widgets/base/js/text_size.js";
import { pathsOf, spread, strongLines } from "../../viz_transformer/widgets/explorer/attention_paths.js";
import {
  describe,
  HINT,
  placeOf,
  rankOf,
  readout,
  rowSum,
  strongestThree,
} from "../../viz_transformer/widgets/explorer/readout.js";
import {
  activeCell,
  carryPins,
  fitSelection,
  foundIn,
  escapeChange,
  nextFound,
  shownHeads,
  shownInWords,
  within,
  withHead,
} from "../../viz_transformer/widgets/explorer/selection.js";
import { headInWords, marksInWords, notes } from "../../viz_transformer/widgets/explorer/narration.js";
import { strongestCells, tableOf } from "../../viz_transformer/widgets/explorer/data_table.js";
import {
  lineInView,
  tokenAt,
  tokensInView,
  columnsLayout,
} from "../../viz_transformer/widgets/explorer/token_columns.js";

const NONE = { query: null, key: null };
const plainAxis = (names) => axisOf(names, [], null, { hideSpecial: false, mergeWords: false });

/** A picture of one head, from its weights, row by row. */
function pictureOf(
  kind,
  queries,
  keys,
  weights,
  { reads = null, signed = false, masked = null, ...rest } = {},
) {
  return {
    entry: { kind, reads, signed, dtype: "float32", heads: 1 },
    heads: [[0, 0]],
    aggregate: "head",
    layer: 0,
    queries,
    rowNames: rowNames(reads, plainAxis(queries)),
    keys,
    rows: queries.length,
    cols: keys.length,
    limit: signed ? 1 : null,
    masked,
    queryAxis: plainAxis(queries),
    keyAxis: plainAxis(keys),
    weights: Float32Array.from(weights),
    ...rest,
  };
}

const cross = pictureOf(
  "cross",
  ["el", "gato"],
  ["the", "black", "cat"],
  [0.75, 0.25, 0, 0.0625, 0.03125, 0.90625],
  { reads: ["<sos>", "el"] },
);

test("a cell is told with both words, its rank, a sentence, its row's sum and its place", () => {
  assert.deepEqual(readout(cross, { query: 1, key: 2 }), {
    pairs: [{ from: "gato", to: "cat", weight: 0.90625, masked: false, rank: 1, of: 3 }],
    sentence: "Having read “\u2068el\u2069”, it writes “\u2068gato\u2069” and attends to “\u2068cat\u2069”.",
    detail: "trace.cross_attention[0, 0, 1, 2] = 0.90625",
    sum: "Its row sums to 1.00.",
  });
});

test("a query is told with its strongest keys, a key with its strongest queries", () => {
  const told = ({ pairs }) => pairs.map(({ from, to, weight, rank }) => [from, to, weight, rank]);
  const ofQuery = readout(cross, { query: 0, key: null });
  assert.deepEqual(told(ofQuery), [
    ["el", "the", 0.75, 1],
    ["el", "black", 0.25, 2],
    ["el", "cat", 0, 3],
  ]);
  assert.equal(ofQuery.detail, "trace.cross_attention[0, 0, 0, :]");
  const ofKey = readout(cross, { query: null, key: 0 });
  assert.deepEqual(told(ofKey), [
    ["el", "the", 0.75, 1],
    ["gato", "the", 0.0625, 2],
  ]);
});

test("with nothing active there is a hint and no weight", () => {
  assert.deepEqual(readout(cross, NONE), { pairs: [], sentence: HINT, detail: "", sum: "" });
});

test("a rank counts what may be looked at, and equals share the better rank", () => {
  const masked = Uint8Array.from([0, 0, 1, 0, 0, 0]);
  const equal = pictureOf("decoder", ["a", "b"], ["x", "y", "z"], [0.5, 0.5, 0, 0.2, 0.4, 0.4], { masked });
  assert.deepEqual(rankOf(equal, 0, 1), { rank: 1, of: 2 });
  assert.deepEqual(rankOf(equal, 1, 0), { rank: 3, of: 3 });
  assert.deepEqual(rankOf(equal, 1, 2), { rank: 1, of: 3 });
  assert.ok(Math.abs(rowSum(equal, 1) - 1) < 1e-6);
  const values = [3, -9, 4, 9, 1];
  assert.deepEqual(
    strongestThree(5, (index) => values[index]),
    [1, 3, 2],
  );
  assert.deepEqual(
    strongestThree(2, (index) => values[index]),
    [1, 0],
  );
});

test("the sentence does not call a weak weight looking", () => {
  assert.match(describe(cross, 1, 1), /hardly attends to/);
  const encoder = pictureOf("encoder", ["a", "b"], ["a", "b"], [0.5, 0.5, 1, 0]);
  assert.equal(describe(encoder, 0, 1), "Reading “\u2068a\u2069”, it attends to “\u2068b\u2069”.");
});

test("what is masked may not be looked at, and only then", () => {
  const masked = Uint8Array.from([0, 1, 0, 0]);
  const decoder = pictureOf("decoder", ["el", "gato"], ["<sos>", "el"], [1, 0, 0.5, 0], { masked });
  assert.match(describe(decoder, 0, 1), /may not attend to “\u2068el\u2069”: it comes later/);
  assert.match(describe(decoder, 1, 1), /hardly attends to/);
  const padded = pictureOf("encoder", ["a", "<pad>"], ["a", "<pad>"], [1, 0, 1, 0], { masked });
  assert.match(describe(padded, 0, 1), /may not attend to “\u2068<pad>\u2069”: the mask closes it/);
});

test("a difference is told as more or less, with its sign", () => {
  const change = pictureOf("encoder", ["a"], ["a", "b", "c"], [0.3, -0.3, 0.001], { signed: true });
  assert.match(describe(change, 0, 0), /attends to “\u2068a\u2069” more than before/);
  assert.match(describe(change, 0, 1), /less than before/);
  assert.match(describe(change, 0, 2), /as much as before/);
  const told = readout(change, { query: 0, key: 1 });
  assert.equal(told.pairs[0].rank, 1);
  assert.match(told.sum, /size of change.*sum to 0\.00/);
  assert.match(
    told.detail,
    /^\(trace\.encoder_attention - other\.encoder_attention\)\[0, 0, 0, 1\] = -0\.3$/,
  );
});

test("a place is a line of Python, of several heads and of merged words too", () => {
  const heads = [
    [0, 1],
    [1, 2],
  ];
  assert.equal(
    placeOf({ ...cross, heads, aggregate: "mean" }, 1, 2),
    "trace.cross_attention[[0, 1], [1, 2]].mean(0)[1, 2]",
  );
  assert.equal(
    placeOf({ ...cross, aggregate: "rollout", layer: 1 }, 1, null),
    "vt.analysis.output_rollout(trace).source[1, 1, :]",
  );
  const partly = { ...cross.entry, attendsBy: "content" };
  assert.equal(
    placeOf({ ...cross, entry: partly }, 1, 2),
    "vt.analysis.without_position_bias(trace).cross_attention[0, 0, 1, 2]",
  );
  const keyAxis = axisOf(["the", "bl", "##ack"], [], [0, 1, 1], { hideSpecial: false, mergeWords: true });
  assert.equal(
    placeOf({ ...cross, keyAxis }, 1, 1),
    "trace.cross_attention[0, 0][[1]][:, [1, 2]].sum(1).mean()",
  );
  assert.equal(placeOf({ ...cross, heads: Array(20).fill([0, 0]), aggregate: "mean" }, 1, 2), "");
});

test("pieces are merged and special tokens hidden, and the weights go with them", () => {
  const tokens = ["[CLS]", "un", "##able", "cats", "[SEP]"];
  const special = [true, false, false, false, true];
  const words = [null, 0, 0, 1, null];
  const both = axisOf(tokens, special, words, { hideSpecial: true, mergeWords: true });
  assert.deepEqual(
    [both.groups, both.names],
    [
      [[1, 2], [3]],
      ["unable", "cats"],
    ],
  );
  assert.deepEqual([...both.at], [-1, 0, 0, 1, -1]);
  const merged = axisOf(tokens, special, words, { hideSpecial: false, mergeWords: true });
  assert.deepEqual(merged.groups, [[0], [1, 2], [3], [4]]);
  assert.ok(axisOf(tokens, special, null, { hideSpecial: false, mergeWords: true }).same);
  assert.deepEqual(axisOf(["<s>"], [true], null, { hideSpecial: true, mergeWords: false }).names, ["<s>"]);
  assert.deepEqual(
    [0, 1, null, 7].map((place) => tokenOf(merged, place)),
    [0, 1, null, null], // 7: of a longer sentence, clicked too late
  );

  const weights = Float32Array.from({ length: 25 }, (_, i) => i);
  // To a word the sum over its pieces, from a word the mean: ((6 + 7) + (11 + 12)) / 2.
  assert.deepEqual([...gather(weights, 5, both, both)], [18, 10.5, 33, 18]);
  assert.equal(gather(weights, 5, plainAxis(tokens), plainAxis(tokens)), weights);
  const masked = new Uint8Array(25).fill(1);
  masked[1 * 5 + 3] = 0; // one open cell of four leaves the merged one open
  assert.deepEqual([...gatherMask(masked, 5, both, both)], [1, 0, 1, 1]);
  assert.equal(gatherMask(null, 5, both, both), null);
});

test("the pieces of two words with the same number apart are not one word", () => {
  const axis = axisOf(["a", "b", "c"], [], [0, 1, 0], { hideSpecial: false, mergeWords: true });
  assert.deepEqual(axis.groups, [[0], [1], [2]]);
});

test("the scale of a difference is the farthest change, rounded up to two digits", () => {
  assert.equal(differenceLimit(Float32Array.from([0, 0.503, -0.25])), 0.51);
  assert.equal(differenceLimit(Float32Array.from([0, -3.14e-6])), 3.2e-6);
  assert.equal(differenceLimit(Float32Array.from([1])), 1);
  assert.equal(differenceLimit(new Float32Array(2)), 0.01);
});

test("what is shown of several heads is said in words", () => {
  const entry = { kind: "cross", heads: 4 };
  const chosen = { layer: 1, head: 2, selected: [], aggregate: "head" };
  const say = (change) => shownInWords(entry, { ...chosen, ...change });
  assert.equal(say({}), "layer 1 · head 2");
  assert.equal(say({ aggregate: "mean" }), "mean of all 4 heads of layer 1");
  assert.equal(
    say({
      aggregate: "mean",
      selected: [
        [1, 0],
        [1, 2],
        [1, 3],
      ],
    }),
    "mean of 3 heads: 1·0, 1·2, 1·3",
  );
  assert.equal(say({ aggregate: "max", selected: [[0, 1]] }), "maximum of 1 head: 0·1");
  assert.equal(say({ aggregate: "rollout" }), "rollout from source words to output, of layers 0 to 1");
  assert.equal(
    shownInWords({ kind: "encoder", heads: 4 }, { ...chosen, layer: 0, aggregate: "rollout" }),
    "rollout of layer 0",
  );
  assert.match(
    say({ aggregate: "mean", selected: Array.from({ length: 20 }, (_, i) => [0, i]) }),
    /0·11 and 8 more$/,
  );
});

test("without its last head a selection is one head again, not the mean of a layer", () => {
  const chosen = { layer: 0, head: 1, selected: [], aggregate: "head" };
  const one = withHead(chosen, [0, 1]); // Space, or Ctrl and a click, on the head on show
  assert.deepEqual(one, { selected: [[0, 1]], aggregate: "mean" });
  assert.deepEqual(withHead({ ...chosen, ...one }, [0, 1]), { selected: [], aggregate: "head" });
  assert.deepEqual(withHead({ ...chosen, ...one, aggregate: "max" }, [0, 1]), {
    selected: [],
    aggregate: "head",
  });
  assert.deepEqual(withHead({ ...chosen, ...one, layer: 1 }, [1, 1]).selected, [
    [0, 1],
    [1, 1],
  ]);
});

test("Escape leads out of several heads and of a layer's mean, and lets go of pinned words", () => {
  const chosen = { selected: [], aggregate: "head", query: null, key: 2 };
  const [oneHead, nothing] = [
    { selected: [], aggregate: "head" },
    { query: null, key: null },
  ];
  assert.deepEqual(escapeChange(chosen), nothing);
  for (const several of [
    { aggregate: "mean" },
    { aggregate: "rollout" },
    { aggregate: "max", selected: [[0, 1]] },
  ]) {
    assert.deepEqual(escapeChange({ ...chosen, ...several }), oneHead);
    assert.deepEqual(escapeChange({ ...chosen, ...several }, true), nothing);
    assert.deepEqual(escapeChange({ ...chosen, ...several, key: null }, true), oneHead);
  }
});

test("heads are added to what is shown, and taken away", () => {
  const chosen = { layer: 0, head: 1, selected: [], aggregate: "head" };
  const first = withHead(chosen, [1, 0]);
  assert.deepEqual(first, {
    selected: [
      [0, 1],
      [1, 0],
    ],
    aggregate: "mean",
  });
  const second = withHead({ ...chosen, ...first, aggregate: "max" }, [0, 1]);
  assert.deepEqual(second, { selected: [[1, 0]], aggregate: "max" });
  assert.deepEqual(withHead({ ...chosen, aggregate: "mean" }, [0, 3]).selected, [[0, 3]]);
  assert.deepEqual(shownHeads({ heads: 2 }, { ...chosen, aggregate: "mean" }), [
    [0, 0],
    [0, 1],
  ]);
  assert.deepEqual(shownHeads({ heads: 2 }, { ...chosen, layer: 1, aggregate: "rollout" }).length, 4);
});

test("a search marks the words that hold it, and goes through them", () => {
  const queries = foundIn(["El", "gato", "gatos"], " GAT");
  assert.deepEqual([...queries], [0, 1, 1]);
  assert.equal(foundIn(["a"], "  "), null);
  const marks = { queries, keys: foundIn(["the", "gate"], "gat") };
  const go = (pinned) => nextFound(marks, pinned);
  assert.deepEqual(go(NONE), { query: 1, key: null, place: 1, of: 3 });
  assert.deepEqual(go({ query: 2, key: null }), { query: null, key: 1, place: 3, of: 3 });
  assert.equal(go({ query: null, key: 1 }).query, 1);
  assert.equal(nextFound({ queries: foundIn(["a"], "z"), keys: foundIn(["b"], "z") }, NONE), null);
});

test("what the pointer is over comes before what is pinned", () => {
  const pinned = { query: 1, key: 2 };
  assert.deepEqual(activeCell(null, pinned), pinned);
  assert.deepEqual(activeCell({ query: 0, key: 0 }, pinned), { query: 0, key: 0 });
  assert.deepEqual(activeCell({ query: null, key: 0 }, pinned), { query: 1, key: 0 });
  assert.deepEqual(activeCell({ query: null, key: 0 }, NONE), { query: null, key: 0 });
});

test("a resting pointer is forgotten where there is nothing beneath it", () => {
  const size = { rows: 2, cols: 3 };
  for (const hover of [
    { query: 1, key: 2 },
    { query: null, key: 2 },
    { query: 1, key: null },
  ]) {
    assert.equal(within(hover, size), hover);
  }
  for (const hover of [null, { query: 2, key: 0 }, { query: 0, key: 3 }, { query: null, key: 3 }]) {
    assert.equal(within(hover, size), null);
  }
});

test("a selection that no longer fits is moved inside", () => {
  const entries = new Map([["encoder", { layers: 1, heads: 2, rows: 2, cols: 2, noRollout: "no" }]]);
  const asked = {
    kind: "cross",
    layer: 3,
    head: 1,
    query: 2,
    key: 1,
    selected: [
      [0, 1],
      [1, 0],
    ],
    aggregate: "rollout",
  };
  assert.deepEqual(fitSelection(entries, asked), {
    kind: "encoder",
    layer: 0,
    head: 1,
    query: null,
    key: 1,
    selected: [[0, 1]],
    aggregate: "head",
  });
});

test("pins are carried along the axes that two kinds share", () => {
  const pins = { query: 1, key: 2 };
  assert.deepEqual(carryPins("cross", "cross", pins), pins);
  assert.deepEqual(carryPins("decoder", "cross", pins), { query: 1, key: null });
  assert.deepEqual(carryPins("encoder", "cross", pins), { query: null, key: 2 });
  assert.deepEqual(carryPins("encoder", "decoder", pins), NONE);
});

const KINDS = [
  { kind: "encoder", layers: 2, heads: 4 },
  { kind: "cross", layers: 3, heads: 2 },
];

test("every thumbnail is found at its place, and nothing between sections", () => {
  const cases = [
    { kinds: KINDS, width: 260 },
    { kinds: KINDS, width: 560 },
    { kinds: [{ kind: "encoder", layers: 24, heads: 16 }], width: 260 },
  ];
  for (const { kinds, width } of cases) {
    const layout = headGridLayout(kinds, width, 560);
    assert.ok(layout.width <= width);
    for (const { kind, layers, heads, left, top } of layout.sections) {
      for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < heads; head++) {
          const [x, y] = [left + (head + 0.4) * layout.pitch, top + (layer + 0.4) * layout.pitch];
          assert.deepEqual(headAt(layout, x, y), { kind, layer, head });
          assert.ok(x < layout.width && y < layout.height);
        }
      }
      assert.equal(headAt(layout, left + 2, top - 4), null);
    }
  }
});

test("arrow keys go through the layers of all kinds and stop at the ends", () => {
  const go = (kind, layer, head, key) => Object.values(moveHead(KINDS, { kind, layer, head }, key));
  assert.deepEqual(go("encoder", 0, 0, "ArrowRight"), ["encoder", 0, 1]);
  assert.deepEqual(go("encoder", 1, 3, "ArrowDown"), ["cross", 0, 1]);
  assert.deepEqual(go("cross", 0, 1, "ArrowUp"), ["encoder", 1, 1]);
  assert.deepEqual(go("encoder", 0, 0, "ArrowUp"), ["encoder", 0, 0]);
  assert.deepEqual(go("encoder", 0, 0, "ArrowLeft"), ["encoder", 0, 0]);
  assert.deepEqual(go("cross", 2, 1, "ArrowDown"), ["cross", 2, 1]);
});

test("heads are sorted by entropy and by label, and found where they then stand", () => {
  const entry = {
    kind: "encoder",
    layers: 2,
    heads: 2,
    entropies: Float32Array.from([0.9, 0.1, 0.5, 0.3]),
    labels: [
      [null, { name: "broad", evidence: 0.95 }],
      [
        { name: "same token", evidence: 0.7 },
        { name: "broad", evidence: 0.99 },
      ],
    ],
  };
  assert.deepEqual(sortedHeads(entry, "layer"), [
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ]);
  assert.deepEqual(sortedHeads(entry, "label"), [
    [1, 1],
    [0, 1],
    [1, 0],
    [0, 0],
  ]);
  const slots = sortedHeads(entry, "entropy");
  assert.deepEqual(slots, [
    [0, 1],
    [1, 1],
    [1, 0],
    [0, 0],
  ]);
  const layout = headGridLayout([{ ...entry, slots }], 260, 560);
  const [{ left, top }] = layout.sections;
  assert.deepEqual(headAt(layout, left + layout.pitch + 3, top + 3), { kind: "encoder", layer: 1, head: 1 });
  assert.deepEqual(moveHead([{ ...entry, slots }], { kind: "encoder", layer: 1, head: 1 }, "ArrowDown"), {
    kind: "encoder",
    layer: 0,
    head: 0,
  });
  assert.deepEqual(sortedHeads({ ...entry, entropies: null }, "entropy")[0], [0, 0]);
});

test("a head's label is told with its evidence, and nothing is claimed without", () => {
  const entry = {
    kind: "encoder",
    heads: 2,
    entropies: Float32Array.from([0.25, 0.5]),
    labels: [[{ name: "previous token", evidence: 0.9, sentence: "It puts 0.90 there." }, null]],
  };
  assert.match(
    headInWords(entry, { layer: 0, head: 0 }),
    /entropy 0\.25.*previous token: It puts 0\.90 there\.$/,
  );
  assert.match(headInWords(entry, { layer: 0, head: 1 }), /no clear pattern/);
  assert.equal(
    headInWords({ kind: "cross", heads: 1 }, { layer: 0, head: 0 }),
    "Head 0·0 of cross-attention",
  );
});

test("the matrix and its labels stay inside their room", () => {
  for (const [rows, cols] of [
    [5, 5],
    [1, 12],
    [12, 1],
    [40, 40],
    [128, 128],
    [512, 300],
    [1024, 1024],
  ]) {
    for (const [rowLabel, colLabel] of [
      [40, 40],
      [400, 400],
      [8, 200],
    ]) {
      for (const [width, zoom] of [
        [320, 1],
        [480, 1],
        [640, 1],
        [480, 3],
        [480, 1000],
      ]) {
        const view = { zoom, row: rows * 0.9, col: cols * 0.9 };
        const layout = matrixLayout({ rows, cols, width, maxHeight: 420, rowLabel, colLabel, view });
        assert.ok(layout.cell > 0 && layout.cell <= 64);
        assert.ok(layout.width <= width, `${layout.width} > ${width}`);
        assert.ok(layout.top + layout.boxHeight <= 420.5);
        assert.ok(layout.x >= 0 && layout.x + layout.boxWidth <= cols * layout.cell + 1);
        assert.ok(layout.y >= 0 && layout.y + layout.boxHeight <= rows * layout.cell + 1);
        const reach = layout.flat ? 0 : layout.colRoom * Math.SQRT1_2;
        assert.ok(layout.left + layout.boxWidth + reach <= layout.width);
        assert.ok(layout.flat ? colLabel < layout.whole : layout.top > reach);
        assert.ok(layout.rowStep * layout.cell >= 14 && layout.colStep * layout.cell >= 14);
      }
    }
  }
});

test("a point is in the cell that is drawn there, zoomed or not", () => {
  const size = { rows: 4, cols: 6, width: 480, maxHeight: 420, rowLabel: 50, colLabel: 50 };
  const layout = matrixLayout(size);
  const at = (query, key) =>
    cellAt(layout, layout.left + (key + 0.5) * layout.cell, layout.top + (query + 0.5) * layout.cell);
  assert.deepEqual(at(0, 0), { query: 0, key: 0 });
  assert.deepEqual(at(3, 5), { query: 3, key: 5 });
  assert.equal(at(4, 0), null);
  assert.equal(at(0, -1), null);
});

test("zoom keeps what is under the pointer there, and panning and revealing move the window", () => {
  const size = { rows: 256, cols: 256, width: 480, maxHeight: 420, rowLabel: 50, colLabel: 50 };
  const whole = matrixLayout(size);
  const point = [whole.left + 100, whole.top + 150];
  const near = matrixLayout({ ...size, view: zoomAround(whole, 8, ...point) });
  assert.deepEqual(cellAt(near, ...point), cellAt(whole, ...point));
  assert.ok(near.cell >= 8 * whole.cell * 0.9);
  const panned = matrixLayout({ ...size, view: panBy(near, -30, 10) });
  assert.deepEqual([panned.x - near.x, panned.y - near.y], [30, -10]);
  const there = matrixLayout({ ...size, view: reveal(near, { query: 250, key: 3 }) });
  const seen = (place, from, box) => place * there.cell >= from && (place + 1) * there.cell <= from + box;
  assert.ok(seen(250, there.y, there.boxHeight) && seen(3, there.x, there.boxWidth));
  assert.equal(matrixLayout({ ...size, view: zoomAround(near, 0) }).zoom, 1);
});

test("arrow keys move the cell and stop at the edges", () => {
  assert.deepEqual(moveCell(NONE, 3, 3, "ArrowDown"), { query: 0, key: 0 });
  assert.deepEqual(moveCell({ query: 1, key: null }, 3, 3, "ArrowDown"), { query: 2, key: 0 });
  assert.deepEqual(moveCell({ query: 2, key: 1 }, 3, 3, "ArrowDown"), { query: 2, key: 1 });
  assert.deepEqual(moveCell({ query: 2, key: 1 }, 3, 3, "ArrowLeft"), { query: 2, key: 0 });
  assert.deepEqual(moveCell({ query: 0, key: 0 }, 3, 3, "ArrowUp"), { query: 0, key: 0 });
});

const listed = (lines) =>
  Array.from({ length: lines.count }, (_, i) => [lines.row[i], lines.col[i], lines.value[i]]);

test("lines are those of the word started from, else all that can be seen", () => {
  const links = [{ shown: cross, flip: false }];
  const linesOf = (focus) => listed(pathsOf(links, [2, 3], focus, 0).lines[0]);
  assert.deepEqual(linesOf({ column: 0, index: 0 }), [
    [0, 0, 0.75],
    [0, 1, 0.25],
  ]);
  assert.deepEqual(linesOf({ column: 1, index: 0 }), [
    [0, 0, 0.75],
    [1, 0, 0.0625],
  ]);
  assert.equal(linesOf(null).length, 5);
  assert.deepEqual(listed(pathsOf(links, [2, 3], null, 0.7).lines[0]).length, 2);
});

test("of too many lines the strongest are kept, and all are counted", () => {
  const weights = Float32Array.from({ length: 100 }, (_, i) => (i + 1) / 100);
  const lines = strongLines({ weights, rows: 10, cols: 10, limit: null }, { least: 0.015, most: 20 });
  assert.equal(lines.all, 99);
  assert.ok(lines.count <= 20 && lines.count >= 15);
  assert.ok(Math.min(...lines.value.subarray(0, lines.count)) > 0.79);
});

test("paths run through all linked columns, as strong as the product of their weights", () => {
  const encoder = pictureOf("encoder", ["s0", "s1"], ["s0", "s1"], [0.25, 0.75, 0.5, 0.5]);
  const between = pictureOf("cross", ["t0", "t1"], ["s0", "s1"], [0.1, 0.9, 1, 0]);
  const decoder = pictureOf("decoder", ["t0", "t1"], ["r0", "r1"], [1, 0, 0.3, 0.7]);
  const links = [
    { shown: encoder, flip: true },
    { shown: between, flip: true },
    { shown: decoder, flip: false },
  ];
  const close = (found, wanted) =>
    found.forEach((value, i) => {
      assert.ok(Math.abs(value - wanted[i]) < 1e-6, `${found} ${wanted}`);
    });
  const { reach, lines } = pathsOf(links, [2, 2, 2, 2], { column: 2, index: 0 }, 0);
  close(reach[1], [0.1, 0.9]);
  close(reach[0], [0.45, 0.45]); // over s1: 0.9 · 0.5, both ways; over s0 only 0.1 · 0.75
  close(reach[3], [1, 0]);
  assert.equal(lines[0].count, 4);
  close(listed(lines[2])[0], [0, 0, 1]);
  close(pathsOf(links, [2, 2, 2, 2], { column: 0, index: 1 }, 0).reach[3], [0.45, 0.75 * 0.7]);
  close(spread(between, Float32Array.from([0, 1]), true), [1, 0]);
  const changed = links.map(({ shown, flip }) => ({ shown: { ...shown, limit: 1 }, flip }));
  const { reach: near } = pathsOf(changed, [2, 2, 2, 2], { column: 2, index: 0 }, 0);
  assert.deepEqual([near[0], near[1] !== null, near[3] !== null], [null, true, true]); // changes do not multiply
});

test("the linked columns are those of the kinds at hand, and a place in them is a pin", () => {
  assert.equal(linkedColumns(["encoder"]), null);
  assert.equal(linkedColumns(["cross"]), null);
  assert.equal(linkedColumns(["decoder", "cross"]).columns.length, 3);
  const plan = linkedColumns(["encoder", "decoder", "cross"]);
  for (let column = 0; column < 4; column++) {
    const { kind, query, key } = pinOf(plan, { column, index: 1 });
    assert.deepEqual(placesOf(plan, kind, { query, key }), [{ column, index: 1 }]);
  }
  assert.deepEqual(placesOf(plan, "encoder", { query: 2, key: 0 }), [
    { column: 1, index: 2 },
    { column: 0, index: 0 },
  ]);
  assert.deepEqual(placesOf(plan, "decoder", { query: 2, key: null }), [{ column: 2, index: 2 }]);
  assert.deepEqual(placesOf(null, "cross", { query: null, key: 2 }), [{ column: 1, index: 2 }]);
  assert.equal(
    linkedHeading(plan, () => "0·1"),
    "Encoder 0·1 → cross 0·1 → decoder 0·1",
  );
  const told = linkedSentence(plan, [["a"], ["b"], ["c"], ["d"]], [[0.5], [0.75], [1], [0]], {
    column: 2,
    index: 0,
  });
  assert.equal(
    told,
    "Strongest paths, each the product of its weights: source word “\u2068a\u2069” 0.50; as the encoder read it “\u2068b\u2069” 0.75.",
  );
});

test("arrow keys go along a column and to the next, and stop at the ends", () => {
  const go = (place, key) => movePlace([3, 2], place, key);
  assert.deepEqual(go(undefined, "ArrowDown"), { column: 1, index: 0 });
  assert.deepEqual(go({ column: 0, index: 2 }, "ArrowDown"), { column: 0, index: 2 });
  assert.deepEqual(go({ column: 0, index: 2 }, "ArrowRight"), { column: 1, index: 1 });
  assert.equal(go({ column: 1, index: 0 }, "ArrowRight"), null);
});

test("a word is found in its column", () => {
  const layout = columnsLayout({ counts: [2, 3], width: 380, maxHeight: 400 });
  const y = layout.pitch * 1.5;
  assert.deepEqual(tokenAt(layout, layout.column - 5, y), { column: 0, index: 1 });
  assert.deepEqual(tokenAt(layout, layout.xs[1] + 5, y), { column: 1, index: 1 });
  assert.equal(tokenAt(layout, layout.column + layout.gap / 2, y), null);
  assert.equal(tokenAt(layout, layout.column - 5, layout.pitch * 2.5), null);
  for (const counts of [
    [5, 5, 5],
    [5, 5, 5, 5],
  ]) {
    const { xs, column, width } = columnsLayout({ counts, width: 640, maxHeight: 400 });
    assert.ok(xs.at(-1) + column <= width && column > 80);
  }
});

test("of a long text only what is in view is drawn, and every line that crosses it", () => {
  const layout = columnsLayout({ counts: [100, 50], width: 380, maxHeight: 400 });
  assert.equal(layout.shown, 400);
  assert.equal(layout.height, 100 * layout.pitch);
  const top = 40 * layout.pitch;
  const [first, end] = tokensInView(layout, top, 100);
  assert.deepEqual([first, end], [40, 40 + 400 / layout.pitch]);
  assert.deepEqual(tokensInView(layout, top + 1, 100), [40, end + 1]); // halves of words count
  assert.deepEqual(tokensInView(layout, 90 * layout.pitch, 50), [50, 50]);
  assert.ok(lineInView(layout, top, 0, 99)); // neither end is in view, its middle is
  assert.ok(lineInView(layout, top, 40, 10));
  assert.ok(!lineInView(layout, top, 39, 10));
  assert.ok(!lineInView(layout, top, end, 99));
});

test("the page is arranged to fit its width", () => {
  const widths = [320, 519, 520, 564, 699, 700, 760, 820, 900, 1240, 1800];
  for (const width of widths) {
    for (const cols of [4, 13, 128]) {
      for (const layers of [2, 12]) {
        for (const linked of [false, true]) {
          const room = partWidths(width, { cols, layers, linked });
          const beside = room.strip ? 0 : room.heads + 28;
          const columns = linked ? room.words : room.head + 28 + room.words;
          if (room.name === "wide") assert.ok(beside + columns + (room.aside ? 238 : 0) <= width);
          assert.ok(Math.max(room.heads, room.head, room.words) <= width);
          assert.ok(room.strip || layers > 6);
        }
      }
    }
  }
  const arranged = (width, cols, layers = 2) => {
    const { name, strip, aside } = partWidths(width, { cols, layers, linked: false });
    return `${name}${strip ? " strip" : ""}${aside ? " aside" : ""}`;
  };
  assert.equal(arranged(844, 5), "wide strip aside");
  assert.equal(arranged(984, 13), "wide strip aside");
  assert.equal(arranged(844, 13), "wide strip");
  assert.equal(arranged(564, 5), "wide strip");
  assert.equal(arranged(844, 12, 12), "wide");
  assert.equal(arranged(1240, 256), "wide strip aside");
  assert.equal(arranged(350, 5), "narrow strip");
});

test("a decoder's row names what was read and what is written", () => {
  const axis = axisOf(["ga", "##to", "<eos>"], [], [0, 0, null], { hideSpecial: false, mergeWords: true });
  assert.deepEqual(rowNames(["▁el", "el", "gato"], axis), ["elel → gato", "gato → <eos>"]);
  assert.equal(rowNames(null, axis), axis.names);
  assert.equal(
    marksExplained(["gato", "<eos>", "<sos>"]),
    "<sos>: start of sequence · <eos>: end of sequence.",
  );
  assert.equal(marksExplained(["gato"]), "");
  assert.equal(marksExplained(["la", "[?]"]), "[?]: the gap to fill.");
});

test("what the picture leaves out is said, and nothing else", () => {
  const quiet = { threshold: 0, mergeWords: false, hideSpecial: false, lines: [{ count: 3, all: 3 }] };
  const explained = "<sos>: start of sequence.";
  assert.deepEqual(notes(cross, quiet), [explained]);
  const told = notes(cross, { ...quiet, threshold: 0.1, lines: [{ count: 600, all: 900 }, null] });
  assert.deepEqual(told, [
    explained,
    "Weights below 0.10 are not drawn.",
    "The strongest 600 of 900 lines are drawn.",
  ]);
  assert.match(notes({ ...cross, masked: Uint8Array.from([0, 1]) }, quiet)[1], /Hatched/);
  const keyAxis = axisOf(["<s>", "a", "b"], [true], [null, 0, 0], { hideSpecial: true, mergeWords: true });
  assert.equal(notes({ ...cross, keyAxis }, { ...quiet, mergeWords: true, hideSpecial: true }).length, 3);
});

test("the table holds all of a small head, and of a large one what is pinned or strongest", () => {
  const small = tableOf(cross, "A head", NONE);
  assert.deepEqual(small.heads, ["query", "the", "black", "cat"]);
  assert.deepEqual(small.rows[1], ["el → gato", "0.06", "0.03", "0.91"]);
  const words = Array.from({ length: 30 }, (_, i) => `w${i}`);
  const weights = Array.from({ length: 900 }, (_, cell) => cell / 1000);
  const large = pictureOf("encoder", words, words, weights);
  assert.deepEqual(tableOf(large, "A head", { query: 1, key: null }).rows[29], ["w29", "0.059", "1"]);
  assert.deepEqual(tableOf(large, "A head", { query: null, key: 2 }).rows[0], ["w0", "0.002", "28"]);
  const strongest = tableOf(large, "A head", NONE);
  assert.equal(strongest.rows.length, 50);
  assert.deepEqual(strongest.rows[0], ["w29", "w29", "0.899", "1"]);
  assert.match(strongest.caption, /strongest 50 of 900 weights/);
  assert.deepEqual(strongestCells(Float32Array.from([0.5, -0.9, 0.5, 0.5]), 2), [1, 0]);
});

test("text sizes go up and down and stop at the ends", () => {
  assert.deepEqual(
    [nextTextSize(1, 1), nextTextSize(1, -1), nextTextSize(2.5, 1), nextTextSize(0.8, -1)],
    [1.25, 0.8, 2.5, 0.8],
  );
});

test("the letters on the small pictures are explained, each once", () => {
  const [previous, broad] = [{ name: "previous token" }, { name: "broad" }];
  const entries = new Map([
    [
      "encoder",
      {
        labels: [
          [previous, null],
          [broad, previous],
        ],
      },
    ],
    ["cross", { labels: null }],
  ]);
  assert.equal(marksInWords(entries), "B broad · P previous token");
  assert.equal(marksInWords(new Map([["cross", { labels: null }]])), "");
});
