// The loss curve: its axes, its lines, and the marker of the moment.

import { fitCanvas, pixelRatio, drawText } from "../base/js/canvas.js";
import { nearestTo, shownLoss } from "./runs.js";
import { elide, visible } from "../base/js/text.js";

export const LOG_FACTOR = 20; // a curve that spans more is drawn on a logarithmic axis
const [CURVE_LEFT, CURVE_RIGHT, CURVE_TOP, CURVE_BOTTOM] = [52, 20, 24, 38];
const DASHES = [[], [6, 4]];

/** Ticks at 1, 2 or 5 times a power of ten from `low` to `high`: evenly apart, `most` of them at most. */
export function evenTicks(low, high, most) {
  const rough = Math.max((high - low) / most, 1e-12);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/**
 * Ticks of a logarithmic axis from `low` to `high`, where a power of ten takes `decade` pixels: 1, 2
 * and 5 times the powers where that leaves `room` pixels between them, else fewer, and even ones.
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

/** Whether steps crowd so near their beginning that an even axis would hide most of the moments. */
export function isCrowded(moments) {
  const last = moments.at(-1);
  return moments.length > 3 && last >= 20 && moments[moments.length >> 1] < last / 4;
}

/** The axes of all runs: `x(step)`, `y(loss)`, ticks, and what they are called. */
export function curveAxes(runs, width, height) {
  const [right, bottom] = [width - CURVE_RIGHT, height - CURVE_BOTTOM];
  let [low, high, last] = [Infinity, -Infinity, 1];
  for (const { losses, steps, moments } of runs) {
    for (const loss of losses) {
      if (!Number.isFinite(loss)) continue;
      [low, high] = [Math.min(low, loss), Math.max(high, loss)];
    }
    last = Math.max(last, moments.at(-1), steps.at(-1) ?? 0);
  }
  if (low > high) [low, high] = [0, 1]; // nothing was recorded
  const logY = low > 0 && high > LOG_FACTOR * low;
  if (!logY) [low, high] = [Math.min(0, low), high > low ? high : low + 1];
  const logX = isCrowded(runs[0].moments);
  const shift = Math.max(1, last / 100); // of a logarithmic axis that begins at 0
  const across = logX
    ? (step) => Math.log(1 + step / shift) / Math.log(1 + last / shift)
    : (step) => step / last;
  const down = logY
    ? (loss) => Math.log(loss / low) / Math.log(high / low)
    : (loss) => (loss - low) / (high - low);
  const x = (step) => CURVE_LEFT + across(step) * (right - CURVE_LEFT);
  const y = (loss) => bottom - down(loss) * (bottom - CURVE_TOP);
  const xTicks = apart(logX ? [0, ...logTicks(1, last)] : evenTicks(0, last, 8), x, 44);
  const yTicks = logY
    ? logTicks(low, high, (bottom - CURVE_TOP) / Math.log10(high / low))
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
    top: CURVE_TOP,
    bottom,
    width,
    height,
    xName: `optimiser step${logX ? " (log scale)" : ""}`,
    yName: `loss (nats a token${logY ? ", log scale" : ""})`,
  };
}

/** A tick in few digits: 0.001, 1e−5. */
export function tickText(tick) {
  return tick !== 0 && Math.abs(tick) < 0.001 ? tick.toExponential(0).replace("-", "−") : String(tick);
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

/** The moment whose place on the axis is nearest to a pixel. */
export function momentAt(axes, moments, pixel) {
  return nearestTo(moments.map(axes.x), pixel);
}

/** The curves, axes and names on a canvas of their own: drawn once, however far one drags. */
export function paintCurves(runs, axes, theme) {
  const sheet = document.createElement("canvas");
  const ratio = pixelRatio() * theme.scale;
  [sheet.width, sheet.height] = [Math.round(axes.width * ratio), Math.round(axes.height * ratio)];
  const context = sheet.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.direction = "ltr";
  const quiet = { font: `11px ${theme.family}`, colour: theme.muted };
  const rule = (x, y, width, height, alpha) => {
    context.globalAlpha = alpha;
    context.fillStyle = theme.muted;
    context.fillRect(x, y, width, height);
    context.globalAlpha = 1;
  };
  for (const tick of axes.yTicks) {
    rule(axes.left, axes.y(tick) - 0.5, axes.right - axes.left, 1, 0.22);
    drawText(context, tickText(tick), axes.left - 7, axes.y(tick), { ...quiet, align: "right" });
  }
  rule(axes.left, axes.bottom, axes.right - axes.left, 1, 0.8);
  for (const tick of axes.xTicks)
    drawText(context, String(tick), axes.x(tick), axes.bottom + 14, { ...quiet, align: "center" });
  for (const step of runs[0].moments) rule(axes.x(step) - 0.5, axes.bottom, 1, 6, 0.8);
  drawText(context, axes.yName, 4, 9, { ...quiet, font: `12px ${theme.family}` });
  drawText(context, `${axes.xName} →`, axes.left, axes.height - 8, {
    ...quiet,
    font: `12px ${theme.family}`,
  });
  runs.forEach((run, index) => {
    context.strokeStyle = index ? theme.text : theme.line;
    context.lineWidth = 2;
    context.setLineDash(DASHES[index]);
    context.beginPath();
    let drawing = false;
    for (let i = 0; i < run.losses.length; i++) {
      if (!Number.isFinite(run.losses[i])) {
        drawing = false;
        continue;
      }
      if (drawing) context.lineTo(axes.x(run.steps[i]), axes.y(run.losses[i]));
      else context.moveTo(axes.x(run.steps[i]), axes.y(run.losses[i]));
      drawing = true;
    }
    context.stroke();
    context.setLineDash([]);
  });
  if (runs.length > 1) nameCurves(context, runs, axes, theme);
  if (!runs.some((run) => run.losses.length)) {
    drawText(
      context,
      "No loss was recorded; the marks are the moments.",
      axes.left + 8,
      (axes.top + axes.bottom) / 2,
      quiet,
    );
  }
  return sheet;
}

/** Which line is which, at the right above the curves: the losses fall away from there. */
function nameCurves(context, runs, axes, theme) {
  let x = axes.right;
  for (let index = runs.length - 1; index >= 0; index--) {
    const name = elide(visible(runs[index].name), 180, (text) => theme.measure(text, 12, false));
    x -= theme.measure(name, 12, false);
    drawText(context, name, x, 9, { font: `12px ${theme.family}`, colour: theme.text });
    context.strokeStyle = index ? theme.text : theme.line;
    context.lineWidth = 2;
    context.setLineDash(DASHES[index]);
    context.beginPath();
    context.moveTo(x - 34, 9);
    context.lineTo(x - 8, 9);
    context.stroke();
    context.setLineDash([]);
    x -= 54;
  }
}

/** Draw the curves with the marker: a line at the step, a point on each curve, and the step in words. */
export function drawCurve(canvas, sheet, axes, runs, places, theme) {
  const context = fitCanvas(canvas, axes.width, axes.height, theme.scale);
  context.drawImage(sheet, 0, 0, axes.width, axes.height);
  const step = runs[0].moments[places[0]];
  context.fillStyle = theme.accent;
  context.fillRect(axes.x(step) - 1, axes.top, 2, axes.bottom - axes.top + 6);
  runs.forEach((run, index) => {
    if (!run.losses.length) return;
    const at = run.moments[places[index]];
    const loss = run.losses[nearestTo(run.steps, at)];
    if (!Number.isFinite(loss)) return;
    context.beginPath();
    context.arc(axes.x(at), axes.y(loss), 5, 0, 7);
    context.fillStyle = index ? theme.background : theme.line;
    context.fill();
    context.strokeStyle = index ? theme.text : theme.background;
    context.lineWidth = 2;
    context.stroke();
  });
}

/** The curve in words, for who cannot see it. */
export function curveInWords(runs, places) {
  return runs
    .map(({ name, steps, losses, moments }, index) => {
      if (!losses.length) return `${visible(name)}: no loss was recorded.`;
      const now = losses[nearestTo(steps, moments[places[index]])];
      return (
        `Loss curve of ${visible(name)}: from ${shownLoss(losses[0])} to ${shownLoss(losses.at(-1))} nats a token; ` +
        `${shownLoss(now)} at step ${moments[places[index]]}.`
      );
    })
    .join(" ");
}
