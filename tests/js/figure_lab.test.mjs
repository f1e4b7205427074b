// The figure lab's own decisions, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { samePlaces, withPlace } from "../../viz_transformer/widgets/figure_lab/view.js";
import { pngAddress } from "../../viz_transformer/widgets/base/js/png.js";

test("one place is changed, and the old list stays", () => {
  const before = [0, 3, 1];
  assert.deepEqual(withPlace(before, 1, 5), [0, 5, 1]);
  assert.deepEqual(before, [0, 3, 1]);
});

test("places are the same where each of them is", () => {
  assert.ok(samePlaces([1, 2], [1, 2]));
  assert.ok(!samePlaces([1, 2], [2, 1]));
  assert.ok(!samePlaces([1], [1, 2]));
});

test("bytes become an address, from wherever in a message they start", () => {
  const bytes = Uint8Array.from({ length: 20_003 }, (_, at) => at % 256);
  const address = pngAddress(new DataView(bytes.buffer, 3));
  assert.ok(address.startsWith("data:image/png;base64,"));
  const back = Uint8Array.from(atob(address.split(",")[1]), (letter) => letter.charCodeAt(0));
  assert.deepEqual(back, bytes.subarray(3));
});
