// The explorer's pure functions: what is shown, what is said, and which head or word a key or a point
// means. tests/test_explorer_data.py holds what a page makes of a trace to Python's.

import assert from "node:assert/strict";
import * as grid from "../../viz_transformer/widgets/base/head_grid.ts";
import * as displayed from "../../viz_transformer/widgets/explorer/displayed_head.ts";
import * as linked from "../../viz_transformer/widgets/explorer/linked_columns.ts";
import * as columns from "../../viz_transformer/widgets/explorer/columns.ts";
import * as told from "../../viz_transformer/widgets/explorer/readout.ts";
import * as selection from "../../viz_transformer/widgets/explorer/selection.ts";
import { test } from "node:test";
import { marksExplained, plainText } from "../../viz_transformer/widgets/base/text.ts";
import { pathsOf, spread, strongLines } from "../../viz_transformer/widgets/explorer/attention_paths.ts";
import { createMemo } from "../../viz_transformer/widgets/explorer/caches.ts";
import { scaled } from "../../viz_transformer/widgets/explorer/colour_scale.ts";
import { strongestCells, tableOf } from "../../viz_transformer/widgets/explorer/data_table.ts";
import { labelHeads } from "../../viz_transformer/widgets/explorer/head_labels.ts";
import { differenceLimit, measureTraces } from "../../viz_transformer/widgets/explorer/measured_trace.ts";
import { twoDecimals } from "../../viz_transformer/widgets/explorer/measures.ts";
import { csvOf } from "../../viz_transformer/widgets/explorer/saving.ts";
import {
  activeInWords,
  headInWords,
  lineBelow,
  notes,
} from "../../viz_transformer/widgets/explorer/sentences.ts";
import { assertNear, assertTable, floats, withoutMarks } from "./helpers.mjs";

const NONE = { query: null, key: null };
const MERGED = { hideSpecial: false, mergeWords: true };
const plainAxis = (names) => displayed.axisOf(names, [], null, { hideSpecial: false, mergeWords: false });

/** A picture of one head, from its weights, row by row. */
function pictureOf(kind, queries, keys, weights, more = {}) {
  const { reads = null, signed = false, masked = null, ...rest } = /** @type {any} */ (more);
  return {
    entry: { kind, reads, signed, dtype: "float32", heads: 1 },
    heads: [[0, 0]],
    aggregate: "head",
    layer: 0,
    queries,
    rowNames: displayed.rowNames(reads, plainAxis(queries)),
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

const CROSS_WEIGHTS = [0.75, 0.25, 0, 0.0625, 0.03125, 0.90625];
const cross = pictureOf("cross", ["el", "gato"], ["the", "black", "cat"], CROSS_WEIGHTS, {
  reads: ["<sos>", "el"],
});
const said = (shown, query, key) => withoutMarks(plainText(activeInWords(shown, { query, key })));

test("a cell is told with both words, its rank, a sentence, its row's sum and its place", () => {
  assert.equal(said(cross, 1, 2), "Writing gato, this head looks at cat: 91%");
  assert.deepEqual(told.readout(cross, { query: 1, key: 2 }), {
    pairs: [{ query: 1, key: 2, weight: 0.90625, masked: false, rank: 1, of: 3 }],
    detail: "trace.cross_attention[0, 0, 1, 2] = 0.90625",
    sum: "Its row sums to 1.00.",
  });
  assert.deepEqual(told.readout(cross, NONE), { pairs: [], detail: "", sum: "" });
  assert.equal(activeInWords(cross, NONE), null);
});

test("a query is told with its strongest keys, a key with its strongest queries", () => {
  const pairs = (place) =>
    told
      .readout(cross, place)
      .pairs.map(
        ({ query, key, weight, rank }) => `${cross.queries[query]}>${cross.keys[key]} ${weight} ${rank}`,
      )
      .join(", ");
  assert.equal(pairs({ query: 0, key: null }), "el>the 0.75 1, el>black 0.25 2, el>cat 0 3");
  assert.equal(told.readout(cross, { query: 0, key: null }).detail, "trace.cross_attention[0, 0, 0, :]");
  assert.equal(pairs({ query: null, key: 0 }), "el>the 0.75 1, gato>the 0.0625 2");
});

test("a rank counts what may be looked at, and equals share the better rank", () => {
  const masked = Uint8Array.from([0, 0, 1, 0, 0, 0]);
  const equal = pictureOf("decoder", ["a", "b"], ["x", "y", "z"], [0.5, 0.5, 0, 0.2, 0.4, 0.4], { masked });
  assert.deepEqual(told.rankOf(equal, 0, 1), { rank: 1, of: 2 });
  assert.deepEqual(told.rankOf(equal, 1, 0), { rank: 3, of: 3 });
  assert.deepEqual(told.rankOf(equal, 1, 2), { rank: 1, of: 3 });
  const strongest = (count) => told.strongest(count, 3, (index) => [3, -9, 4, 9, 1][index]).join();
  assert.deepEqual([strongest(5), strongest(2)], ["1,3,2", "1,0"]);
});

test("the headline does not call a weak weight looking, nor what the mask hides", () => {
  const masked = Uint8Array.from([0, 1, 0, 0]);
  const encoder = pictureOf("encoder", ["a", "b"], ["a", "b"], [0.4, 0.35, 1, 0]);
  const several = { ...encoder, aggregate: "mean", heads: Array.of([0, 0], [0, 1]) };
  const decoder = pictureOf("decoder", ["el", "gato"], ["<sos>", "el"], [1, 0, 0.5, 0], { masked });
  const padded = pictureOf("encoder", ["a", "<pad>"], ["a", "<pad>"], [1, 0, 1, 0], { masked });
  assertTable(said, [
    [cross, 1, 1, "Writing gato, this head hardly looks at black: 3.1%"],
    [cross, 0, null, "Writing el, this head looks at the: 75%"],
    [cross, null, 2, "cat gets most from gato: 91%"],
    [encoder, 0, null, "Reading a, this head looks most at a: 40%"],
    [several, 0, 1, "Reading a, these 2 heads look at b: 35%"],
    [{ ...encoder, aggregate: "rollout" }, 1, null, "Reading b, its vector is made of a: 100%"],
    [decoder, 0, 1, "el may not attend to el: it comes later"],
    [padded, 0, 1, "a may not attend to <pad>: the mask hides it"],
  ]);
});

test("the line below a rollout that ends at the first token says what is in the rest", () => {
  const words = ["<s>", "a", "b"];
  const below = (weights, changes = {}, scale = "rest", mode = "matrix") => {
    const shown = { ...pictureOf("decoder", words, words, weights), aggregate: "rollout", ...changes };
    const lit = { kind: "decoder", query: 2, key: null };
    const seen = { mode, options: { colourScale: scale } };
    const snapshot = { ...seen, lit, entry: {}, pictureOf: () => shown, entries: new Map() };
    const pieces = lineBelow(/** @type {any} */ (snapshot));
    return withoutMarks(plainText(pieces));
  };
  const nearly = [1, 0, 0, 1, 0, 0, 0.96, 0.01, 0.03];
  assert.equal(below(nearly), "Without the first token, b 75%, a 25% of the rest");
  assert.match(below(nearly, {}, "linear"), /^Beside the first token, b 75%.*leave out of the colours$/);
  assert.equal(below(nearly, {}, "rest", "lines"), "Beside the first token, b 75%, a 25% of the rest");
  assert.match(below(nearly, { aggregate: "head" }), /^Point at/);
  assert.match(below([1, 0, 0, 1, 0, 0, 0.6, 0.1, 0.3]), /^Point at/);
});

test("before a query is chosen, the one with the strongest weight on another word is shown", () => {
  const special = { queries: [true, false, false], keys: [true, false, false] };
  const weights = [0, 1, 0, 0.9, 0.1, 0, 0, 0.3, 0.7];
  const picture = pictureOf("encoder", ["[CLS]", "a", "b"], ["[CLS]", "a", "b"], weights);
  const marked = { ...picture, entry: { ...picture.entry, special } };
  assert.equal(told.restingQuery(marked), 2); // neither the mark's row, nor its column, nor a word itself
  assert.equal(told.restingQuery(picture), 0);
  assert.equal(told.restingQuery({ ...picture, weights: null }), null);
});

test("colours stand on each row's own scale, or on a logarithmic one, and the numbers stay", () => {
  const picture = { ...pictureOf("encoder", ["a", "b"], ["a", "b"], [0.5, 0.25, 0.01, 0.001]), name: "one" };
  const coloursOf = (scale, least = 0) => Array.from(scaled(picture, scale, least, createMemo()).weights);
  assert.deepEqual(coloursOf("linear"), Array.from(picture.weights));
  assert.deepEqual(coloursOf("row").slice(0, 2), [1, 0.5]);
  assertNear(coloursOf("row")[3], 0.1, 1e-6);
  assertNear(coloursOf("log")[2], 1 / 3, 1e-6);
  assertNear(coloursOf("log")[3], 0, 1e-6);
  assert.deepEqual(coloursOf("row", 0.3), [1, 0, 0, 0]);
  assert.deepEqual(coloursOf("rest"), [0, 1, 0, 1]); // the first token is left out
  const quotes = { ...picture, keys: ['say "a"', "b"] };
  assert.equal(csvOf({ shown: quotes }).split("\r\n")[0], '"","say ""a""","b"');
  assert.match(csvOf({ shown: quotes }), /\r\n"a",0\.5,0\.25\r\n/);
});

test("a difference is told as more or less, with its sign", () => {
  const change = pictureOf("encoder", ["a"], ["a", "b", "c"], [0.3, -0.3, 0.001], { signed: true });
  assert.equal(said(change, 0, 0), "Reading a, it attends to a more than before: +0.30");
  assert.match(said(change, 0, 1), /less than before/);
  assert.match(said(change, 0, 2), /as much as before/);
  const { pairs, sum, detail } = told.readout(change, { query: 0, key: 1 });
  assert.equal(pairs[0].rank, 1);
  assert.match(sum, /size of change.*sum to 0\.00/);
  assert.equal(detail, "(trace.encoder_attention - other.encoder_attention)[0, 0, 0, 1] = -0.3");
  const limits = [[0, 0.503, -0.25], [0, -3.14e-6], [1], [0, 0]]; // rounded up to two digits
  assert.equal(
    limits.map((each) => differenceLimit(Float32Array.from(each))).join(),
    "0.51,0.0000032,1,0.01",
  );
});

test("a weight that is not normalised is told as a number, and as no change", () => {
  const given = ["encoder", ["a"], ["a", "b"], [2.5, -3]];
  const entry = { kind: "encoder", signed: true, unnormalised: true, least: -3, dtype: "float32", heads: 1 };
  const picture = pictureOf(...given, { signed: true, entry, limit: 3 });
  assertTable(
    (key) => said(picture, 0, key),
    [
      [0, "Reading a, it gives a the weight +2.50"],
      [1, "Reading a, it gives b the weight −3.00"],
    ],
  );
  const { pairs, sum, detail } = told.readout(picture, { query: 0, key: null });
  assert.deepEqual([pairs[0].key, pairs[0].weight], [1, -3]);
  assert.equal(sum, "Ranked by size. The weights in its row sum to −0.50.");
  assert.equal(detail, "trace.encoder_attention[0, 0, 0, :]");
  assert.equal(said(picture, null, 1), "b is given most by a: −3.00");
  const quiet = { threshold: 0.5, mergeWords: false, hideSpecial: false, lines: [] };
  const notesOf = (least) => notes({ ...picture, entry: { ...entry, least } }, quiet);
  const left = "Weights below 0.50 of the scale are not drawn.";
  assert.deepEqual(notesOf(-3), ["Green: above 0. Brown: below 0.", left]);
  assert.deepEqual(notesOf(0), ["Green: above 0.", left]);
});

test("a part of a model has no rollout, and says why", () => {
  const words = { targetTokens: [], outputTokens: null, sourceWords: null, targetWords: null };
  const attention = { encoder: { shape: [1, 1, 2, 2], weights: floats(1, 0, 0.5, 0.5) } };
  const trace = { ...words, sourceTokens: ["a", "b"], attention };
  const lackingPart = { encoder: "capture it without layers=" };
  const [[whole], [part]] = [measureTraces([trace]), measureTraces([trace], { lackingPart })];
  assert.deepEqual([whole.noRollout, part.noRollout], ["", lackingPart.encoder]);
  assert.deepEqual([Array.from(whole.rollouts()), part.rollouts], [[1, 0, 0.25, 0.75], null]);
});

test("a place is a line of Python, of parts of the scores and of a rollout too", () => {
  const partly = { entry: { ...cross.entry, attendsBy: "content" } };
  assertTable(
    (changes, ...cell) => told.placeOf({ ...cross, ...changes }, .../** @type {[any, any]} */ (cell)),
    [
      [{ aggregate: "rollout", layer: 1 }, 1, null, "vt.analysis.output_rollout(trace).source[1, 1, :]"],
      [partly, 1, 2, "vt.analysis.without_position_bias(trace).cross_attention[0, 0, 1, 2]"],
      [{ heads: Array(20).fill([0, 0]), aggregate: "mean" }, 1, 2, ""],
    ],
  );
});

test("pieces are merged and special tokens hidden, and the mask goes with them", () => {
  const tokens = ["[CLS]", "un", "##able", "cats", "[SEP]"];
  const special = [true, false, false, false, true];
  const words = [null, 0, 0, 1, null];
  const both = displayed.axisOf(tokens, special, words, { hideSpecial: true, mergeWords: true });
  assert.deepEqual(both.names, ["unable", "cats"]);
  assert.deepEqual([...both.at], [-1, 0, 0, 1, -1]);
  const merged = displayed.axisOf(tokens, special, words, MERGED);
  assert.deepEqual(merged.groups, [[0], [1, 2], [3], [4]]);
  assert.ok(displayed.axisOf(tokens, special, null, MERGED).same);
  const alone = displayed.axisOf(["<s>"], [true], null, { hideSpecial: true, mergeWords: false });
  assert.deepEqual(alone.names, ["<s>"]);
  assert.deepEqual(displayed.axisOf(["a", "b", "c"], [], [0, 1, 0], MERGED).groups, [[0], [1], [2]]);
  const places = [0, 1, null, 7].map((place) => displayed.tokenOf(merged, place));
  assert.deepEqual(places, [0, 1, null, null]); // 7: of a longer sentence, clicked too late
  const masked = new Uint8Array(25).fill(1);
  masked[1 * 5 + 3] = 0; // one open cell of four leaves the merged one open
  assert.deepEqual([...displayed.gatherMask(masked, 5, both, both)], [1, 0, 1, 1]);
  assert.equal(displayed.gatherMask(null, 5, both, both), null);
  const ends = displayed.axisOf(["ga", "##to", "<eos>"], [], [0, 0, null], MERGED);
  assert.deepEqual(displayed.rowNames(["▁el", "el", "gato"], ends), ["elel → gato", "gato → <eos>"]);
});

const ONE_HEAD = { layer: 1, head: 2, selected: [], aggregate: "head" };

test("what is shown of several heads is said in words", () => {
  const many = Array.from({ length: 20 }, (_, i) => [0, i]);
  assertTable(
    (kind, change) => selection.shownInWords({ kind, heads: 4 }, { ...ONE_HEAD, ...change }),
    [
      ["cross", {}, "layer 1 · head 2"],
      ["cross", { aggregate: "mean" }, "mean of all 4 heads of layer 1"],
      ["cross", { aggregate: "max", selected: [[0, 1]] }, "maximum of 1 head: 0·1"],
      ["cross", { aggregate: "rollout" }, "rollout from source words to output, of layers 0 to 1"],
      ["encoder", { layer: 0, aggregate: "rollout" }, "rollout of layer 0"],
      ["cross", { aggregate: "mean", selected: many }, /0·11 and 8 more$/],
    ],
  );
});

test("heads are added to what is shown and taken away, and without the last it is one head again", () => {
  const [first, second] = [Array.of(0, 1), Array.of(1, 0)];
  assertTable(
    (selected, aggregate, head) => selection.withHead({ layer: 0, head: 1, selected, aggregate }, head),
    [
      [[], "head", first, { selected: [first], aggregate: "mean" }],
      [[], "head", second, { selected: [first, second], aggregate: "mean" }],
      [[first], "max", first, { selected: [], aggregate: "head" }],
      [[first, second], "max", first, { selected: [second], aggregate: "max" }],
      [[], "mean", second, { selected: [second], aggregate: "mean" }],
    ],
  );
  const shown = (change) => selection.shownHeads({ heads: 2 }, { ...ONE_HEAD, ...change });
  assert.equal(shown({ layer: 0, aggregate: "mean" }).join(" "), "0,0 0,1");
  assert.equal(shown({ aggregate: "rollout" }).length, 4);
});

test("Escape leads out of several heads and of a layer's mean, and lets go of pinned words", () => {
  const chosen = { selected: [], aggregate: "head", query: null, key: 2 };
  const oneHead = { selected: [], aggregate: "head" };
  assert.deepEqual(selection.escapeChange(chosen), NONE);
  for (const several of [{ aggregate: "rollout" }, { aggregate: "max", selected: [[0, 1]] }]) {
    assert.deepEqual(selection.escapeChange({ ...chosen, ...several }), oneHead);
    assert.deepEqual(selection.escapeChange({ ...chosen, ...several }, true), NONE);
    assert.deepEqual(selection.escapeChange({ ...chosen, ...several, key: null }, true), oneHead);
  }
});

test("what the pointer is over comes before what is pinned, where there is something beneath it", () => {
  const pinned = { query: 1, key: 2 };
  assertTable(selection.activeCell, [
    [null, pinned, pinned],
    [{ query: 0, key: 0 }, pinned, { query: 0, key: 0 }],
    [{ query: null, key: 0 }, pinned, { query: 1, key: 0 }],
    [{ query: null, key: 0 }, NONE, { query: null, key: 0 }],
  ]);
  const isWithin = (query, key) => selection.within({ query, key }, { rows: 2, cols: 3 }) !== null;
  assertTable(isWithin, [
    [1, 2, true],
    [null, 2, true],
    [2, 0, false],
    [0, 3, false],
    [null, 3, false],
  ]);
  assert.equal(selection.within(null, { rows: 2, cols: 3 }), null);
});

test("a selection that no longer fits is moved inside, and pins stay on the axes that two kinds share", () => {
  const entries = new Map([["encoder", { layers: 1, heads: 2, rows: 2, cols: 2, noRollout: "no" }]]);
  const asked = { kind: "cross", layer: 3, head: 1, query: 2, key: 1, aggregate: "rollout" };
  assert.deepEqual(selection.fitSelection(entries, { ...asked, selected: Array.of([0, 1], [1, 0]) }), {
    ...{ kind: "encoder", layer: 0, head: 1, query: null, key: 1 },
    ...{ selected: [[0, 1]], aggregate: "head" },
  });
  assertTable(
    (from, to) => Object.values(selection.carryPins(from, to, { query: 1, key: 2 })),
    [
      ["cross", "cross", [1, 2]],
      ["decoder", "cross", [1, null]],
      ["encoder", "cross", [null, 2]],
      ["encoder", "decoder", [null, null]],
    ],
  );
});

const KINDS = [
  { kind: "encoder", layers: 2, heads: 4 },
  { kind: "cross", layers: 3, heads: 2 },
];

test("arrow keys go through the layers of all kinds and stop at the ends", () => {
  assertTable(
    (kind, layer, head, key) => Object.values(grid.moveHead(KINDS, { kind, layer, head }, key)).join(),
    [
      ["encoder", 0, 0, "ArrowRight", "encoder,0,1"],
      ["encoder", 1, 3, "ArrowDown", "cross,0,1"],
      ["cross", 0, 1, "ArrowUp", "encoder,1,1"],
      ["encoder", 0, 0, "ArrowUp", "encoder,0,0"],
      ["encoder", 0, 0, "ArrowLeft", "encoder,0,0"],
      ["cross", 2, 1, "ArrowDown", "cross,2,1"],
    ],
  );
});

const [PREVIOUS, BROAD] = ["previous token", "broad"].map((name) => ({ name, evidence: 0.9 }));

test("heads are sorted by entropy and by label, and moved over as they then stand", () => {
  const same = { name: "same token", evidence: 0.7 };
  const labels = Array.of([null, BROAD], [same, { ...BROAD, evidence: 0.99 }]);
  const entropies = Float32Array.from([0.9, 0.1, 0.5, 0.3]);
  const entry = { kind: "encoder", layers: 2, heads: 2, entropies, labels };
  assertTable(
    (by) =>
      grid
        .sortedHeads(entry, by)
        .map((place) => place.join("·"))
        .join(" "),
    [
      ["layer", "0·0 0·1 1·0 1·1"],
      ["label", "1·1 0·1 1·0 0·0"],
      ["entropy", "0·1 1·1 1·0 0·0"],
    ],
  );
  const kinds = [{ ...entry, slots: grid.sortedHeads(entry, "entropy") }];
  const second = { kind: "encoder", layer: 1, head: 1 };
  assert.deepEqual(grid.moveHead(kinds, second, "ArrowDown"), { kind: "encoder", layer: 0, head: 0 });
  assert.deepEqual(grid.sortedHeads({ ...entry, entropies: null }, "entropy")[0], [0, 0]);
});

test("a head's label is told with its evidence", () => {
  const labels = [[{ ...PREVIOUS, sentence: "It puts 0.90 there." }, null]];
  const entry = { kind: "encoder", heads: 2, entropies: Float32Array.from([0.25, 0.5]), labels };
  const first = headInWords(entry, { layer: 0, head: 0 });
  assert.match(first, /entropy 0\.25.*previous token: It puts 0\.90 there\.$/);
  assert.match(headInWords(entry, { layer: 0, head: 1 }), /no clear pattern/);
  const unlabelled = { kind: "cross", heads: 1, labels: null };
  assert.equal(headInWords(unlabelled, { layer: 0, head: 0 }), "Head 0·0 of cross-attention");
});

const listed = (lines) =>
  Array.from({ length: lines.count }, (_, i) => [lines.row[i], lines.col[i], lines.value[i]].join());

test("lines are those of the word started from, else all that can be seen, and of too many the strongest", () => {
  const links = [{ shown: cross, flip: false }];
  const linesOf = (focus, least = 0) => listed(pathsOf(links, [2, 3], focus, least).lines[0]);
  assert.deepEqual(linesOf({ column: 0, index: 0 }), ["0,0,0.75", "0,1,0.25"]);
  assert.deepEqual(linesOf({ column: 1, index: 0 }), ["0,0,0.75", "1,0,0.0625"]);
  assert.deepEqual([linesOf(null).length, linesOf(null, 0.7).length], [5, 2]);
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
  const assertClose = (found, ...wanted) => {
    for (const [i, value] of found.entries()) assertNear(value, wanted[i], 1e-6);
  };
  const from = (column, index, through = links) => pathsOf(through, [2, 2, 2, 2], { column, index }, 0);
  const { reach, lines } = from(2, 0);
  assertClose(reach[1], 0.1, 0.9);
  assertClose(reach[0], 0.45, 0.45); // over s1: 0.9 · 0.5, both ways; over s0 only 0.1 · 0.75
  assertClose(reach[3], 1, 0);
  assert.equal(lines[0].count, 4);
  assert.equal(listed(lines[2])[0], "0,0,1");
  assertClose(from(0, 1).reach[3], 0.45, 0.75 * 0.7);
  assertClose(spread(between, Float32Array.from([0, 1]), true), 1, 0);
  const changed = links.map(({ shown, flip }) => ({ shown: { ...shown, limit: 1 }, flip }));
  const near = from(2, 0, changed).reach;
  assert.deepEqual([near[0], near[1] !== null, near[3] !== null], [null, true, true]); // changes do not multiply
});

test("the linked columns are those of the kinds at hand, and a place in them is a pin", () => {
  for (const kinds of [["encoder"], ["cross"]]) assert.equal(linked.linkedColumns(kinds), null);
  assert.equal(linked.linkedColumns(["decoder", "cross"]).columns.length, 3);
  const plan = linked.linkedColumns(["encoder", "decoder", "cross"]);
  for (let column = 0; column < 4; column++) {
    const { kind, query, key } = linked.pinOf(plan, { column, index: 1 });
    assert.deepEqual(linked.placesOf(plan, kind, { query, key }), [{ column, index: 1 }]);
  }
  const pinned = linked.placesOf(plan, "encoder", { query: 2, key: 0 });
  assert.equal(pinned.map(({ column, index }) => `${column}·${index}`).join(), "1·2,0·0");
  assertTable(
    (place, key) => Object.values(linked.movePlace([3, 2], place, key) ?? []),
    [
      [undefined, "ArrowDown", [1, 0]],
      [{ column: 0, index: 2 }, "ArrowDown", [0, 2]],
      [{ column: 0, index: 2 }, "ArrowRight", [1, 1]],
      [{ column: 1, index: 0 }, "ArrowRight", []],
    ],
  );
});

test("what the picture leaves out is said, its marks are explained, and nothing else", () => {
  const quiet = { threshold: 0, mergeWords: false, hideSpecial: false, lines: [{ count: 3, all: 3 }] };
  const explained = "<sos>: start of sequence.";
  assert.deepEqual(notes(cross, quiet), [explained]);
  const cut = { ...quiet, threshold: 0.1, lines: [{ count: 600, all: 900 }, null] };
  const left = ["Weights below 0.10 are not drawn.", "The strongest 600 of 900 lines are drawn."];
  assert.deepEqual(notes(cross, cut), [explained, ...left]);
  assert.match(notes({ ...cross, masked: Uint8Array.from([0, 1]) }, quiet)[1], /Hatched/);
  const both = { hideSpecial: true, mergeWords: true };
  const keyAxis = displayed.axisOf(["<s>", "a", "b"], [true], [null, 0, 0], both);
  assert.equal(notes({ ...cross, keyAxis }, { ...quiet, ...both }).length, 3);
  const patches = { rows: 1, cols: 2, start: 0, tokens: 2, ofQueries: true };
  assertTable(
    (limit, image, more) =>
      notes({ ...cross, limit, entry: {} }, { ...quiet, ...more, patches, image }).at(-1),
    [
      [null, {}, {}, "The colours of patches go up to the largest weight among them."],
      [
        null,
        { width: 4 },
        {},
        "The picture is bare at the largest weight of its patches, and fades towards 0.",
      ],
      [0.5, { width: 4 }, {}, "The picture only darkens and lightens the colours of its patches."],
      [null, {}, { mergeWords: true }, "Patches show each token by itself, none hidden or merged."],
    ],
  );
  assertTable(marksExplained, [
    [["gato", "<eos>", "<sos>"], "<sos>: start of sequence · <eos>: end of sequence."],
    [["gato"], ""],
    [["la", "[?]"], "[?]: the gap to fill."],
  ]);
});

test("the table of a large head holds what is pinned or strongest", () => {
  const words = Array.from({ length: 30 }, (_, i) => `w${i}`);
  const weights = Array.from({ length: 900 }, (_, cell) => cell / 1000);
  const large = pictureOf("encoder", words, words, weights);
  assert.deepEqual(tableOf(large, "A head", { query: 1, key: null }).rows[0], ["w29", "0.059", "1"]);
  assert.deepEqual(tableOf(large, "A head", { query: null, key: 2 }).rows[29], ["w0", "0.002", "28"]);
  const strongest = tableOf(large, "A head", NONE);
  assert.equal(strongest.rows.length, 50);
  assert.deepEqual(strongest.rows[0], ["w29", "w29", "0.899", "1"]);
  assert.match(strongest.caption, /strongest 50 of 900 weights/);
  assert.deepEqual([strongest.placeOf(29, 28), strongest.placeOf(0, 0)], [[1, 2], null]);
  const sparse = pictureOf(
    "decoder",
    words,
    words,
    weights.map((weight, cell) => (cell % 30 < 3 ? weight : 0)),
  );
  const { rows, caption, placeOf } = tableOf(sparse, "A head", { query: 1, key: null });
  assert.deepEqual(rows, [
    ["w2", "0.032", "1"],
    ["w1", "0.031", "2"],
    ["w0", "0.03", "3"],
  ]);
  assert.match(caption, /The other 27 are masked or 0\.$/);
  assert.deepEqual([placeOf(1, 0), placeOf(1, 5), placeOf(2, 0)], [[2, 1], null, null]);
  assert.deepEqual(strongestCells(Float32Array.from([0.5, -0.9, 0.5, 0.5]), 2), [1, 0]);
});

test("a search marks the words that hold it, and goes through them", () => {
  const queries = selection.foundIn(["El", "gato", "gatos"], " GAT");
  assert.deepEqual([...queries], [0, 1, 1]);
  assert.equal(selection.foundIn(["a"], "  "), null);
  const marks = { queries, keys: selection.foundIn(["the", "gate"], "gat") };
  const go = (pinned) => selection.nextFound(marks, pinned);
  assert.deepEqual(go(NONE), { query: 1, key: null, place: 1, of: 3 });
  assert.deepEqual(go({ query: 2, key: null }), { query: null, key: 1, place: 3, of: 3 });
  assert.equal(go({ query: null, key: 1 }).query, 1);
  const nowhere = { queries: selection.foundIn(["a"], "z"), keys: selection.foundIn(["b"], "z") };
  assert.equal(selection.nextFound(nowhere, NONE), null);
  const [one, other] = [
    ["El", "gato", "gatos"],
    ["the", "gate"],
  ];
  assert.match(selection.foundInWords([queries, marks.keys], [one, other]), /^3 found/);
  assert.match(selection.foundInWords([queries, queries], [one, [...one]]), /^2 found/);
});

test("of a long text only what is in view is drawn, and every arc that crosses it", () => {
  const layout = columns.columnsLayout([100, 50], [40, 40], { width: 380, height: 400 });
  assert.deepEqual([layout.shown, layout.height], [400, 100 * layout.pitch]);
  const top = 40 * layout.pitch;
  const end = Math.ceil(40 + 400 / layout.pitch);
  assert.deepEqual(columns.tokensInView(layout, top, 100), [40, end]);
  assert.equal(columns.tokensInView(layout, top + 1, 100)[0], 40); // halves of words count
  assert.deepEqual(columns.tokensInView(layout, 90 * layout.pitch, 50), [50, 50]);
  const crossing = (left, right) => columns.arcInView(layout, top, { at: 0, left, right, value: 1 });
  assert.ok(crossing(0, 99)); // neither end is in view, its middle is
  assert.deepEqual([crossing(40, 10), crossing(39, 10), crossing(end, 99)], [true, false, false]);
  assert.equal(columns.scrollTo(layout, top, 41), top);
  assert.ok(columns.scrollTo(layout, top, 99) > top);
});

test("columns span the stage, a word is found in its box and an arc under its curve", () => {
  for (const [width, height] of [
    [260, 300],
    [700, 430],
    [1900, 900],
  ]) {
    const layout = columns.columnsLayout([6, 6, 6, 5], [60, 90, 70, 50], { width, height });
    const right = layout.xs.at(-1) + layout.widths.at(-1);
    assert.ok(right <= width + 4 && right >= 0.75 * width, `${width}: ${right}`);
    assert.ok(layout.height <= height && layout.box <= layout.pitch);
    layout.xs.forEach((x, at) => {
      if (at) assert.ok(x >= layout.xs[at - 1] + layout.widths[at - 1] + 15, `${width}: columns touch`);
      const middle = x + layout.widths[at] / 2;
      assert.deepEqual(columns.tokenAt(layout, middle, 3.5 * layout.pitch), { column: at, index: 3 });
    });
    const arcs = [
      { at: 1, left: 0, right: 4, value: 0.4 },
      { at: 1, left: 4, right: 0, value: 0.9 },
    ];
    const middle = columns.pointOf(columns.curveOf(layout, arcs[0]), 0.5);
    assert.equal(columns.arcAt(layout, arcs, ...middle).value, 0.9); // where two cross, the stronger one
    const near = columns.pointOf(columns.curveOf(layout, arcs[0]), 0.2);
    assert.equal(columns.arcAt(layout, arcs, near[0], near[1] + 4).value, 0.4);
    assert.equal(columns.arcAt(layout, arcs, near[0], near[1] + 60), null);
  }
});

test("a head that always attends to the token itself has that label, from enough rows", () => {
  const labelOf = (n) => {
    const rows = Array.from({ length: n * n }, (_, at) => Number(at % (n + 1) === 0));
    const kind = { kind: "encoder", layers: 1, heads: 1, rows: n, cols: n, weights: Float32Array.from(rows) };
    return labelHeads(kind, [..."abcdefgh"].slice(0, n))[0][0];
  };
  assert.equal(labelOf(4), null);
  assert.deepEqual([labelOf(8).name, labelOf(8).evidence], ["same token", 1]);
});

test("two decimals are rounded as Python rounds them", () => {
  const rounded = [0.125, 0.375, 0.625, 0.875, 1 / 3, 0.995, 1].map(twoDecimals);
  assert.equal(rounded.join(), "0.12,0.38,0.62,0.88,0.33,0.99,1.00");
});
