// Shared by views: weights to pixels and colours, tokens to text, the exported page. How numbers are
// written is held to Python's in tests/test_numbers.py, and every half in tests/test_explorer.py.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pageModel, revivedState } from "../../viz_transformer/export/page.ts";
import { decodeWeights } from "../../viz_transformer/widgets/base/bytes.ts";
import { colourOf, colourRamp, STOPS, textColourOn } from "../../viz_transformer/widgets/base/colour.ts";
import { paintThumbnail, paintWeights } from "../../viz_transformer/widgets/base/pixels.ts";
import {
  differences,
  elide,
  formatNumber,
  formatWeight,
  joinPieces,
  runningText,
  visible,
  weightDigits,
} from "../../viz_transformer/widgets/base/text.ts";
import { assertTable } from "./helpers.mjs";

/** Colours that are their own numbers, from 0 to 255. */
const ramp = Uint32Array.from({ length: 256 }, (_, i) => i);

function paint(shown, box, colours = {}) {
  const pixels = new Uint32Array(box.width * box.height);
  paintWeights(shown, pixels, box.width, box, { ramp, ...colours });
  return pixels;
}

test("bytes decode from any offset, in both types", () => {
  const bytes = new Uint8Array([9, 0x00, 0x3c, 0x00, 0x38, 9]);
  assert.deepEqual([...decodeWeights(new DataView(bytes.buffer, 1, 4), "float16")], [1, 0.5]);
  const single = new Uint8Array([9, 0, 0, 0x80, 0x3f]);
  assert.deepEqual([...decodeWeights(new DataView(single.buffer, 1, 4), "float32")], [1]);
  assert.throws(() => decodeWeights(new DataView(bytes.buffer), "int8"), /unknown dtype/);
});

test("painting keeps each cell's colour, and the strongest where many share a pixel", () => {
  const shown = { weights: Float32Array.from([0, 1, 0.5, 0.25]), rows: 2, cols: 2 };
  const pixels = new Uint32Array(6 * 4);
  paintWeights(shown, pixels, 6, { left: 1, width: 4, height: 4 }, { ramp });
  assert.deepEqual([...pixels.subarray(0, 6)], [0, 0, 0, 255, 255, 0]);
  assert.deepEqual([...pixels.subarray(18, 24)], [0, 128, 128, 64, 64, 0]);
  assert.equal(paint(shown, { width: 1, height: 1 })[0], 255);
});

test("a window onto a picture is painted as the whole is", () => {
  const shown = { weights: Float32Array.from({ length: 12 }, (_, i) => i / 11), rows: 3, cols: 4 };
  const whole = paint(shown, { width: 40, height: 30 });
  const part = paint(shown, { width: 13, height: 9, across: 40, down: 30, x: 7, y: 12 });
  for (let y = 0; y < 9; y++) {
    for (let x = 0; x < 13; x++) assert.equal(part[y * 13 + x], whole[(y + 12) * 40 + x + 7]);
  }
});

test("what is weak is blank, what is masked is hatched, and a change has its sign's colour", () => {
  const change = { weights: [0.5, -0.25, 0.1], rows: 1, cols: 3, limit: 0.5 };
  const pixels = paint(change, { width: 3, height: 1 }, { blank: 1000, least: 0.2 });
  assert.deepEqual([...pixels], [255, 64, 1000]);
  const masked = { weights: [1, 0, 0], rows: 1, cols: 3, masked: Uint8Array.from([0, 1, 0]) };
  const hatched = paint(masked, { width: 30, height: 10 }, { blank: 1000, hatch: 2000 });
  const middle = Array.from(hatched.subarray(10, 20));
  assert.ok(middle.includes(2000) && middle.includes(1000));
  assert.deepEqual([hatched[0], hatched[29]], [255, 0]);
});

test("a thumbnail keeps the strongest byte beneath each pixel, of a change the farthest from 128", () => {
  const overview = { values: Uint8Array.from([9, 128, 20, 200, 130]), rows: 2, cols: 2 };
  const pixels = new Uint32Array(1);
  for (const [signed, strongest] of [
    [true, 20],
    [false, 200],
  ]) {
    paintThumbnail(overview, 1, Boolean(signed), pixels, 1, { left: 0, top: 0, width: 1, height: 1 }, ramp);
    assert.equal(pixels[0], strongest);
  }
});

test("colours run from the first stop to the last, and text on them can be read", () => {
  assert.deepEqual(colourOf(0, ["#f7f8fe", "#1d1a6e"]), [0xf7, 0xf8, 0xfe]);
  assert.deepEqual(colourOf(1, ["#f7f8fe", "#1d1a6e"]), [0x1d, 0x1a, 0x6e]);
  assert.deepEqual(colourOf(2, STOPS.dark), colourOf(1, STOPS.dark));
  const last = new Uint8Array(colourRamp(STOPS.dark).buffer, 255 * 4);
  assert.deepEqual([...last], [...colourOf(1, STOPS.dark), 0xff]);
  assert.equal(textColourOn(colourOf(0, STOPS.light)), "#000");
  assert.equal(textColourOn(colourOf(1, STOPS.light)), "#fff");
});

test("a number that is none, or has no end, is written as such", () => {
  assert.equal([NaN, -Infinity].map((value) => formatNumber(value, 2)).join(), "NaN,−∞");
  assert.equal(formatWeight(0.5, null), "0.50");
});

test("a weight has a plus only where its scale goes below 0", () => {
  assertTable(formatWeight, [
    [0.5, null, 0, "0.50"],
    [1, 2, -2, "+1.00"],
    [1, 2, 0, "1.00"],
    [0.012, 0.04, 0, "0.012"],
    [3e-6, 4e-6, 0, "3.0 × 10⁻⁶"],
    [3e-6, 4e-6, -4e-6, "+3.0 × 10⁻⁶"],
    [-1, 2, -2, "−1.00"],
  ]);
  assertTable(weightDigits, [
    [3e-6, 4e-6, 0, "3.0"],
    [3e-6, 4e-6, undefined, "+3.0"],
    [0.25, 0.4, 0, "0.25"],
  ]);
});

test("long text is elided to its room, and markup in a token is only text", () => {
  assertTable(
    (text, room) => elide(text, room, (each) => Array.from(each).length),
    [
      ["short", 5, "short"],
      ["longer", 5, "long…"],
      ["😀😀😀😀", 3, "😀😀…"], // never half of a character
      ["wide", 0, "…"],
    ],
  );
  assert.equal(visible("</script><b>"), "</script><b>");
});

test("a page's model tells of changes as Jupyter's does, and its bytes are bytes", async () => {
  const model = pageModel({ layer: 0 });
  let heard = 0;
  const listener = () => heard++;
  model.on("change:layer", listener);
  for (const layer of [1, 1]) model.set("layer", layer);
  assert.deepEqual([model.get("layer"), heard], [1, 1]);
  model.off("change:layer", listener);
  model.set("layer", 2);
  assert.equal(heard, 1);
  const state = /** @type {any} */ (
    await revivedState({
      a: { answers: [1, null, "x"] },
      b: { weights: { base64: "AAEC/w==" } },
      answers: [[{ n: 1 }, { reply: 2 }]],
    })
  );
  assert.deepEqual(state.a, { answers: [1, null, "x"] }); // only a view's own answers are replies
  assert.deepEqual(state.answers, [[{ n: 1 }, { reply: 2 }]]);
  assert.ok(state.b.weights instanceof DataView);
  assert.deepEqual([...new Uint8Array(state.b.weights.buffer)], [0, 1, 2, 255]);
});

test("pieces become a word without their tokenizer's marks", () => {
  assertTable(joinPieces, [
    [["un", "##believ", "##able"], "unbelievable"],
    [["▁vaca", "s"], "vacas"],
    [["Ġcat", "s"], "cats"],
    [["##ing"], "##ing"], // alone it is shown as it is
    [["▁the"], "▁the"],
    [["▁the"], true, "the"], // unless it is known to be a word
    [["▁"], true, "▁"],
    [["▁New", "▁York"], "New York"], // given as one word
    [["un@@", "able"], "unable"],
    [["Ġ<0xE4><0xBD>", "<0xA0>", "好"], "你好"], // bytes of one character
    [["<0xE4>", "<0xBD>"], "<0xE4><0xBD>"],
  ]);
});

test("pieces are read as a text, and words stay as they are", () => {
  assertTable(runningText, [
    [["el", "gato", "<eos>"], "el gato <eos>"],
    [["▁Ein", "▁Lie", "ge", ".", "<eos>"], "Ein Liege. <eos>"],
    [["The", "Ġcat", "s", "<0xC3>"], "The cats<0xC3>"],
    [["▁", "z", "oo"], "zoo"],
    [[], ""],
    [["¿", "dónde", "está", "el", "gato", "?", "<eos>"], "¿dónde está el gato? <eos>"],
    [["¡", "hola", ",", "mundo", "!"], "¡hola, mundo!"],
  ]);
});

test("words without a partner in the other translation differ, and no others", () => {
  const marks = (a, b) =>
    differences(a.split(" "), b.split(" "))
      .map((side) => side.map(Number).join(""))
      .join(" ");
  assertTable(marks, [
    ["la vaca duerme", "el vaca duerme", "100 100"],
    ["a b c", "a b c", "000 000"],
    ["a b c", "a c", "010 00"], // one is left out
    ["a c", "a b c", "00 010"], // one is put in
    ["a b", "b a", /^(10|01) /], // one of two is out of order
  ]);
  assert.deepEqual(differences([], ["x"]), [[], [true]]);
});
