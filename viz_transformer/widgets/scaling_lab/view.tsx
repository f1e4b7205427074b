// The scaling lab: vectors grow wider, their scores spread, and softmax saturates; a division keeps them.

import { useMemo } from "preact/hooks";
import { type Axis, linePath } from "../base/axes.ts";
import { Chart } from "../base/chart.tsx";
import { css, weightRgb } from "../base/colour.ts";
import { Tabs } from "../base/controls.tsx";
import { useTween } from "../base/hooks.ts";
import { Knob } from "../base/knob.tsx";
import { Code } from "../base/python_code.tsx";
import { stepsBetween } from "../base/scales.ts";
import { Chips } from "../base/sentence.tsx";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { shortNumber } from "../base/text.ts";
import {
  codeOf,
  divisorText,
  equationOf,
  fraction,
  headlineOf,
  histogram,
  rowWeights,
  variance,
} from "./spread.ts";
import { TRAITS, type Traits } from "./traits.ts";
import { decodeWeights } from "../base/bytes.ts";

const [LIMIT, BINS, ROWS] = [60, 80, 12]; // of the histogram, and the queries shown; plots/softmax.py has the same
const POWERS = stepsBetween(0, 1, 0.05).map((power) => Number(power.toFixed(2)));
const NAMED = [
  [0, "nothing"],
  [0.5, "√d_k"],
  [1, "d_k"],
] as const;

interface Data {
  widths: number[];
  n_keys: number;
  /** float16 [width, query, key] */
  scores: DataView;
}

/** The scores of each width, and their variances. */
function readData({ widths, n_keys: keys, scores: bytes }: Data) {
  const all = decodeWeights(bytes, "float16"); // [width, query, key]
  const each = all.length / widths.length;
  const scores = widths.map((_, i) => all.subarray(i * each, (i + 1) * each));
  return { widths, keys, scores, variances: scores.map(variance) };
}

function Lab(frame: Frame<Traits>) {
  const { traits, set } = frame;
  const { d_k: width, power } = traits;
  const data = useMemo(() => readData(traits.data as unknown as Data), [traits.data]);
  const at = data.widths.indexOf(width);
  const { weights, largest } = useMemo(
    () => rowWeights(data.scores[at]!, data.keys, width ** power),
    [data, at, width, power],
  );
  const counts = useMemo(() => histogram(data.scores[at]!, width ** power, LIMIT, BINS), [data, at, power]);
  const lines = data.variances.map((each, i) => Math.log(each / data.widths[i]! ** (2 * power)));
  const motion = useTween(frame.redraw);
  const most = Math.max(...counts, 1);
  const rows = weights.slice(0, ROWS * data.keys);
  const shown = motion.move([...lines, ...counts.map((count) => count / most), ...rows]);
  const spread = data.variances[at]!;
  const change = (wanted: Partial<Traits>) => {
    motion.jump(); // the picture follows the hand
    set(wanted);
  };
  return (
    <Stage
      header={
        <>
          d_k
          <Chips
            label="d_k, width of queries and keys"
            tokens={data.widths.map(String)}
            kind="key"
            chosen={at}
            onChoose={(index) => set({ d_k: data.widths[index]! })}
          />
        </>
      }
      headline={headlineOf(width, largest)}
      line={`q·k is ${divisorText(width, power)}: its variance is ${shortNumber(spread / width ** (2 * power), 3)}.`}
      controls={
        <Tabs
          label="divided by"
          isLabelled
          options={NAMED}
          value={power}
          onChoose={(chosen) => set({ power: chosen })}
        />
      }
      inspector={
        <>
          <p class="vt-equation">{equationOf(width, power, spread)}</p>
          <Code lines={codeOf(power)} />
        </>
      }
      {...stageOf(frame)}
    >
      <div class="vt-charts">
        <Variances frame={frame} data={data} logs={shown.slice(0, lines.length)} set={change} />
        <Scores frame={frame} counts={shown.slice(lines.length, lines.length + BINS)} />
        <Weights frame={frame} weights={shown.slice(lines.length + BINS)} keys={data.keys} />
      </div>
    </Stage>
  );
}

interface VariancesProps {
  frame: Frame<Traits>;
  data: ReturnType<typeof readData>;
  /** The logarithms of the divided variances, on their way. */
  logs: number[];
  set: (change: Partial<Traits>) => void;
}

/** Variance against width, with a knob for the width and one that tilts the line. */
function Variances({ frame, data, logs, set }: VariancesProps) {
  const { widths, variances } = data;
  const { d_k: width, power } = frame.traits;
  const [first, last] = [widths[0]!, widths.at(-1)!];
  // The line goes on to its knob: variances grow with d_k.
  const [end, ahead] = [4 * last, 4 * variances.at(-1)!];
  const level = (at: number) => Math.exp(logs[at] ?? 0);
  const tip = level(widths.length - 1) * 4 ** (1 - 2 * power);
  const x: Axis = { domain: [first / 1.4, end * 1.4], log: 2, ticks: widths, label: "d_k" };
  return (
    <Chart
      title="variance of the scores"
      label="Variance of the scores against d_k"
      frame={frame}
      x={x}
      y={{ domain: [1 / end / 1.5, end * 2], log: 4, text: fraction }}
    >
      {(plot) => {
        const [tipX, tipY] = [plot.x.pixel(end), plot.y.pixel(tip)];
        return (
          <>
            <path class="vt-level" d={`M${plot.left} ${plot.y.pixel(1)}H${plot.right}`} />
            <path class="vt-line-mark" d={linePath(plot, widths, logs.map(Math.exp))} />
            <path
              class="vt-line-mark vt-before"
              d={linePath(plot, [last, end], [level(widths.length - 1), tip])}
            />
            {widths.map((each, at) => (
              <circle key={each} class="vt-dot" cx={plot.x.pixel(each)} cy={plot.y.pixel(level(at))} r={4} />
            ))}
            <Knob
              label="power of d_k that divides the scores"
              value={power}
              text={divisorText(width, power)}
              values={POWERS}
              axis="y"
              x={tipX}
              y={tipY}
              valueAt={(_, down) => Math.log(ahead / plot.y.value(down)) / (2 * Math.log(end))}
              onMove={(moved) => set({ power: moved })}
            />
            <Knob
              label="d_k, width of queries and keys"
              value={width}
              text={`${width}, variance ${shortNumber(level(widths.indexOf(width)), 3)}`}
              values={widths}
              near={Math.log}
              x={plot.x.pixel(width)}
              y={plot.y.pixel(level(widths.indexOf(width)))}
              valueAt={(pixel) => Math.max(first / 2, plot.x.value(pixel))}
              onMove={(moved) => set({ d_k: moved })}
            />
          </>
        );
      }}
    </Chart>
  );
}

/** How many scores there are of each size. */
function Scores({ frame, counts }: { frame: Frame<Traits>; counts: number[] }) {
  const step = (2 * LIMIT) / BINS;
  return (
    <Chart
      title="how the scores spread"
      label="Histogram of the scores"
      frame={frame}
      x={{ domain: [-LIMIT, LIMIT], label: "score" }}
      y={{ domain: [0, 1.05], ticks: [] }}
    >
      {(plot) =>
        counts.map((count, at) => {
          const [left, right] = [at, at + 1].map((edge) => plot.x.pixel(edge * step - LIMIT));
          const path = `M${left} ${plot.bottom}V${plot.y.pixel(count)}H${right}V${plot.bottom}Z`;
          return <path key={at} class={at < BINS / 2 ? "vt-below" : "vt-above"} d={path} />;
        })
      }
    </Chart>
  );
}

function Weights({ frame, weights, keys }: { frame: Frame<Traits>; weights: number[]; keys: number }) {
  const rows = weights.length / keys;
  return (
    <Chart
      title={`weights of ${rows} queries`}
      label="Weights of the first queries"
      frame={frame}
      x={{ domain: [-0.5, keys - 0.5], ticks: [], label: "key" }}
      y={{ domain: [rows - 0.5, -0.5], ticks: [] }}
    >
      {(plot) =>
        weights.map((weight, at) => {
          const [row, key] = [Math.floor(at / keys), at % keys];
          const [left, right] = [key - 0.5, key + 0.5].map(plot.x.pixel) as [number, number];
          const [top, bottom] = [row - 0.5, row + 0.5].map(plot.y.pixel) as [number, number];
          return (
            <rect
              key={at}
              x={left + 1}
              y={top + 1}
              width={Math.max(1, right - left - 2)}
              height={Math.max(1, bottom - top - 2)}
              fill={css(weightRgb(weight, frame.theme))}
            />
          );
        })
      }
    </Chart>
  );
}

export default stageView<Traits>({ name: "scaling-lab", label: "Scaling lab", traits: TRAITS, draw: Lab });
