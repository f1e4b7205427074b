// The leak meter's gauge and sentence, for every preset, batch and token, measured in the bundled models.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { answerMaskLab } from "../../viz_transformer/engine/answers/mask_lab.js";
import { readSafetensors } from "../../viz_transformer/engine/safetensors.js";
import { makeTextModel } from "../../viz_transformer/engine/text_model.js";
import { composeMask } from "../../viz_transformer/widgets/mask_lab/composition.js";
import {
  countLeaks,
  leakToShow,
  meterInWords,
  readLeaks,
} from "../../viz_transformer/widgets/mask_lab/leak_meter.js";
import { firstLook, PRESETS } from "../../viz_transformer/widgets/mask_lab/presets.js";
import { maskRequest } from "../../viz_transformer/widgets/mask_lab/requests.js";

/** Each family with the sides of two sentences, as labs/mask_lab.py reads them. */
const FAMILIES = {
  "en-es": {
    kinds: ["encoder", "decoder", "cross"],
    sentences: [
      [
        "the black cat is very tired <eos>",
        "<sos> el gato negro está muy cansado",
        "el gato negro está muy cansado <eos>",
      ],
      ["I sleep <eos>", "<sos> duermo", "duermo <eos>"],
    ],
  },
  "language-model": {
    kinds: ["decoder"],
    sentences: [
      ["el gato negro duerme <eos>", "<sos> el gato negro duerme", "el gato negro duerme <eos>"],
      ["la vaca come <eos>", "<sos> la vaca come", "la vaca come <eos>"],
    ],
  },
};

function modelOf(name) {
  const file = (part) => readFileSync(new URL(`../../data/${name}/${part}`, import.meta.url));
  return makeTextModel({
    config: JSON.parse(file("config.json").toString()),
    vocabulary: JSON.parse(file("vocabulary.json").toString()),
    weights: readSafetensors(file("model.safetensors")),
  });
}

/** Every preset of every family, with the shorter sentence second and first: what the meter measures. */
function* measuredPresets() {
  for (const [name, { kinds, sentences }] of Object.entries(FAMILIES)) {
    const model = modelOf(name);
    for (const order of [sentences, [...sentences].reverse()]) {
      const [source, target, written] = [0, 1, 2].map((side) => order.map((sides) => sides[side].split(" ")));
      const words = { source, target, written };
      const lengths = source.map((tokens, b) => Math.max(tokens.length, target[b].length));
      for (const preset of PRESETS.filter((each) => kinds.includes(each.state.kind))) {
        const state = /** @type {any} */ ({ ...preset.state, lengths, painted: [] });
        const reply = answerMaskLab({ "": model }, maskRequest(words, state, "leaks"));
        const label = `${name}, ${preset.name}, ${source[0].length} words first`;
        yield { label, preset, state, composed: composeMask(words, state), leaks: readLeaks(reply) };
      }
    }
  }
}

const MEASURED = [...measuredPresets()];

test("a preset selects the token that leaks to most outputs, and the sentence says so", () => {
  const wrong = MEASURED.flatMap(({ label, preset, state, composed, leaks }) => {
    const first = { ...firstLook(preset, composed), edit: "word" };
    const shown = { ...first, ...leakToShow(leaks, composed, first, "batch") };
    const { sentence, gauge } = meterInWords(leaks, composed, { ...state, ...shown });
    const hasLeak = /batch: [1-9]/.test(gauge);
    const isAsMeant = !(preset.right && hasLeak) && sentence.startsWith(hasLeak ? "Leak: " : "No leak: ");
    return isAsMeant ? [] : [`${label}: ${gauge}. ${sentence}`];
  });
  assert.deepEqual(wrong, []);
});

test("whatever is replaced, the sentence never says “No leak” where the gauge counts one", () => {
  const wrong = MEASURED.flatMap(({ label, state, composed, leaks }) => {
    const edits = Array.from({ length: composed.keys }, (_, edited) => ({ edit: "word", edited }));
    if (leaks.longer) edits.push({ edit: "padding", edited: 0 });
    return composed.keyTokens.flatMap((_, sentence) =>
      edits.flatMap((edit) => {
        const told = meterInWords(leaks, composed, { ...state, ...edit, sentence });
        const counted = / [1-9]\d* of /.test(told.gauge);
        const saysNone = told.sentence.startsWith("No leak");
        return saysNone === !counted && (told.isLeaky || saysNone || state.side === "left")
          ? []
          : [`${label}, ${JSON.stringify(edit)}, sentence ${sentence}: ${told.gauge}. ${told.sentence}`];
      }),
    );
  });
  assert.deepEqual(wrong, []);
});

test("a change of one part moves the selection only where the chosen token leaks nothing", () => {
  const { composed, leaks } = MEASURED.find(({ preset }) => preset.name === "No look-ahead mask");
  assert.ok(countLeaks(leaks, composed).leaks > 0);
  const kept = { sentence: 0, edit: "word", edited: 3 };
  assert.equal(leakToShow(leaks, composed, kept, "sentence"), null);
  const quiet = { ...kept, edited: 0 }; // every output may depend on the first token
  assert.equal(leakToShow(leaks, composed, quiet, "sentence").edited, 6);
});
