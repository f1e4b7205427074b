// Shared by views: weights to numbers and pixels, tokens to text, the exported page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeWeights, halfTable, spans } from "../../viz_transformer/widgets/base/js/weights.js";
import { colourOf, textColourOn, colourRamp, STOPS } from "../../viz_transformer/widgets/base/js/colour.js";
import {
  elide,
  joinPieces,
  runningText,
  formatNumber,
  formatSigned,
  formatWeight,
  weightDigits,
  visible,
} from "../../viz_transformer/widgets/base/js/text.js";
import { differences } from "../../viz_transformer/widgets/base/js/text_difference.js";
import { paintThumbnail, paintWeights } from "../../viz_transformer/widgets/base/js/pixels.js";
import { pageModel, revive } from "../../viz_transformer/export/page.js";

test("halves decode to their values", () => {
  const table = halfTable();
  const known = [
    [0x0000, 0],
    [0x8000, -0],
    [0x0001, 2 ** -24],
    [0x03ff, 1023 * 2 ** -24],
    [0x0400, 2 ** -14],
    [0x3c00, 1],
    [0x3555, 0.333251953125],
    [0xc000, -2],
    [0x7bff, 65504],
    [0x7c00, Infinity],
    [0xfc00, -Infinity],
    [0x7e00, NaN],
  ];
  for (const [bits, value] of known) assert.ok(Object.is(table[bits], value), bits.toString(16));
});

test("bytes decode from any offset, in both types", () => {
  const bytes = new Uint8Array([9, 0x00, 0x3c, 0x00, 0x38, 9]);
  assert.deepEqual([...decodeWeights(new DataView(bytes.buffer, 1, 4), "float16")], [1, 0.5]);
  const single = new Uint8Array([9, 0, 0, 0x80, 0x3f]);
  assert.deepEqual([...decodeWeights(new DataView(single.buffer, 1, 4), "float32")], [1]);
  assert.throws(() => decodeWeights(new DataView(bytes.buffer), "int8"), /unknown dtype/);
});

test("every cell is beneath a pixel, and every pixel over a cell", () => {
  for (const [cells, size] of [
    [5, 40],
    [5, 5],
    [128, 13],
    [7, 3],
    [3, 7],
    [100, 99],
  ]) {
    const bounds = spans(cells, size);
    const seen = new Set();
    for (let pixel = 0; pixel < size; pixel++) {
      const [first, end] = bounds.subarray(2 * pixel, 2 * pixel + 2);
      assert.ok(first < end && end <= cells, `${cells} cells, ${size} pixels`);
      for (let cell = first; cell < end; cell++) seen.add(cell);
    }
    assert.equal(seen.size, cells);
  }
});

test("painting keeps each cell's colour, and the strongest where many share a pixel", () => {
  const ramp = Uint32Array.from({ length: 256 }, (_, i) => i);
  const shown = { weights: Float32Array.from([0, 1, 0.5, 0.25]), rows: 2, cols: 2 };
  const pixels = new Uint32Array(6 * 4);
  paintWeights(shown, pixels, 6, { left: 1, width: 4, height: 4 }, { ramp });
  assert.deepEqual([...pixels.subarray(0, 6)], [0, 0, 0, 255, 255, 0]);
  assert.deepEqual([...pixels.subarray(18, 24)], [0, 128, 128, 64, 64, 0]);
  const one = new Uint32Array(1);
  paintWeights(shown, one, 1, { width: 1, height: 1 }, { ramp });
  assert.equal(one[0], 255);
});

test("colours run from the first stop to the last", () => {
  assert.deepEqual(colourOf(0, STOPS.light), [0xf1, 0xf8, 0xfa]);
  assert.deepEqual(colourOf(1, STOPS.light), [0x22, 0x0e, 0x6f]);
  assert.deepEqual(colourOf(2, STOPS.dark), colourOf(1, STOPS.dark));
  const ramp = colourRamp(STOPS.dark);
  assert.deepEqual([...new Uint8Array(ramp.buffer, 255 * 4)], [0xda, 0xfe, 0x9b, 0xff]);
  assert.equal(textColourOn(colourOf(0, STOPS.light)), "#000");
  assert.equal(textColourOn(colourOf(1, STOPS.light)), "#fff");
});

test("long text is elided to its room, and short text left alone", () => {
  const measure = (text) => Array.from(text).length;
  assert.equal(elide("short", 5, measure), "short");
  assert.equal(elide("longer", 5, measure), "long…");
  assert.equal(elide("😀😀😀😀", 3, measure), "😀😀…"); // never half of a character
  assert.equal(elide("wide", 0, measure), "…");
});

test("markup in a token is only text", () => {
  assert.equal(visible("</script><b>"), "</script><b>");
});

test("a page's model tells of changes as Jupyter's does", () => {
  const model = pageModel({ layer: 0 });
  let heard = 0;
  const listener = () => heard++;
  model.on("change:layer", listener);
  model.set("layer", 1);
  model.set("layer", 1);
  assert.deepEqual([model.get("layer"), heard], [1, 1]);
  model.off("change:layer", listener);
  model.set("layer", 2);
  assert.equal(heard, 1);
});

test("bytes come back as bytes, and all else as it was", () => {
  const state = revive({ a: [1, null, "x"], b: { weights: { base64: "AAEC/w==" } } });
  assert.deepEqual(state.a, [1, null, "x"]);
  const { weights } = state.b;
  assert.deepEqual([...new Uint8Array(weights.buffer)], [0, 1, 2, 255]);
  assert.ok(weights instanceof DataView);
});

test("a window onto a picture is painted as the whole is", () => {
  const ramp = Uint32Array.from({ length: 256 }, (_, i) => i);
  const weights = Float32Array.from({ length: 12 }, (_, i) => i / 11);
  const paint = (box) => {
    const pixels = new Uint32Array(box.width * box.height);
    paintWeights({ weights, rows: 3, cols: 4 }, pixels, box.width, box, { ramp });
    return pixels;
  };
  const whole = paint({ width: 40, height: 30 });
  const part = paint({ width: 13, height: 9, across: 40, down: 30, x: 7, y: 12 });
  for (let y = 0; y < 9; y++) {
    for (let x = 0; x < 13; x++) assert.equal(part[y * 13 + x], whole[(y + 12) * 40 + x + 7]);
  }
});

test("what is weak is blank, what is masked is hatched, and a change has its sign's colour", () => {
  const ramp = Uint32Array.from({ length: 256 }, (_, i) => i);
  const pixels = new Uint32Array(3);
  const box = { width: 3, height: 1 };
  paintWeights({ weights: [0.5, -0.25, 0.1], rows: 1, cols: 3, limit: 0.5 }, pixels, 3, box, {
    ramp,
    blank: 1000,
    least: 0.2,
  });
  assert.deepEqual([...pixels], [255, 64, 1000]);
  const masked = Uint8Array.from([0, 1, 0]);
  const hatched = new Uint32Array(300);
  paintWeights(
    { weights: [1, 0, 0], rows: 1, cols: 3, masked },
    hatched,
    30,
    { width: 30, height: 10 },
    { ramp, blank: 1000, hatch: 2000 },
  );
  const middle = Array.from(hatched.subarray(10, 20));
  assert.ok(middle.includes(2000) && middle.includes(1000));
  assert.deepEqual([hatched[0], hatched[29]], [255, 0]);
});

test("a thumbnail keeps the strongest byte beneath each pixel, of a change the farthest from 128", () => {
  const ramp = Uint32Array.from({ length: 256 }, (_, i) => i);
  const overview = { values: Uint8Array.from([9, 128, 20, 200, 130]), rows: 2, cols: 2 };
  const pixels = new Uint32Array(1);
  paintThumbnail(overview, 1, true, pixels, 1, { left: 0, top: 0, width: 1, height: 1 }, ramp);
  assert.equal(pixels[0], 20);
  paintThumbnail(overview, 1, false, pixels, 1, { left: 0, top: 0, width: 1, height: 1 }, ramp);
  assert.equal(pixels[0], 200);
});

test("a signed number carries its sign, and nothing less than half a hundredth does", () => {
  assert.deepEqual(
    [0.5, -0.5, 0.001, -0.001].map((value) => formatWeight(value, 1)),
    ["+0.50", "−0.50", "0.00", "0.00"],
  );
  assert.equal(formatWeight(0.5, null), "0.50");
  const small = [3.21e-6, -1.2e-7, 1e-9];
  assert.deepEqual(
    small.map((value) => formatWeight(value, 3.3e-6)),
    ["+3.2 × 10⁻⁶", "−0.1 × 10⁻⁶", "0"],
  );
  assert.deepEqual(
    small.map((value) => weightDigits(value, 3.3e-6)),
    ["+3.2", "−0.1", "0.0"],
  );
  assert.equal(formatWeight(0.0123, 0.04), "+0.012");
});

test("pieces become a word without their tokenizer's marks", () => {
  assert.equal(joinPieces(["un", "##believ", "##able"]), "unbelievable");
  assert.equal(joinPieces(["▁vaca", "s"]), "vacas");
  assert.equal(joinPieces(["Ġcat", "s"]), "cats");
  assert.equal(joinPieces(["##ing"]), "##ing"); // alone it is shown as it is
  assert.equal(joinPieces(["▁the"]), "▁the");
  assert.equal(joinPieces(["▁the"], true), "the"); // unless it is known to be a word
  assert.equal(joinPieces(["▁"], true), "▁");
  assert.equal(joinPieces(["Ġ<0xE4><0xBD>", "<0xA0>", "好"]), "你好"); // bytes of one character
  assert.equal(joinPieces(["<0xE4>", "<0xBD>"]), "<0xE4><0xBD>");
});

test("pieces are read as a text, and words stay as they are", () => {
  assert.equal(runningText(["el", "gato", "<eos>"]), "el gato <eos>");
  assert.equal(runningText(["▁Ein", "▁Lie", "ge", ".", "<eos>"]), "Ein Liege. <eos>");
  assert.equal(runningText(["The", "Ġcat", "s", "<0xC3>"]), "The cats<0xC3>");
  assert.equal(runningText(["▁", "z", "oo"]), "zoo");
  assert.equal(runningText([]), "");
  const question = ["¿", "dónde", "está", "el", "gato", "?", "<eos>"];
  assert.equal(runningText(question), "¿dónde está el gato? <eos>");
  assert.equal(runningText(["¡", "hola", ",", "mundo", "!"]), "¡hola, mundo!");
});

test("words without a partner in the other translation differ, and no others", () => {
  const marks = (a, b) => differences(a.split(" "), b.split(" "));
  assert.deepEqual(marks("la vaca duerme", "el vaca duerme"), [
    [true, false, false],
    [true, false, false],
  ]);
  assert.deepEqual(marks("a b c", "a b c"), [
    [false, false, false],
    [false, false, false],
  ]);
  assert.deepEqual(marks("a b c", "a c"), [
    [false, true, false],
    [false, false],
  ]); // one is left out
  assert.deepEqual(marks("a c", "a b c"), [
    [false, false],
    [false, true, false],
  ]); // one is put in
  assert.deepEqual(marks("a b", "b a")[0].filter(Boolean).length, 1); // one of two is out of order
  assert.deepEqual(differences([], ["x"]), [[], [true]]);
});

test("a difference shows its sign, and none where the digits show nothing", () => {
  assert.equal(formatSigned(-1.2345, 3), "−1.234");
  assert.equal(formatSigned(0.5, 2), "+0.50");
  assert.equal(formatSigned(-0.0004, 3), "0.000");
  assert.equal(formatNumber(-0.5, 1), "−0.5");
  assert.equal(formatNumber(0.264, 3), "0.264");
});
