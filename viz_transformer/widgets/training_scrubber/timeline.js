// The timeline: a slider over the moments, a button that plays them, and the loss curves to click.

import { pointerPosition } from "../base/canvas.ts";
import { button, element, setText, slider } from "../base/controls.ts";
import { curveAxes, describeCurves, drawCurves, momentAt, paintCurves } from "./loss_curve.js";
import { TASKS } from "../base/tasks.ts";
import { compareWords } from "./runs.js";

/** @typedef {import("./runs.js").Run} Run */

const PLAY_MS = 7000; // a training is played in about so long
const CURVE_HEIGHT = 112;

/**
 * How long each moment is shown while a training is played, in milliseconds.
 *
 * @param {number} count of moments
 * @returns {number}
 */
export function momentDuration(count) {
  return Math.min(700, Math.max(120, PLAY_MS / count));
}

/**
 * The slider and the button that plays.
 *
 * @param {Element} parent
 * @param {import("../base/view.ts").View} view
 * @param {Run} run
 * @param {{ get: () => number, set: (moment: number) => void }} moment
 * @returns {{ draw: (moment: number, sentence: number) => void, pause: () => void }}
 */
export function momentControls(parent, view, run, moment) {
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  const last = run.moments.length - 1;
  const row = element(parent, "div", "vt-controls vt-drive");
  const player = button(row, "▶ Play", () => (timer ? pause() : play()));
  const range = { label: "Moment", min: 0, max: last, step: 1, digits: 0 };
  const control = slider(row, range, (value) => {
    pause();
    moment.set(value);
  });
  const input = control.node.querySelector("input");
  control.node.querySelector("output").remove(); // a moment is named by its step
  const step = element(row, "output", "vt-step-now");
  let timer = null;
  view.listen(reducedMotion, "change", view.redraw);

  function pause() {
    clearInterval(timer);
    timer = null;
    setText(player, "▶ Play");
  }

  function play() {
    if (moment.get() >= last) moment.set(0);
    setText(player, "❚❚ Pause");
    timer = setInterval(
      () => {
        if (moment.get() >= last || reducedMotion.matches) pause();
        else moment.set(moment.get() + 1);
      },
      momentDuration(last + 1),
    );
  }

  function draw(index, sentence) {
    player.hidden = reducedMotion.matches || last === 0;
    control.set(index);
    const name = `step ${run.moments[index]}`;
    setText(step, name);
    const { right } = compareWords(run.translations[index][sentence], run.references[sentence]);
    input.setAttribute("aria-valuetext", `${name}, ${TASKS[run.task].spoken[right ? 0 : 1]}`);
  }

  return { draw, pause };
}

/**
 * The loss curves of all runs; `onMoment` gets the moment that is clicked or dragged to.
 *
 * @param {Element} parent
 * @param {import("../base/view.ts").View} view
 * @param {Run[]} runs
 * @param {(moment: number) => void} onMoment
 * @returns {{ draw: (moments: number[], width: number, theme: import("../base/colour.ts").Theme) => void,
 *   clear: () => void }} `clear` drops what is painted
 */
export function lossCurves(parent, view, runs, onMoment) {
  const canvas = element(parent, "canvas", "vt-canvas vt-curve", { role: "img" });
  let [axes, sheet, scale] = [null, null, 1];

  function jump(event) {
    if (axes) onMoment(momentAt(axes, runs[0].moments, pointerPosition(canvas, event)[0] / scale));
  }
  view.listen(canvas, "pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    jump(event);
  });
  view.listen(canvas, "pointermove", (event) => {
    if (event.buttons & 1) jump(event);
  });

  function draw(moments, width, theme) {
    scale = theme.scale;
    if (axes?.width !== width) {
      axes = curveAxes(runs, width, CURVE_HEIGHT);
      sheet = paintCurves(runs, axes, theme);
    }
    drawCurves(canvas, sheet, axes, runs, moments, theme);
    canvas.setAttribute("aria-label", `${describeCurves(runs, moments)} Click to go to a moment.`);
  }

  function clear() {
    axes = null;
  }

  return { draw, clear };
}
