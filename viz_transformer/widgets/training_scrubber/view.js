// The training scrubber: drag through a training, or through two beside each other.
//
// What is chosen lives in the model's traits. Of a large training the heads of one sentence are here
// and those of another are requested; texts and curves are always here.

import { choice, element, setText } from "../base/controls.ts";
import { connectKernel } from "../base/js/kernel.js";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import { elide, visible } from "../base/text.ts";
import { addTextSizeButtons } from "../base/text_size.ts";
import { createView, heightInSight } from "../base/view.ts";
import { runPanel } from "./run_panel.js";
import { nearestIndex, readRun } from "./runs.js";
import { sentenceHeads } from "./sentence_heads.js";
import { lossCurves, momentControls } from "./timeline.js";

/** @typedef {import("./runs.js").Run} Run */
/** @typedef {import("./runs.js").KindEntry} KindEntry */
/** @typedef {(trait: string) => any} Get */

/** The traits of each run's chosen head. */
const HEAD_TRAITS = [
  { layer: "layer", head: "head" },
  { layer: "other_layer", head: "other_head" },
];
const TRAITS = [
  "data",
  "moment",
  "sentence",
  "kind",
  ...HEAD_TRAITS.flatMap(({ layer, head }) => [layer, head]),
  "text_size",
];

/**
 * The chosen head of a run, one that there is.
 *
 * @param {number} run its index
 * @param {Pick<KindEntry, "layers" | "heads"> | null} entry
 * @param {Get} get
 * @returns {{ layer: number, head: number }}
 */
function chosenHead(run, entry, get) {
  const traits = HEAD_TRAITS[run];
  return {
    layer: Math.min(get(traits.layer) ?? 0, (entry?.layers ?? 1) - 1),
    head: Math.min(get(traits.head) ?? 0, (entry?.heads ?? 1) - 1),
  };
}

/**
 * The traits to set when another kind is chosen, so that each run's head is one that there is.
 *
 * @param {Pick<KindEntry, "layers" | "heads">[]} entries the heads of each run
 * @param {Get} get
 * @returns {Record<string, number>}
 */
export function fitHeads(entries, get) {
  return Object.assign({}, ...entries.map((entry, run) => headChange(run, chosenHead(run, entry, get))));
}

function headChange(run, { layer, head }) {
  return { [HEAD_TRAITS[run].layer]: layer, [HEAD_TRAITS[run].head]: head };
}

function render({ model, el }) {
  const view = createView({
    model,
    el,
    name: "training-scrubber",
    label: "Training scrubber",
    traits: TRAITS,
    draw,
  });
  const { root } = view;
  const kernel = connectKernel(model);
  const get = (/** @type {string} */ trait) => model.get(trait);
  const data = get("data");
  /** @type {Run[]} */
  const runs = data.runs.map(readRun);
  const [first] = runs;
  const heads = sentenceHeads(data.sentences, kernel, view.redraw);
  let [theme, scale] = [null, 1]; // as what is painted was painted

  const menus = sentenceMenus(root, { first, data, heads, view, get });
  const about = root.querySelector(":scope > .vt-about");
  if (about) root.append(about); // beside the slider, which gives way
  const setMoment = (moment) => view.set({ moment });
  const controls = momentControls(root, view, first, { get: () => get("moment"), set: setMoment });
  const curves = lossCurves(root, view, runs, (moment) => {
    if (moment === get("moment")) return;
    controls.pause();
    setMoment(moment);
  });
  const panels = runPanels(root, { runs, heads, view, get, scale: () => scale });

  function draw(frame) {
    const { size } = frame;
    if (theme !== frame.theme || scale !== size) {
      [theme, scale] = [frame.theme, size];
      theme.scale = size;
      panels.clear();
      curves.clear();
    }
    const [moment, sentence, kind] = [
      Math.min(get("moment"), first.moments.length - 1),
      get("sentence"),
      get("kind"),
    ];
    const moments = runs.map((run) => nearestIndex(run.moments, first.moments[moment]));
    const width = frame.width / size;
    menus.draw(sentence, kind);
    controls.draw(moment, sentence);
    curves.draw(moments, width, theme);
    panels.draw({ moments, sentence, kind, width, theme });
  }

  return () => {
    controls.pause();
    kernel.close();
    view.close();
  };
}

/** The menus of the sentence and of the kind, and the buttons for the text size. */
function sentenceMenus(parent, { first, data, heads, view, get }) {
  const row = element(parent, "div", "vt-controls");
  const shorten = (text) => elide(visible(text), 90, (part) => Array.from(part).length);
  const sentences = choice(
    row,
    "Sentence",
    first.sources.map((text, index) => [index, shorten(text)]),
    (value) => view.set({ sentence: Number(value) }),
  );
  const kinds = choice(
    row,
    "Heads of",
    data.kinds.map((kind) => [kind, ATTENTION_KINDS[kind].label]),
    (kind) => {
      const entries = heads.get(get("sentence"))?.map((run) => run[kind]);
      view.set({ kind, ...(entries && fitHeads(entries, get)) });
    },
  );
  addTextSizeButtons(row, get, view.set);

  function draw(sentence, kind) {
    sentences.set(String(sentence));
    kinds.set(kind);
  }

  return { draw };
}

/** The panels of all runs, beside each other where there is room, and why heads are missing. */
function runPanels(parent, { runs, heads, view, get, scale }) {
  const problem = element(parent, "p", "vt-problem", { role: "alert" });
  const row = element(parent, "div", "vt-sides");
  const panels = runs.map((_, run) =>
    runPanel(view, row, {
      scale,
      chosenHead: (entry) => chosenHead(run, entry, get),
      onHead: (head) => view.set(headChange(run, head)),
    }),
  );

  function draw({ moments, sentence, kind, width, theme }) {
    const entries = heads.get(sentence);
    const beside = runs.length > 1 && width >= 760;
    const translations = runs.flatMap((run) => run.translations.map((texts) => texts[sentence]));
    const longest = Math.max(...translations.map((text) => theme.measure(text, 15, true)));
    parent.dataset.layout = beside ? "beside" : "below";
    parent.dataset.waiting = String(!entries);
    problem.hidden = Boolean(entries) || !heads.problem();
    setText(problem, heads.problem());
    for (const [index, panel] of panels.entries()) {
      const entry = entries?.[index][kind] ?? null;
      panel.draw({
        run: runs[index],
        moment: moments[index],
        sentence,
        entry,
        named: runs.length > 1,
        longest,
        theme,
        chosen: { kind, ...chosenHead(index, entry, get) },
        width: beside ? (width - 28) / 2 : width,
        height: Math.max(200, Math.min(320, heightInSight(parent) / theme.scale - 450)),
      });
    }
  }

  function clear() {
    for (const panel of panels) panel.clear();
  }

  return { draw, clear };
}

export default { render };
