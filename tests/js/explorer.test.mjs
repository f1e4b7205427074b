// The explorer's pure functions: what is where, what is shown, what is said.

import assert from "node:assert/strict";
import { test } from "node:test";

const STATIC = new URL("../../viz_transformer/widgets/static/", import.meta.url);
const explorer = await import(new URL("explorer.js", STATIC));
const { headAt, headsLayout, moveHead } = await import(new URL("heads.js", STATIC));
const { cellAt, matrixLayout, moveCell } = await import(new URL("matrix.js", STATIC));
const { lineInView, linesFor, wordAt, wordsInView, wordsLayout } = await import(new URL("words.js", STATIC));

const NONE = { query: null, key: null };

/** A kind's entry with one layer and head, from rows of weights. */
function entryOf(kind, queries, keys, rows, reads = null) {
  return {
    kind, queries, keys, reads, layers: 1, heads: 1, rows: rows.length, cols: rows[0].length,
    dtype: "float32", weights: Float32Array.from(rows.flat()),
  };
}

const cross = entryOf("cross", ["el", "gato"], ["the", "black", "cat"],
  [[0.75, 0.25, 0], [0.0625, 0.03125, 0.90625]], ["<sos>", "el"]);

test("a cell is told with both words, a sentence and its place", () => {
  assert.deepEqual(explorer.readout(cross, 0, 0, { query: 1, key: 2 }), {
    pairs: [["gato", "cat", 0.90625]],
    sentence: "Having read “\u2068el\u2069”, it writes “\u2068gato\u2069” and looks at “\u2068cat\u2069”.",
    detail: "trace.cross_attention[0, 0, 1, 2] = 0.90625",
  });
});

test("a query is told with its strongest keys, a key with its strongest queries", () => {
  const { pairs, detail } = explorer.readout(cross, 0, 0, { query: 0, key: null });
  assert.deepEqual(pairs, [["el", "the", 0.75], ["el", "black", 0.25], ["el", "cat", 0]]);
  assert.equal(detail, "trace.cross_attention[0, 0, 0, :]");
  const ofKey = explorer.readout(cross, 0, 0, { query: null, key: 0 });
  assert.deepEqual(ofKey.pairs, [["el", "the", 0.75], ["gato", "the", 0.0625]]);
});

test("with nothing active there is a hint and no weight", () => {
  const { pairs, sentence } = explorer.readout(cross, 0, 0, NONE);
  assert.deepEqual(pairs, []);
  assert.match(sentence, /click to pin/);
});

test("the sentence does not call a weak weight looking", () => {
  assert.match(explorer.describe(cross, 1, 1, 0.03125), /hardly looks at/);
  const encoder = entryOf("encoder", ["a", "b"], ["a", "b"], [[0.5, 0.5], [1, 0]]);
  assert.equal(explorer.describe(encoder, 0, 1, 0.5), "Reading “\u2068a\u2069”, it looks at “\u2068b\u2069”.");
});

test("what comes later in a decoder may not be looked at", () => {
  const decoder = entryOf("decoder", ["el", "gato"], ["<sos>", "el"], [[1, 0], [0.5, 0.5]], ["<sos>", "el"]);
  assert.match(explorer.describe(decoder, 0, 1, 0), /may not look at “\u2068el\u2069”: it comes later/);
  assert.match(explorer.describe(decoder, 1, 0, 0), /hardly looks at/);
});

test("what the pointer is over comes before what is pinned", () => {
  const pinned = { query: 1, key: 2 };
  assert.deepEqual(explorer.activeCell(null, pinned), pinned);
  assert.deepEqual(explorer.activeCell({ query: 0, key: 0 }, pinned), { query: 0, key: 0 });
  assert.deepEqual(explorer.activeCell({ query: null, key: 0 }, pinned), { query: 1, key: 0 });
  assert.deepEqual(explorer.activeCell({ query: null, key: 0 }, NONE), { query: null, key: 0 });
});

test("a resting pointer is forgotten where there is nothing beneath it", () => {
  const size = { rows: 2, cols: 3 };
  for (const hover of [{ query: 1, key: 2 }, { query: null, key: 2 }, { query: 1, key: null }]) {
    assert.equal(explorer.within(hover, size), hover);
  }
  for (const hover of [null, { query: 2, key: 0 }, { query: 0, key: 3 }, { query: null, key: 3 }]) {
    assert.equal(explorer.within(hover, size), null);
  }
});

test("a selection that no longer fits is moved inside", () => {
  const entries = new Map([["encoder", { layers: 1, heads: 2, rows: 2, cols: 2 }]]);
  const asked = { kind: "cross", layer: 3, head: 1, query: 2, key: 1 };
  assert.deepEqual(explorer.fitSelection(entries, asked), { kind: "encoder", layer: 0, head: 1, query: null, key: 1 });
});

test("pins are carried along the axes that two kinds share", () => {
  const pins = { query: 1, key: 2 };
  assert.deepEqual(explorer.carryPins("cross", "cross", pins), pins);
  assert.deepEqual(explorer.carryPins("decoder", "cross", pins), { query: 1, key: null });
  assert.deepEqual(explorer.carryPins("encoder", "cross", pins), { query: null, key: 2 });
  assert.deepEqual(explorer.carryPins("encoder", "decoder", pins), NONE);
});

test("offsets follow [layer, head, query, key]", () => {
  assert.equal(explorer.offsetOf({ heads: 4, rows: 5, cols: 6 }, 1, 2), (1 * 4 + 2) * 30);
});

const KINDS = [{ kind: "encoder", layers: 2, heads: 4 }, { kind: "cross", layers: 3, heads: 2 }];

test("every thumbnail is found at its place, and nothing between sections", () => {
  const cases = [[KINDS, 260], [KINDS, 560], [[{ kind: "encoder", layers: 24, heads: 16 }], 260]];
  for (const [kinds, width] of cases) {
    const layout = headsLayout(kinds, width, 560);
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

test("the matrix and its labels stay inside their room", () => {
  for (const [rows, cols] of [[5, 5], [1, 12], [12, 1], [40, 40], [128, 128], [512, 300]]) {
    for (const [rowLabel, colLabel] of [[40, 40], [400, 400], [8, 200]]) {
      for (const width of [320, 480, 640]) {
        const layout = matrixLayout({ rows, cols, width, maxHeight: 420, rowLabel, colLabel });
        assert.ok(layout.cell > 0);
        assert.ok(layout.width <= width, `${layout.width} > ${width}`);
        assert.ok(layout.top + rows * layout.cell <= 420);
        const reach = layout.flat ? 0 : layout.colRoom * Math.SQRT1_2;
        assert.ok(layout.left + cols * layout.cell + reach <= layout.width);
        assert.ok(layout.flat ? colLabel < layout.cell : layout.top > reach);
        assert.ok(layout.rowStep * layout.cell >= 14 && layout.colStep * layout.cell >= 14);
      }
    }
  }
});

test("a point is in the cell that is drawn there", () => {
  const layout = matrixLayout({ rows: 4, cols: 6, width: 480, maxHeight: 420, rowLabel: 50, colLabel: 50 });
  const at = (query, key) => cellAt(layout, layout.left + (key + 0.5) * layout.cell, layout.top + (query + 0.5) * layout.cell);
  assert.deepEqual(at(0, 0), { query: 0, key: 0 });
  assert.deepEqual(at(3, 5), { query: 3, key: 5 });
  assert.equal(at(4, 0), null);
  assert.equal(at(0, -1), null);
});

test("arrow keys move the cell and stop at the edges", () => {
  assert.deepEqual(moveCell(NONE, 3, 3, "ArrowDown"), { query: 0, key: 0 });
  assert.deepEqual(moveCell({ query: 1, key: null }, 3, 3, "ArrowDown"), { query: 2, key: 0 });
  assert.deepEqual(moveCell({ query: 2, key: 1 }, 3, 3, "ArrowDown"), { query: 2, key: 1 });
  assert.deepEqual(moveCell({ query: 2, key: 1 }, 3, 3, "ArrowLeft"), { query: 2, key: 0 });
  assert.deepEqual(moveCell({ query: 0, key: 0 }, 3, 3, "ArrowUp"), { query: 0, key: 0 });
});

test("lines are those of the active query, else of the active key, else all that can be seen", () => {
  assert.deepEqual(linesFor(cross, 0, { query: 0, key: null }), [[0, 0, 0.75], [0, 1, 0.25]]);
  assert.deepEqual(linesFor(cross, 0, { query: 0, key: 2 }), [[0, 0, 0.75], [0, 1, 0.25]]);
  assert.deepEqual(linesFor(cross, 0, { query: null, key: 0 }), [[0, 0, 0.75], [1, 0, 0.0625]]);
  assert.equal(linesFor(cross, 0, NONE).length, 5);
});

test("a word is found in its column", () => {
  const layout = wordsLayout({ rows: 2, cols: 3, width: 380, maxHeight: 400 });
  const y = layout.pitch * 1.5;
  assert.deepEqual(wordAt(layout, layout.queryRight - 5, y), { query: 1, key: null });
  assert.deepEqual(wordAt(layout, layout.keyLeft + 5, y), { query: null, key: 1 });
  assert.equal(wordAt(layout, (layout.queryRight + layout.keyLeft) / 2, y), null);
  assert.equal(wordAt(layout, layout.queryRight - 5, layout.pitch * 2.5), null);
});

test("of a long text only what is in view is drawn, and every line that crosses it", () => {
  const layout = wordsLayout({ rows: 100, cols: 50, width: 380, maxHeight: 400 });
  assert.equal(layout.shown, 400);
  assert.equal(layout.height, 100 * layout.pitch);
  const top = 40 * layout.pitch;
  const [first, end] = wordsInView(layout, top, 100);
  assert.deepEqual([first, end], [40, 40 + 400 / layout.pitch]);
  assert.deepEqual(wordsInView(layout, top + 1, 100), [40, end + 1]); // halves of words count
  assert.deepEqual(wordsInView(layout, 90 * layout.pitch, 50), [50, 50]);
  assert.ok(lineInView(layout, top, 0, 99)); // neither end is in view, its middle is
  assert.ok(lineInView(layout, top, 40, 10));
  assert.ok(!lineInView(layout, top, 39, 10));
  assert.ok(!lineInView(layout, top, end, 99));
});

test("the page is arranged to fit its width", () => {
  const widths = [320, 519, 520, 564, 699, 700, 760, 820, 900, 1240, 1800];
  for (const [width, cols] of widths.flatMap((one) => [[one, 4], [one, 13], [one, 128]])) {
    const room = explorer.arrange(width, cols);
    assert.ok(Math.max(room.heads, room.head, room.words) <= width);
    if (room.name === "wide") assert.ok(room.heads + room.head + room.words + 56 <= width);
    if (room.name === "medium") assert.ok(room.heads + room.head + 28 <= width);
    assert.ok(room.head >= Math.min(width, 280));
  }
  assert.deepEqual([820, 564].map((width) => explorer.arrange(width, 5).name), ["wide", "medium"]);
  assert.deepEqual([820, 564].map((width) => explorer.arrange(width, 13).name), ["medium", "narrow"]);
});
