// The page's engine refuses a beam that would fill the memory, as Python does.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readSafetensors } from "../../viz_transformer/engine/safetensors.ts";
import { makeTextModel } from "../../viz_transformer/engine/text_model.ts";

test("a beam wider than a thousand is refused in one line that names the most", () => {
  const file = (name) => readFileSync(new URL(`../../data/en-es/${name}`, import.meta.url));
  const model = makeTextModel({
    config: JSON.parse(file("config.json").toString()),
    vocabulary: JSON.parse(file("vocabulary.json").toString()),
    weights: readSafetensors(file("model.safetensors")),
  });
  const refused = (beamWidth, why) =>
    assert.throws(() => /** @type {any} */ (model).decode("the cat sleeps", { beamWidth }), why);
  for (const width of [1_001, 1e9, 1e18]) refused(width, /^UserError: beam_width=.*at most 1,000$/);
  for (const width of [0, -1, 2.5, NaN, true, "4"]) refused(width, /whole number of at least 1/);
});
