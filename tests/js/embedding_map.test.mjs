// The embedding map's sums and searches.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as map from "../../viz_transformer/widgets/embedding_map/neighbours.js";
import { namesWithoutOverlap } from "../../viz_transformer/widgets/embedding_map/view.js";
import { assertNear, assertTable } from "./helpers.mjs";

test("nearness is by direction, not by length, and a vector of zeros is last", () => {
  const vectors = Float32Array.of(1, 0, 2, 0.2, 0, 3, -1, 0, 0, 0);
  const embeddings = { tokens: ["a", "b", "c", "d", "zero"], width: 2, vectors };
  const found = map.nearest(/** @type {any} */ (embeddings), 0);
  assert.equal(found.map(({ index }) => index).join(), "1,2,3,4");
  assertNear(found[0].cosine, 2 / Math.hypot(2, 0.2), 1e-6);
  assert.equal(found[1].cosine, 0);
});

test("a word is found without its accents, first whole, then by its beginning", () => {
  const tokens = ["está", "esta", "estamos", "fiesta", "<eos>"];
  assert.deepEqual(map.findTokens(tokens, "esta"), ["esta", "está", "estamos", "fiesta"]);
  assert.deepEqual(map.findTokens(tokens, " Está "), ["está", "esta", "estamos", "fiesta"]);
  for (const typed of ["x", " "]) assert.deepEqual(map.findTokens(tokens, typed), []);
});

test("a pointer finds the nearest point within reach, an arrow key the nearest in its direction", () => {
  const pixels = /** @type {[number, number][]} */ (["0 0", "10 4", "30 0", "2 -20", "-5 40"].map(placeOf));
  assert.equal(map.pointAt(pixels, [7, 3], 14), 1);
  assert.equal(map.pointAt(pixels, [60, 50], 14), -1);
  assertTable(
    (key) => map.pointBeside(pixels, 0, key),
    [
      ["ArrowRight", 1],
      ["ArrowUp", 3],
      ["ArrowDown", 4],
      ["ArrowLeft", -1],
      ["Enter", -1],
    ],
  );
});

test("names that would touch are left out, the chosen one's never", () => {
  const pixels = ["0 0", "5 4", "200 0"].map(placeOf);
  assert.deepEqual(namesWithoutOverlap([0, 1, 2], ["one", "two", "three"], pixels), [0, 2]);
});

function placeOf(text) {
  return text.split(" ").map(Number);
}
