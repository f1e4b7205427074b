// The loss curves, and above them the chosen head of each run as a film; one knob goes along both.

import { useMemo, useRef } from "preact/hooks";
import { linePath, type Plot } from "../base/axes.ts";
import { Chart } from "../base/chart.tsx";
import { paintWeights } from "../base/heads.tsx";
import { pointerPosition } from "../base/canvas.ts";
import type { Theme } from "../base/colour.ts";
import { nearestValue } from "../base/scales.ts";
import { Knob } from "../base/knob.tsx";
import {
  curvesInWords,
  filmMoments,
  formatLoss,
  type Heads,
  headAtMoment,
  logTicks,
  lossRange,
  lowestValidation,
  type Run,
  stepAxis,
} from "./runs.ts";

/** How the curves of the runs are drawn. */
export const LINES = ["vt-line-mark", "vt-line-mark vt-before"];
const [NAMES, GAP] = [4, 8]; // units at the left of the plot; pixels between pictures

/** Pixels of a film's height, and of films and curve together. */
const filmHeight = (unit: number, films: number, isLow: boolean) =>
  unit * (films < 2 ? (isLow ? 2.25 : 3) : isLow ? 1.5 : 2.5);
export const driveHeight = (
  unit: number,
  films: readonly Filmed[],
  isLow: boolean,
  isNarrow: boolean,
): number => {
  const more = !isLow && films.some(({ run }) => lowestValidation(run)?.rises) ? 2 : 0;
  const { length } = films;
  return (
    ((isLow ? 7.5 : 9) + more + (isNarrow ? 4 : 0)) * unit + length * (filmHeight(unit, length, isLow) + GAP)
  );
};

/** A run with the head that is shown of it. */
export interface Filmed {
  run: Run;
  /** The index of its moment. */
  moment: number;
  entry: Heads | null;
  layer: number;
  head: number;
}

interface CurveProps {
  frame: { unit: number; theme: Theme };
  films: readonly Filmed[];
  /** Whether the stage has little height. */
  isLow: boolean;
  /** What a screen reader says of the moment. */
  told: string;
  onMoment: (moment: number) => void;
}

export function Curve({ frame, films, isLow, told, onMoment }: CurveProps) {
  const runs = films.map(({ run }) => run);
  const moments = films.map(({ moment }) => moment);
  const { axis, range } = useMemo(
    () => ({ axis: stepAxis(runs), range: lossRange(runs) }),
    [runs[0], runs[1]],
  );
  const height = filmHeight(frame.unit, films.length, isLow);
  return (
    <Chart
      title={titleOf(runs, axis.isLog, range.isCut)}
      label={curvesInWords(runs, moments)}
      frame={frame}
      x={{
        ticks: runs[0]!.moments.map(axis.at),
        text: (place) => String(Math.round(axis.stepAt(place))),
      }}
      y={{
        domain: [range.low, range.high],
        log: range.isLog ? 10 : 0,
        ticks: range.isLog ? logTicks(range.low, range.high) : undefined,
        text: formatTick,
        isRuled: true,
      }}
      least={NAMES * frame.unit}
      above={films.length * (height + GAP)}
    >
      {(plot) => (
        <Scrubbed
          {...{ plot, films, frame, height, told, onMoment }}
          placeOf={axis.at}
          high={range.isCut ? range.high : Number.MAX_VALUE}
        />
      )}
    </Chart>
  );
}

/** What is drawn, and how. */
function titleOf(runs: readonly Run[], isLog: boolean, isCut: boolean): string {
  const isMeasured = runs.some(({ validation }) => validation.length);
  const how = isCut ? ", cut above" : isLog ? ", steps on a log scale" : "";
  return `loss in nats per token${how}${isMeasured ? " · dots: validation" : ""}`;
}

const formatTick = (loss: number) =>
  loss >= 0.01 || loss === 0 ? String(Number(loss.toPrecision(3))) : formatLoss(loss);

interface ScrubbedProps extends Omit<CurveProps, "isLow"> {
  plot: Plot;
  /** Of a film. */
  height: number;
  placeOf: (step: number) => number;
  /** The loss above which none is drawn. */
  high: number;
}

/** What is drawn over the steps: films, curves, the line of the moment with its knob. */
function Scrubbed({ plot, films, frame, height, told, onMoment, placeOf, high }: ScrubbedProps) {
  const { run, moment } = films[0]!;
  const xs = run.moments.map((step) => plot.x.pixel(placeOf(step)));
  const held = useRef<number | null>(null);
  const go = (event: PointerEvent) => {
    const [x] = pointerPosition((event.currentTarget as Element).closest(".vt-chart-box")!, event);
    const to = nearestValue(xs, x);
    if (to !== held.current) onMoment(to);
    held.current = to;
  };
  const loss = run.losses[nearestValue(run.steps, run.moments[moment]!)];
  const x = xs[moment]!;
  return (
    <>
      {films.map((film, at) => (
        <Film
          key={`${at}`}
          {...{ plot, film, height, placeOf }}
          theme={frame.theme}
          top={at * (height + GAP)}
          line={films.length > 1 ? LINES[at] : ""}
        />
      ))}
      {films.map((film, at) => (
        <Losses key={`${at}`} {...{ plot, film, placeOf, high }} kind={LINES[at]!} />
      ))}
      <path class="vt-moments" d={xs.map((each) => `M${each} ${plot.bottom}v7`).join("")} />
      <path class="vt-moment" d={`M${x} 0V${plot.bottom}`} />
      <rect
        class="vt-scrub"
        x={plot.left}
        width={plot.right - plot.left}
        height={plot.bottom}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          held.current = null;
          go(event);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) go(event);
        }}
      />
      <Knob
        label="Moment"
        value={run.moments[moment]!}
        text={told}
        values={run.moments}
        near={placeOf}
        x={x}
        y={Number.isFinite(loss) ? plot.y.pixel(Math.min(loss!, high)) : plot.bottom}
        valueAt={(across) => run.moments[nearestValue(xs, across)]!}
        onMove={(step) => onMoment(run.moments.indexOf(step))}
      />
    </>
  );
}

interface LossesProps extends Pick<ScrubbedProps, "plot" | "placeOf" | "high"> {
  film: Filmed;
  kind: string;
}

/** The losses of a run, and a dot at its moment; its validation losses, and a ring around the lowest. */
function Losses({ plot, film, placeOf, high, kind }: LossesProps) {
  const { losses, steps, moments } = film.run;
  const { left, right, top, bottom } = plot;
  const line = useMemo(() => {
    const finite = Array.from(losses, (loss) => (loss <= high ? loss : Number.NaN));
    return linePath(plot, Array.from(steps, placeOf), finite);
  }, [film.run, left, right, top, bottom]);
  const step = moments[film.moment]!;
  const loss = losses[nearestValue(steps, step)];
  return (
    <>
      <path class={kind} d={line} />
      <Validation {...{ plot, placeOf, high, kind }} run={film.run} />
      {loss! <= high && (
        <circle class="vt-dot" r={5} cx={plot.x.pixel(placeOf(step))} cy={plot.y.pixel(loss!)} />
      )}
    </>
  );
}

/** The validation losses as dots, and a line down from the lowest. */
function Validation({ plot, run, placeOf, high, kind }: Omit<LossesProps, "film"> & { run: Run }) {
  const { moments, validation } = run;
  const lowest = lowestValidation(run);
  if (!lowest) return null;
  const pointAt = (at: number) => [plot.x.pixel(placeOf(moments[at]!)), plot.y.pixel(validation[at]!)];
  const shown = moments.flatMap((_, at) => (validation[at]! <= high ? pointAt(at).join(" ") : []));
  const [x, y] = pointAt(lowest.at);
  return (
    <g class="vt-validation">
      <path class={kind} d={`M${shown.join("L")}`} />
      <path class={kind} d={shown.map((point) => `M${point}h0`).join("")} />
      <path class="vt-lowest" d={`M${x} ${y}V${plot.bottom}`} />
      <circle class="vt-lowest" r={7} cx={x} cy={y} />
    </g>
  );
}

interface FilmProps {
  plot: Plot;
  film: Filmed;
  theme: Theme;
  placeOf: (step: number) => number;
  top: number;
  height: number;
  /** How its curve is drawn, where there are two. */
  line?: string;
}

/** The chosen head at some moments, each picture above its step. */
function Film({ plot, film, theme, placeOf, top, height, line }: FilmProps) {
  const { run, entry, layer, head } = film;
  const width = entry ? Math.min(1.5, Math.max(0.75, entry.cols / entry.rows)) * height : height;
  const places = run.moments.map((step) => {
    const middle = plot.x.pixel(placeOf(step));
    return Math.min(plot.right - width / 2, Math.max(plot.left + width / 2, middle));
  });
  const shown = filmMoments(places, width + GAP);
  const pictures = useMemo(
    () => (entry ? shown.map((moment) => pictureOf(entry, moment, layer, head, theme)) : []),
    [entry, layer, head, theme, shown.join()],
  );
  if (!entry) return null;
  const middle = top + height / 2;
  return (
    <g class="vt-film">
      {line ? (
        <path class={line} d={`M${plot.left - 40} ${middle}h28`} />
      ) : (
        <g class="vt-axes">
          <text x={plot.left - 8} y={middle} text-anchor="end">{`${layer}·${head}`}</text>
        </g>
      )}
      {shown.map((moment, at) => (
        <image
          key={moment}
          href={pictures[at]}
          x={places[moment]! - width / 2}
          y={top}
          {...{ width, height }}
          preserveAspectRatio="none"
        />
      ))}
    </g>
  );
}

/** A head at a moment as the address of a picture, a pixel for each weight. */
function pictureOf(entry: Heads, moment: number, layer: number, head: number, theme: Theme): string {
  const canvas = document.createElement("canvas");
  paintWeights(canvas, headAtMoment(entry, moment, layer, head), [entry.rows, entry.cols], theme);
  return canvas.toDataURL();
}
