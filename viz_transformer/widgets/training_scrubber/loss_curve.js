// The loss curves of the runs: axes, lines, and the marker of the moment.

import { fitCanvas, pixelRatio, drawText } from "../base/canvas.ts";
import { tickText } from "../base/scales.ts";
import { elide, visible } from "../base/text.ts";
import { formatLoss, nearestIndex } from "./runs.js";

/** @typedef {import("./runs.js").Run} Run */
/** @typedef {import("../base/colour.ts").Theme} Theme */
/** @typedef {ReturnType<typeof curveAxes>} Axes */

const LOG_FACTOR = 20; // a curve that spans more is drawn on a logarithmic axis
const [CURVE_LEFT, CURVE_RIGHT, CURVE_TOP, CURVE_BOTTOM] = [52, 20, 24, 38];
const [NARROW, NAMES_ROW] = [480, 18]; // below this width the curves' names stand in a row of their own
const DASHES = [[], [6, 4]];

/**
 * Ticks at 1, 2 or 5 times a power of ten from `low` to `high`: evenly apart, `most` of them at most.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} most
 * @returns {number[]}
 */
export function evenTicks(low, high, most) {
  const rough = Math.max((high - low) / most, 1e-12);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/**
 * Ticks of a logarithmic axis from `low` to `high`: 1, 2 and 5 times the powers of ten where that
 * leaves room between them, else fewer, and even ones.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} [decade] pixels that a power of ten takes
 * @param {number} [room] pixels between ticks
 * @returns {number[]}
 */
export function logTicks(low, high, decade = Infinity, room = 18) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const times = 0.3 * decade >= room ? [1, 2, 5] : 0.47 * decade >= room ? [1, 3] : [1];
  const every = Math.ceil(room / decade) || 1;
  const ticks = [];
  for (let power = Math.ceil(first / every) * every; power <= last; power += every) {
    for (const one of times) {
      const tick = Number(`${one}e${power}`); // 3 · 10⁻¹ is not 0.3 to a computer
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

/**
 * Whether steps crowd so near their beginning that an even axis would hide most of the moments.
 *
 * @param {number[]} moments
 * @returns {boolean}
 */
export function isCrowded(moments) {
  const last = moments.at(-1);
  return moments.length > 3 && last >= 20 && moments[moments.length >> 1] < last / 4;
}

/**
 * The axes of all runs: the scales `x(step)` and `y(loss)`, ticks, and names.
 *
 * @param {Run[]} runs
 * @param {number} width
 * @param {number} height
 */
export function curveAxes(runs, width, height) {
  const [right, bottom] = [width - CURVE_RIGHT, height - CURVE_BOTTOM];
  const namesY = runs.length > 1 && width < NARROW ? 9 + NAMES_ROW : 9;
  const top = CURVE_TOP + namesY - 9;
  const { low, high, logY } = lossRange(runs);
  const last = Math.max(1, ...runs.flatMap(({ moments, steps }) => [moments.at(-1), steps.at(-1) ?? 0]));
  const logX = isCrowded(runs[0].moments);
  const shift = Math.max(1, last / 100); // of a logarithmic axis that begins at 0
  const across = logX
    ? (step) => Math.log(1 + step / shift) / Math.log(1 + last / shift)
    : (step) => step / last;
  const down = logY
    ? (loss) => Math.log(loss / low) / Math.log(high / low)
    : (loss) => (loss - low) / (high - low);
  const x = (/** @type {number} */ step) => CURVE_LEFT + across(step) * (right - CURVE_LEFT);
  const y = (/** @type {number} */ loss) => bottom - down(loss) * (bottom - top);
  const xTicks = apart(logX ? [0, ...logTicks(1, last)] : evenTicks(0, last, 8), x, 44);
  const yTicks = logY
    ? logTicks(low, high, (bottom - top) / Math.log10(high / low))
    : apart(evenTicks(low, high, 5), y, 18);
  return {
    x,
    y,
    xTicks,
    yTicks,
    logX,
    logY,
    left: CURVE_LEFT,
    right,
    top,
    namesY,
    bottom,
    width,
    height,
    xName: `optimiser step${logX ? " (log scale)" : ""}`,
    yName: `loss (nats per token${logY ? ", log scale" : ""})`,
  };
}

/** The range of the losses, and whether a logarithmic axis suits it. */
function lossRange(runs) {
  let [low, high] = [Infinity, -Infinity];
  for (const { losses } of runs) {
    for (const loss of losses) {
      if (!Number.isFinite(loss)) continue;
      [low, high] = [Math.min(low, loss), Math.max(high, loss)];
    }
  }
  if (low > high) [low, high] = [0, 1]; // nothing was recorded
  const logY = low > 0 && high > LOG_FACTOR * low;
  return logY ? { low, high, logY } : { low: Math.min(0, low), high: high > low ? high : low + 1, logY };
}

/** Those ticks that stand at least so many pixels from the one before. */
function apart(ticks, place, pixels) {
  let before = -Infinity;
  return ticks.filter((tick) => {
    if (Math.abs(place(tick) - before) < pixels) return false;
    before = place(tick);
    return true;
  });
}

/**
 * The moment whose place on the axis is nearest to a pixel.
 *
 * @param {Pick<Axes, "x">} axes
 * @param {number[]} moments
 * @param {number} pixel
 * @returns {number}
 */
export function momentAt(axes, moments, pixel) {
  return nearestIndex(moments.map(axes.x), pixel);
}

/**
 * The curves, axes and names on a canvas of their own, painted once and drawn in every frame.
 *
 * @param {Run[]} runs
 * @param {Axes} axes
 * @param {Theme} theme
 * @returns {HTMLCanvasElement}
 */
export function paintCurves(runs, axes, theme) {
  const sheet = document.createElement("canvas");
  const ratio = pixelRatio() * theme.scale;
  [sheet.width, sheet.height] = [Math.round(axes.width * ratio), Math.round(axes.height * ratio)];
  const context = sheet.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.direction = "ltr";
  paintAxes(context, runs[0].moments, axes, theme);
  for (const [index, run] of runs.entries()) paintCurve(context, run, index, axes, theme);
  if (runs.length > 1) nameCurves(context, runs, axes, theme);
  if (!runs.some((run) => run.losses.length)) {
    const text = "No loss was recorded; the marks are the moments.";
    const middle = (axes.top + axes.bottom) / 2;
    drawText(context, text, axes.left + 8, middle, { font: `11px ${theme.family}`, colour: theme.muted });
  }
  return sheet;
}

function paintAxes(context, moments, axes, theme) {
  /** @type {import("../base/canvas.ts").TextStyle} */
  const small = { font: `11px ${theme.family}`, colour: theme.muted };
  const large = { ...small, font: `12px ${theme.family}` };
  const rule = (x, y, width, height, alpha) => {
    context.globalAlpha = alpha;
    context.fillStyle = theme.muted;
    context.fillRect(x, y, width, height);
    context.globalAlpha = 1;
  };
  for (const tick of axes.yTicks) {
    rule(axes.left, axes.y(tick) - 0.5, axes.right - axes.left, 1, 0.22);
    drawText(context, tickText(tick), axes.left - 7, axes.y(tick), { ...small, align: "right" });
  }
  rule(axes.left, axes.bottom, axes.right - axes.left, 1, 0.8);
  for (const tick of axes.xTicks)
    drawText(context, String(tick), axes.x(tick), axes.bottom + 14, { ...small, align: "center" });
  for (const step of moments) rule(axes.x(step) - 0.5, axes.bottom, 1, 6, 0.8);
  drawText(context, axes.yName, 4, 9, large);
  drawText(context, `${axes.xName} →`, axes.left, axes.height - 8, large);
}

function paintCurve(context, { steps, losses }, index, axes, theme) {
  strokeAsRun(context, index, theme, () => {
    let drawing = false; // a loss that is not finite leaves a gap
    for (let i = 0; i < losses.length; i++) {
      const wasDrawing = drawing;
      drawing = Number.isFinite(losses[i]);
      if (!drawing) continue;
      if (wasDrawing) context.lineTo(axes.x(steps[i]), axes.y(losses[i]));
      else context.moveTo(axes.x(steps[i]), axes.y(losses[i]));
    }
  });
}

/** Stroke a path in the colour and the dashes of a run. */
function strokeAsRun(context, index, theme, path) {
  context.strokeStyle = index ? theme.muted : theme.text;
  context.lineWidth = 2;
  context.setLineDash(DASHES[index]);
  context.beginPath();
  path();
  context.stroke();
  context.setLineDash([]);
}

/** Which line is which, at the right above the curves: the losses fall away from there. */
function nameCurves(context, runs, axes, theme) {
  let x = axes.right;
  for (let index = runs.length - 1; index >= 0; index--) {
    const name = elide(visible(runs[index].name), 180, (text) => theme.measure(text, 12, false));
    x -= theme.measure(name, 12, false);
    drawText(context, name, x, axes.namesY, { font: `12px ${theme.family}`, colour: theme.text });
    const end = x;
    strokeAsRun(context, index, theme, () => {
      context.moveTo(end - 34, axes.namesY);
      context.lineTo(end - 8, axes.namesY);
    });
    x -= 54;
  }
}

/**
 * Draw the curves with the marker: a line at the step, and a point on each curve.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLCanvasElement} sheet from paintCurves
 * @param {Axes} axes
 * @param {Run[]} runs
 * @param {number[]} moments the index of each run's moment
 * @param {Theme} theme
 */
export function drawCurves(canvas, sheet, axes, runs, moments, theme) {
  const context = fitCanvas(canvas, axes.width, axes.height, theme.scale);
  context.drawImage(sheet, 0, 0, axes.width, axes.height);
  const step = runs[0].moments[moments[0]];
  context.fillStyle = theme.accent;
  context.fillRect(axes.x(step) - 1, axes.top, 2, axes.bottom - axes.top + 6);
  for (const [index, run] of runs.entries()) {
    if (!run.losses.length) continue;
    const at = run.moments[moments[index]];
    const loss = run.losses[nearestIndex(run.steps, at)];
    if (!Number.isFinite(loss)) continue;
    context.beginPath();
    context.arc(axes.x(at), axes.y(loss), 5, 0, 7);
    context.fillStyle = index ? theme.background : theme.text;
    context.fill();
    context.strokeStyle = index ? theme.muted : theme.background;
    context.lineWidth = 2;
    context.stroke();
  }
}

/**
 * The curves in words, for those who cannot see them.
 *
 * @param {Pick<Run, "name" | "steps" | "losses" | "moments">[]} runs
 * @param {number[]} moments the index of each run's moment
 * @returns {string}
 */
export function describeCurves(runs, moments) {
  return runs
    .map((run, index) => {
      const { name, steps, losses } = run;
      if (!losses.length) return `${visible(name)}: no loss was recorded.`;
      const step = run.moments[moments[index]];
      return (
        `Loss curve of ${visible(name)}: from ${formatLoss(losses[0])} to ${formatLoss(losses.at(-1))} nats per token; ` +
        `${formatLoss(losses[nearestIndex(steps, step)])} at step ${step}.`
      );
    })
    .join(" ");
}
