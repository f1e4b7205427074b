// The mask lab's count of leaks and its headline, for every preset, batch and token, measured in the bundled models.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { answerMaskLab } from "../../viz_transformer/engine/answers/mask_lab.ts";
import { readSafetensors } from "../../viz_transformer/engine/safetensors.ts";
import { makeTextModel } from "../../viz_transformer/engine/text_model.ts";
import { plainText } from "../../viz_transformer/widgets/base/text.ts";
import { composeMask } from "../../viz_transformer/widgets/mask_lab/composition.ts";
import {
  countLeaks,
  countMoved,
  leakRows,
  leakToShow,
  readLeaks,
} from "../../viz_transformer/widgets/mask_lab/leaks.ts";
import { firstLook, PRESETS } from "../../viz_transformer/widgets/mask_lab/presets.ts";
import { maskRequest } from "../../viz_transformer/widgets/mask_lab/requests.ts";
import { told, whyItMatters } from "../../viz_transformer/widgets/mask_lab/sentences.ts";
import { assertTable, withoutMarks } from "./helpers.mjs";

/** Each family with the sides of two sentences, as widgets/mask_lab/live.py reads them. */
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
        yield {
          label,
          preset,
          state,
          composed: composeMask(words, state),
          leaks: readLeaks(/** @type {any} */ (reply)),
        };
      }
    }
  }
}

const MEASURED = [...measuredPresets()];

const says = (leaks, composed, shown, problem = "") => {
  const { headline, line, isLeaky } = told(leaks, composed, shown, problem);
  const [first, second] = [headline, line].map((pieces) => withoutMarks(plainText(pieces)));
  return { headline: first, line: second, isLeaky };
};

test("a preset selects the token that leaks to most outputs, and the headline says so", () => {
  const wrong = MEASURED.flatMap(({ label, preset, state, composed, leaks }) => {
    const first = { ...firstLook(preset, composed), edit: "word" };
    const shown = { ...first, ...leakToShow(leaks, composed, first, "batch") };
    const { headline, line } = says(leaks, composed, { ...state, ...shown });
    const hasLeak = /batch: [1-9]/.test(line);
    const isAsMeant =
      !(preset.right && hasLeak) &&
      (hasLeak ? / leaks into \d+ outputs?: /.test(headline) : /^No leak/.test(headline));
    return isAsMeant ? [] : [`${label}: ${line} ${headline}`];
  });
  assert.deepEqual(wrong, []);
});

test("whatever is replaced, the headline never says “No leak” where the line counts one", () => {
  const wrong = MEASURED.flatMap(({ label, state, composed, leaks }) => {
    const edits = Array.from({ length: composed.keys }, (_, edited) => ({ edit: "word", edited }));
    if (leaks.longer) edits.push({ edit: "padding", edited: 0 });
    return composed.keyTokens.flatMap((_, sentence) =>
      edits.flatMap((edit) => {
        const shown = { ...state, ...edit, sentence };
        const { headline, line, isLeaky } = says(leaks, composed, shown);
        const { leaks: pairs } = countLeaks(leaks, composed);
        const counted = edit.edit === "word" ? pairs : countMoved(leaks, composed).moved;
        const saysNone = headline.startsWith("No leak");
        const isRight =
          line.includes(`: ${counted} of `) &&
          saysNone === !counted &&
          (isLeaky || saysNone || state.side === "left");
        const leaksHere = leakRows(leaks, composed, shown).some(({ verdict }) => verdict === "leak");
        const saysHere = / leaks into \d|^Two .* move \d/.test(headline.split(";")[0]);
        return isRight && (leaksHere === saysHere || state.side === "left")
          ? []
          : [`${label}, ${JSON.stringify(edit)}, sentence ${sentence}: ${headline} | ${line}`];
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

test("what stands in the headline is named, whatever is shown", () => {
  const { composed, leaks, state } = MEASURED.find(({ preset }) => preset.name === "No look-ahead mask");
  const shown = { ...state, sentence: 0, edit: "word", edited: 6 };
  const quiet = { ...leaks, changes: () => 0, longer: () => 0 };
  const large = { ...leaks, changes: () => 1, longer: () => 1, writes: null };
  const padded = { ...shown, edit: "padding" };
  const refused = { ...padded, mistake: "causal_as_padding", causal: true, padding: false };
  const batch = composeMask(
    { source: [["a"]], target: [["b"]], written: [["c"]] },
    { ...refused, lengths: [1] },
  );
  assertTable(
    (found, changes, ofMask = composed) => {
      const { headline, line } = says(found, ofMask, { ...shown, ...changes }, changes.problem);
      return `${headline} | ${line}`;
    },
    [
      [
        leaks,
        {},
        composed,
        "cansado leaks into 6 outputs: <sos> writes cansado, not el | Bars: how far outputs move when cansado becomes cansada. Leaks in this batch: 22 of 32.",
      ],
      [large, { edited: 1 }, composed, /^el leaks into 1 output: <sos> moves \|/],
      [large, { edited: 2 }, composed, /^gato leaks into 2 outputs: <sos> moves most \|/],
      [leaks, { edited: 0 }, composed, /^<sos> leaks into no output; cansado leaks into 6 outputs \|/],
      [leaks, { edited: 0, sentence: 1 }, composed, /; cansado of sentence 1 leaks into 6 outputs/],
      [quiet, { edited: 5 }, composed, /^No leak, but muy is hidden from 2 outputs that may depend on it/],
      [large, padded, composed, /^Two more padding tokens move 7 outputs of this sentence \|/],
      [quiet, padded, composed, /^No leak: two more padding tokens move no output of this sentence \|.*0 of/],
      [large, { ...padded, side: "left" }, composed, /later position, which no mask can hide/],
      [
        { ...leaks, longer: null },
        refused,
        batch,
        /^Decoder self-attention: 0 of 1 cells are masked \| With two more/,
      ],
      [null, {}, composed, /cells are masked \| Asking the model …$/],
      [null, { problem: "No model." }, composed, /\| No model\.$/],
    ],
  );
  const why = (found, changes) =>
    whyItMatters(leakRows(found, composed, { ...shown, ...changes }), composed, { ...shown, ...changes });
  assertTable(why, [
    [leaks, {}, /depend on later words/],
    [leaks, { edited: 0 }, ""],
    [large, padded, /must not depend on its padding/],
  ]);
});
