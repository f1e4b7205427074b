// The training scrubber: drag through a training, or through two beside each other.
//
// What is chosen lives in the model's traits. Of a large training the heads of one sentence are
// here and those of another are asked for; texts and curves are always here.

import { pointerPosition } from "../base/js/canvas.js";
import { button, choice, element, setText, slider } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { connectKernel } from "../base/js/kernel.js";
import { addTextSizeButtons } from "../base/js/text_size.js";
import { elide, visible } from "../base/js/text.js";
import { curveAxes, curveInWords, drawCurve, momentAt, paintCurves } from "./loss_curve.js";
import { compareWords, nearestTo, readKind, readRun } from "./runs.js";
import { openSide } from "./run_panel.js";

const CHOSEN_TRAITS = [
  "moment",
  "sentence",
  "kind",
  "layer",
  "head",
  "other_layer",
  "other_head",
  "text_size",
];
const SIDE_TRAITS = [
  ["layer", "head"],
  ["other_layer", "other_head"],
];
const MOST_SENTENCES = 6; // of those asked for, whose heads are kept
const PLAY_MS = 7000; // a training is played in about so long
const CURVE_HEIGHT = 150;

/** How long each moment stands while a training is played. */
export function paceOf(count) {
  return Math.min(700, Math.max(120, PLAY_MS / count));
}

/** Layer and head of each side brought inside another kind: the traits to set. */
export function fitHeads(entries, get) {
  const change = {};
  entries.forEach((entry, side) => {
    SIDE_TRAITS[side].forEach((trait, axis) => {
      change[trait] = Math.min(get(trait) ?? 0, (axis ? entry.heads : entry.layers) - 1);
    });
  });
  return change;
}

function render({ model, el }) {
  const view = createView({
    model,
    el,
    name: "training-scrubber",
    label: "Training scrubber",
    traits: ["data", ...CHOSEN_TRAITS],
    draw,
  });
  const { root, listen } = view;
  const kernel = connectKernel(model);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const get = (name) => model.get(name);
  const data = get("data");
  const runs = data.runs.map(readRun);
  const [first] = runs;
  const last = first.moments.length - 1;
  const asked = new Map(); // sentences whose heads were asked for, and came
  const here = new Map(); // sentences whose heads came with the view
  let [waitingFor, problem, timer, curve, state] = [null, "", null, null, { theme: null, scale: 1 }];

  // --- the parts ------------------------------------------------------------------------------

  const choices = element(root, "div", "vt-controls");
  const cut = (text) => elide(visible(text), 90, (part) => Array.from(part).length);
  const sentences = choice(
    choices,
    "Sentence",
    first.sources.map((text, index) => [index, cut(text)]),
    (value) => view.set({ sentence: Number(value) }),
  );
  const kinds = choice(
    choices,
    "Heads of",
    data.kinds.map((kind) => [kind, ATTENTION_KINDS[kind].label]),
    (kind) => {
      const entries = headsOf(get("sentence"))?.map((side) => side[kind]);
      view.set({ kind, ...(entries && fitHeads(entries, get)) });
    },
  );
  addTextSizeButtons(choices, get, view.set);
  const drive = element(root, "div", "vt-controls vt-drive");
  const playing = button(drive, "▶ Play", () => (timer ? pause() : play()));
  const moments = slider(drive, { label: "Moment", min: 0, max: last, step: 1, digits: 0 }, (moment) =>
    show(moment),
  );
  const input = moments.node.querySelector("input");
  moments.node.querySelector("output").remove(); // a moment is named by its step
  const step = element(drive, "output", "vt-step-now");
  const curveCanvas = element(root, "canvas", "vt-canvas vt-curve", { role: "img" });
  const trouble = element(root, "p", "vt-problem", { role: "alert" });
  const sidesPart = element(root, "div", "vt-sides");
  const sides = runs.map((_, index) =>
    openSide(view, sidesPart, {
      scale: () => state.scale,
      chosenIn: (entry) => chosenIn(index, entry),
      onHead: ({ layer, head }) =>
        view.set({ [SIDE_TRAITS[index][0]]: layer, [SIDE_TRAITS[index][1]]: head }),
    }),
  );

  // --- what the viewer does -------------------------------------------------------------------

  function show(moment) {
    pause();
    view.set({ moment });
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    setText(playing, "▶ Play");
  }
  function play() {
    if (get("moment") >= last) view.set({ moment: 0 });
    setText(playing, "❚❚ Pause");
    timer = setInterval(
      () => {
        if (get("moment") >= last || calm.matches) pause();
        else view.set({ moment: get("moment") + 1 });
      },
      paceOf(last + 1),
    );
  }
  const jump = (event) => {
    if (!curve) return;
    const moment = momentAt(curve.axes, first.moments, pointerPosition(curveCanvas, event)[0] / state.scale);
    if (moment !== get("moment")) show(moment);
  };
  listen(curveCanvas, "pointerdown", (event) => {
    curveCanvas.setPointerCapture(event.pointerId);
    jump(event);
  });
  listen(curveCanvas, "pointermove", (event) => {
    if (event.buttons & 1) jump(event);
  });
  listen(calm, "change", view.redraw);

  // --- heads of a sentence --------------------------------------------------------------------

  const readSides = (sent) =>
    sent.runs.map((side) =>
      Object.fromEntries(Object.entries(side).map(([kind, entry]) => [kind, readKind(entry)])),
    );

  /** The heads of a sentence, [side]{kind: entry}; null until they have come. */
  function headsOf(sentence) {
    if (data.sentences[sentence] && !here.has(sentence))
      here.set(sentence, readSides(data.sentences[sentence]));
    const found = here.get(sentence) ?? asked.get(sentence);
    if (found || waitingFor === sentence) return found ?? null;
    [waitingFor, problem] = [sentence, ""];
    kernel.latest(
      { sentence },
      (reply) => {
        asked.set(sentence, readSides(reply));
        if (asked.size > MOST_SENTENCES) asked.delete(asked.keys().next().value);
        [waitingFor, problem] = [null, ""];
        view.redraw();
      },
      (error) => {
        problem = error.message;
        view.redraw();
      },
    );
    return null;
  }

  // --- what is shown --------------------------------------------------------------------------

  function draw({ theme, width: pixels }) {
    const size = get("text_size") ?? 1;
    if (state.theme !== theme || state.scale !== size) {
      theme.scale = size;
      state = { theme, scale: size };
      root.style.fontSize = `${14 * size}px`;
      sides.forEach((side) => side.forget());
      curve = null;
    }
    const [moment, sentence, kind] = [Math.min(get("moment"), last), get("sentence"), get("kind")];
    const places = runs.map((run) => nearestTo(run.moments, first.moments[moment]));
    const width = pixels / size;
    drawControls(moment, sentence, kind);
    if (curve?.axes.width !== width) {
      const axes = curveAxes(runs, width, CURVE_HEIGHT);
      curve = { axes, sheet: paintCurves(runs, axes, theme) };
    }
    drawCurve(curveCanvas, curve.sheet, curve.axes, runs, places, theme);
    curveCanvas.setAttribute("aria-label", `${curveInWords(runs, places)} Click to go to a moment.`);
    drawSides(places, sentence, kind, width);
  }

  function drawControls(moment, sentence, kind) {
    playing.hidden = calm.matches || last === 0;
    sentences.set(String(sentence));
    kinds.set(kind);
    moments.set(moment);
    setText(step, `step ${first.moments[moment]}`);
    const { right } = compareWords(first.translations[moment][sentence], first.references[sentence]);
    input.setAttribute(
      "aria-valuetext",
      `step ${first.moments[moment]}, translation ${right ? "right" : "not yet right"}`,
    );
  }

  /** The head {layer, head} chosen on a side, of those that there are. */
  function chosenIn(index, entry) {
    const [layer, head] = SIDE_TRAITS[index].map((trait) => get(trait) ?? 0);
    return {
      layer: Math.min(layer, (entry?.layers ?? 1) - 1),
      head: Math.min(head, (entry?.heads ?? 1) - 1),
    };
  }

  function drawSides(places, sentence, kind, width) {
    const found = headsOf(sentence);
    const beside = runs.length > 1 && width >= 760;
    const longest = Math.max(
      ...runs.flatMap((run) => run.translations.map((each) => state.theme.measure(each[sentence], 15, true))),
    );
    root.dataset.layout = beside ? "beside" : "below";
    root.dataset.waiting = String(!found);
    trouble.hidden = Boolean(found) || !problem;
    setText(trouble, problem);
    sides.forEach((side, index) => {
      const entry = found?.[index][kind] ?? null;
      side.draw({
        run: runs[index],
        moment: places[index],
        sentence,
        entry,
        named: runs.length > 1,
        longest,
        theme: state.theme,
        chosen: { kind, ...chosenIn(index, entry) },
        width: beside ? (width - 28) / 2 : width,
        height: 320,
      });
    });
  }

  return () => {
    pause();
    kernel.close();
    view.close();
  };
}

export default { render };
