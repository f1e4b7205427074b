// The initial loss lab: the scores of an untrained model at one place, and the curve of its loss.

import { addChart, addHandle, addLegend } from "../base/js/chart.js";
import { choice, element, listSlider, setText } from "../base/js/controls.js";
import { nearestValue } from "../base/js/scales.js";
import { formatNumber, runningText, visible } from "../base/js/text.js";
import { addTextSizeButtons } from "../base/js/text_size.js";
import { tokenStrip } from "../base/js/token_strip.js";
import { createView } from "../base/js/view.js";
import { evenLoss, scoresAt, startInWords, stdText } from "./starts.js";

/**
 * @import { Chosen, Starts } from "./starts.js"
 */

const TRAITS = ["std", "sentence", "place", "text_size"];
const [WIDE, GAP, HEIGHT] = [760, 24, 290];
const LABEL = "standard deviation of the embeddings";

function render({ model, el }) {
  const name = "initial-loss-lab";
  const view = createView({ model, el, name, label: "Initial loss lab", traits: TRAITS, draw });
  const { root } = view;
  /** @type {Starts} */
  const starts = model.get("data");
  const choose = (/** @type {number} */ index) => view.set({ std: starts.stds[index] });
  const controls = addControls(root, starts, { model, view, choose });
  const says = element(root, "p", "vt-says", { role: "status", "aria-live": "polite" });
  const charts = element(root, "div", "vt-panels");
  const scores = addScores(charts, starts);
  const losses = addLosses(charts, view, starts, choose);

  function draw({ theme, width, size }) {
    theme.scale = size;
    const room = width / size;
    const wide = room >= WIDE;
    root.dataset.layout = wide ? "wide" : "narrow";
    const sentence = model.get("sentence");
    const chosen = {
      index: nearestValue(starts.stds, model.get("std"), Math.log),
      sentence,
      place: Math.min(model.get("place"), starts.read[sentence].length - 1),
    };
    controls.update(chosen);
    setText(says, startInWords(starts, chosen));
    const left = wide ? Math.round((room - GAP) * 0.63) : room;
    scores.draw(chosen, { width: left, height: HEIGHT, theme });
    losses.draw(chosen, { width: wide ? room - GAP - left : room, height: HEIGHT, theme });
  }

  return view.close;
}

/** The size of the embeddings, and what the model has read. */
function addControls(root, starts, { model, view, choose }) {
  const { tokens, stds, read } = starts;
  const line = element(root, "div", "vt-controls");
  const slider = listSlider(line, { label: LABEL, texts: stds.map(stdText) }, choose);
  addTextSizeButtons(line, (trait) => model.get(trait), view.set);
  const reading = element(root, "div", "vt-controls");
  const wordsOf = (ids) => ids.map((id) => tokens[id]);
  const sentences = read.map((ids, sentence) => [sentence, runningText(wordsOf(ids.slice(1)))]);
  const sentence = choice(reading, "sentence", sentences, (value) => {
    const last = read[Number(value)].length - 1;
    view.set({ sentence: Number(value), place: Math.min(model.get("place"), last) });
  });
  element(reading, "span").textContent = "has read up to";
  const strip = tokenStrip(reading, {
    label: "the word just read",
    onChoose: (place) => view.set({ place }),
  });

  return {
    /** @param {Chosen} chosen */
    update({ index, sentence: shown, place }) {
      slider.set(index);
      sentence.set(String(shown));
      strip.set(wordsOf(read[shown]), { chosen: place });
    },
  };
}

/** The scores as bars, with the token just read and the one to be written in colours of their own. */
function addScores(parent, starts) {
  const box = element(parent, "div");
  const chart = addChart(box, "Logits of the next token");
  const legend = addLegend(box);
  const { tokens, read, wanted } = starts;

  return {
    /** @param {Chosen} chosen */
    draw(chosen, size) {
      const scores = scoresAt(starts, chosen);
      const own = read[chosen.sentence][chosen.place];
      const next = wanted[chosen.sentence][chosen.place];
      const [low, high] = [Math.min(0, ...scores), Math.max(0, ...scores)];
      const margin = (high - low) * 0.06;
      chart.frame({
        ...size,
        title: "logits of the next token",
        x: { names: tokens },
        y: { domain: [low - margin, high + margin], grid: true },
      });
      chart.rule("zero", { y: 0, className: "vt-zero" });
      chart.bars("rest", { y: scores, className: "vt-of-score" });
      chart.bars("read", { x: [own], y: [scores[own]], className: "vt-of-part" });
      chart.bars("wanted", { x: [next], y: [scores[next]], className: "vt-of-right" });
      const told = (id, what) => `${visible(tokens[id])}, ${what}: ${formatNumber(scores[id], 1)}`;
      legend.set([
        { text: told(own, "just read"), className: "vt-bar vt-of-part" },
        { text: told(next, "should be written"), className: "vt-bar vt-of-right" },
      ]);
    },
  };
}

/** The curve of the loss, with a handle at the chosen size. */
function addLosses(parent, view, starts, choose) {
  const { stds, losses } = starts;
  const chart = addChart(element(parent, "div"), "Loss by the standard deviation of the embeddings");
  const handle = addHandle(view, chart, {
    label: `${LABEL}, along the curve`,
    axis: "x",
    values: stds.map((_, index) => index),
    onMove: choose,
    toValue: (std) => nearestValue(stds, std, Math.log),
  });
  const even = evenLoss(starts);
  const [least, most] = [Math.min(even, ...losses) / 1.5, Math.max(...losses) * 1.5];

  return {
    /** @param {Chosen} chosen */
    draw({ index }, size) {
      const loss = formatNumber(losses[index], 1);
      chart.frame({
        ...size,
        title: `loss before training: ${loss}`,
        x: { domain: [stds[0] / 1.3, stds.at(-1) * 1.3], log: 10, label: LABEL, grid: true },
        y: { domain: [least, most], log: 10, grid: true },
      });
      chart.rule("even", { y: even });
      const text = `ln ${starts.tokens.length} = ${formatNumber(even, 2)}`;
      chart.texts("even-name", [{ x: stds.at(-1), y: even, text, anchor: "end", shift: [0, -9] }]);
      chart.line("curve", { x: stds, y: losses, className: "vt-of-loss" });
      chart.points("stops", { x: stds, y: losses, className: "vt-of-loss" });
      handle.set({
        x: stds[index],
        y: losses[index],
        value: index,
        text: `${stdText(stds[index])}, loss ${loss}`,
      });
    },
  };
}

export default { render };
