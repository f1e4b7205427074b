// The embedding map's sums and searches.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as map from "../../viz_transformer/widgets/embedding_map/neighbours.ts";
import * as places from "../../viz_transformer/widgets/embedding_map/places.ts";
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
  assert.deepEqual(map.findTokens(["Rome", "Ġ", "ĠRomeo", "ĠRome"], "Rome"), ["ĠRome", "Rome", "ĠRomeo"]);
  for (const typed of ["x", " "]) assert.deepEqual(map.findTokens(tokens, typed), []);
});

test("a pointer finds the nearest point within reach, an arrow key the nearest in its direction", () => {
  const pixels = /** @type {[number, number][]} */ (["0 0", "10 4", "30 0", "2 -20", "-5 40"].map(placeOf));
  assert.equal(places.pointAt(pixels, [7, 3], 14), 1);
  assert.equal(places.pointAt(pixels, [60, 50], 14), -1);
  assertTable(
    (key) => places.pointBeside(pixels, 0, key),
    [
      ["ArrowRight", 1],
      ["ArrowUp", 3],
      ["ArrowDown", 4],
      ["ArrowLeft", -1],
      ["Enter", -1],
    ],
  );
});

test("an analogy holds where the two differences are parallel, and nowhere else", () => {
  // [masculine or feminine, tired or old, a number of its own]
  const rows = [
    [1, 1, 0],
    [-1, 1, 0],
    [1, -1, 0],
    [-1, -1, 0],
    [0, 0.2, 3],
  ];
  const tokens = ["cansado", "cansada", "viejo", "vieja", "huevo"];
  const table = { tokens, width: 3, vectors: Float32Array.from(rows.flat()) };
  const [best, ...rest] = map.analogies(table, 0, map.nearest(table, 0));
  assert.deepEqual(best.words.map((token) => tokens[token]).sort(), tokens.slice(0, 4).sort());
  assert.equal(best.words[0], 0);
  assertNear(best.cosine, 1, 1e-6);
  assert.ok(rest.every(({ words }) => !words.includes(4)));
  const bent = Float32Array.from(
    [
      [1, 1, 0],
      [-1, 1, 0],
      [1, -1, 0],
      [-1, 2, 4],
      [0, 0.2, 3],
    ].flat(),
  );
  assert.deepEqual(map.analogies({ ...table, vectors: bent }, 0, [{ index: 1, cosine: 0 }]), []);
});

test("the whole plane fills a room both ways, and zoomed in the chosen token is in the middle", () => {
  const points = Float32Array.of(-10, -1, 10, 1, 4, 0.5);
  const room = { width: 600, height: 300 };
  const whole = places.pixelsOf(points, places.cameraOf(points, 2, 1), room);
  assert.deepEqual(
    [whole[0], whole[1]],
    [
      [24, 276],
      [576, 24],
    ],
  );
  const close = places.pixelsOf(points, places.cameraOf(points, 2, 4), room);
  assert.deepEqual(close[2], [300, 150]);
  assertNear(close[1][0] - close[0][0], 4 * (576 - 24), 1e-6);
  assert.deepEqual(places.endOfLine([300, 150], [300, 100], room), [300, 100]);
  assert.deepEqual(places.endOfLine([300, 150], [1300, 150], room), [588, 150]); // it ends in sight
  assert.deepEqual(places.endOfLine([300, 150], [300, -900], room), [300, 12]);
});

test("no name stands on another; those that are needed stand further away, others are left out", () => {
  const pixels = /** @type {[number, number][]} */ (["50 50", "52 51", "54 52", "200 50"].map(placeOf));
  const name = (index, isNeeded) => ({ index, width: 60, isNeeded });
  const names = Array.from({ length: 3 }, (_, at) => name(at, true));
  const room = { width: 400, height: 300 };
  const placed = places.placeNames([...names, name(3, false)], pixels, room, 16);
  assert.equal(placed.length, 4);
  const crowd = Array.from({ length: 12 }, () => /** @type {[number, number]} */ ([50, 50]));
  const needed = places.placeNames(
    crowd.map((_, at) => name(at, true)),
    crowd,
    room,
    16,
  );
  assert.equal(needed.length, 12);
  for (const [i, one] of needed.entries())
    for (const other of needed.slice(i + 1))
      assert.ok(Math.abs(one.y - other.y) >= 16 || Math.abs(one.left - other.left) >= 60);
  assert.ok(
    places.placeNames(
      crowd.map((_, at) => name(at, false)),
      crowd,
      room,
      16,
    ).length <= 4,
  );
});

function placeOf(text) {
  return text.split(" ").map(Number);
}
