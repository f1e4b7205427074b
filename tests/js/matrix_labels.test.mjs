// The labels of the matrix: what is chosen, and what the readout names, is written at every width.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawMatrix, labelsOf, matrixLayout } from "../../viz_transformer/widgets/base/heatmap.ts";
import { wordsRead } from "../../viz_transformer/widgets/explorer/readout.ts";

const THEME = /** @type {any} */ ({
  scale: 1,
  family: "sans",
  stops: ["#ffffff", "#000000"],
  measure: (text, size) => text.length * size * 0.55,
});
const NOTHING = { query: null, key: null };

/** The texts that the matrix of `count` words writes at a width. */
function textsOf(count, width, { active = NOTHING, pinned = active, named = { queries: [], keys: [] } }) {
  const written = [];
  const context = new Proxy(
    { measureText: (text) => ({ width: text.length * 7 }) },
    {
      get: (target, name) => target[name] ?? (name === "fillText" ? (text) => written.push(text) : () => {}),
      set: () => true,
    },
  );
  const names = (side) => Array.from({ length: count }, (_, i) => `${side}${i}`);
  const shown = { rows: count, cols: count, queries: names("q"), keys: names("k"), limit: null };
  const weights = new Float32Array(count * count);
  const layout = matrixLayout({ ...shown, width, maxHeight: 420, rowLabel: 40, colLabel: 40 });
  const canvas = /** @type {any} */ ({ style: {}, getContext: () => context });
  const marks = { active, pinned, named, found: null, least: 0, waiting: "" };
  drawMatrix(canvas, layout, canvas, { ...shown, weights }, marks, THEME);
  return { written, layout };
}

test("the chosen query and key have their labels at every width and length, and none touches them", () => {
  const wrong = [];
  for (const width of [320, 360, 600, 900, 1280])
    for (const count of [5, 13, 30, 61, 300]) {
      for (const at of [0, 1, 7 % count, count - 2, count - 1]) {
        const chosen = { query: at, key: count - 1 - at };
        const resting = textsOf(count, width, { active: chosen });
        const hovering = textsOf(count, width, { active: { query: 0, key: 0 }, pinned: chosen });
        for (const { side, step, own } of [
          { side: "q", step: resting.layout.rowStep, own: chosen.query },
          { side: "k", step: resting.layout.colStep, own: chosen.key },
        ]) {
          const indices = resting.written
            .filter((text) => RegExp(`^${side}\\d`).test(text))
            .map((text) => Number(text.slice(1)))
            .sort((a, b) => a - b);
          const touching = indices.some((index, i) => i > 0 && index - indices[i - 1] < step);
          const isSeen = own < step || hovering.written.includes(`${side}${own}`);
          if (!indices.includes(own) || touching || !isSeen)
            wrong.push([width, count, at, side, indices.join()]);
        }
      }
    }
  assert.deepEqual(wrong, []);
});

test("a word that the readout names has its label, though only its query is chosen", () => {
  const weights = new Float32Array(30 * 30);
  [weights[29 * 30 + 1], weights[29 * 30 + 17]] = [0.76, 0.2];
  const active = { query: 29, key: null };
  const named = wordsRead({ weights, rows: 30, cols: 30 }, active);
  assert.deepEqual([named.queries, named.keys.slice(0, 2)], [[29], [1, 17]]);
  for (const width of [360, 600, 900, 1280]) {
    const { written, layout } = textsOf(30, width, { active, named });
    assert.ok(layout.colStep > 1, `${width}: labels are thinned`);
    assert.ok(written.includes("k1") && written.includes("k17"), String(width));
  }
});

test("of two labels that would touch, the one under the pointer is written", () => {
  assert.deepEqual([...labelsOf([0, 9], [5, 4, null, 99], 2)], [5, 0, 2, 8]);
  assert.deepEqual([...labelsOf([0, 9], [], 3)], [0, 3, 6]);
});
