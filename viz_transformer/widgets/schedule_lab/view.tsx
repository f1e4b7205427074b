// The schedule lab: the peak and the warm-up of a learning rate, and the losses of a training with it.

import { useMemo } from "preact/hooks";
import { linePath } from "../base/axes.ts";
import { Chart, Key } from "../base/chart.tsx";
import { Tabs } from "../base/controls.tsx";
import { useKernel } from "../base/hooks.ts";
import { Knob } from "../base/knob.tsx";
import { Code } from "../base/python_code.tsx";
import { type Answered, newestReply } from "../base/replies.ts";
import { stepsBetween, tickText } from "../base/scales.ts";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { type Chosen, endOf, equationOf, highestOf, nameOf, rateOf, type Training } from "./rates.ts";
import { TRAITS, type Traits } from "./traits.ts";
import { numbersOf } from "../base/bytes.ts";

const NAMES = 3; // units beside both charts: their steps stand above each other
const HIGHEST = 5; // of the losses shown, nats per token; a loss above it leaves the chart

interface Reply {
  /** float32 [step] */
  losses: DataView;
}

interface Data {
  choices: { peak: number[]; warmup: number[]; seed: number[] };
  level: [name: string, loss: number] | null;
  first: Chosen & Reply;
}

const trainingOf = ({ request, reply }: Answered<Chosen, Reply>): Training => ({
  ...request,
  losses: Array.from(numbersOf(reply.losses, Float32Array)),
});

function Lab(frame: Frame<Traits>) {
  const { traits } = frame;
  const { choices, level, first } = traits.data as unknown as Data;
  const kernel = useKernel(frame.model);
  const made = useMemo(() => {
    const { losses, ...request } = first;
    return newestReply<Chosen, Reply>(kernel, frame.redraw, { request, reply: { losses } });
  }, [kernel, first]);
  const chosen = { peak: traits.peak, warmup: traits.warmup, seed: traits.seed };
  const { now, latest, before: old, problem } = made.want(chosen);
  const [shown, before] = [now, now ? old : latest].map((each) => each && trainingOf(each));
  const steps = first.losses.byteLength / 4;
  return (
    <Stage
      header={
        <>
          <Choices frame={frame} name="peak" values={choices.peak} />
          <Choices frame={frame} name="warmup" values={choices.warmup} />
          <Choices frame={frame} name="seed" values={choices.seed} />
        </>
      }
      headline={shown ? endOf(shown.losses) : problem ? "There is no training" : "Training …"}
      line={shown ? highestOf(shown.losses) : problem && <span role="alert">✗ {problem}</span>}
      inspector={<Inspector chosen={chosen} />}
      {...stageOf(frame)}
    >
      <div class="vt-charts">
        <Rates frame={frame} choices={choices} chosen={chosen} steps={steps} />
        <Losses frame={frame} shown={shown} before={before} level={level} steps={steps} />
      </div>
    </Stage>
  );
}

const CALLED = { peak: "peak", warmup: "warm-up", seed: "seed" };

interface ChoicesProps {
  frame: Frame<Traits>;
  name: keyof typeof CALLED;
  values: number[];
}

function Choices({ frame, name, values }: ChoicesProps) {
  return (
    <Tabs
      label={CALLED[name]}
      isLabelled
      options={values.map((each) => [each, tickText(each)] as const)}
      value={frame.traits[name]}
      onChoose={(chosen) => frame.set({ [name]: chosen })}
    />
  );
}

const across = (steps: number) => ({
  domain: [-0.04 * steps, steps] as [number, number],
  ticks: stepsBetween(0, steps, steps / 5).map(Math.round),
});

interface RatesProps {
  frame: Frame<Traits>;
  choices: Data["choices"];
  chosen: Chosen;
  steps: number;
}

/** The rate of each step, with a knob for its peak and one for the end of its warm-up. */
function Rates({ frame, choices, chosen, steps }: RatesProps) {
  const { peak, warmup } = chosen;
  const all = stepsBetween(1, steps, 1);
  return (
    <Chart
      title="learning rate"
      label="Learning rate of each step"
      frame={frame}
      x={across(steps)}
      y={{ domain: [0, choices.peak.at(-1)! * 1.2], ticks: choices.peak }}
      least={NAMES * frame.unit}
    >
      {(plot) => {
        const line = [warmup ? 0 : peak, ...all.map((step) => rateOf(step, peak, warmup))];
        return (
          <>
            <path class="vt-line-mark" d={linePath(plot, [0, ...all], line)} />
            <Knob
              label="peak of the learning rate"
              value={peak}
              text={tickText(peak)}
              values={choices.peak}
              axis="y"
              x={plot.x.pixel(0.7 * steps)}
              y={plot.y.pixel(peak)}
              valueAt={(_, down) => plot.y.value(down)}
              onMove={(moved) => frame.set({ peak: moved })}
            />
            <Knob
              label="steps of warm-up"
              value={warmup}
              text={`${warmup} steps`}
              values={choices.warmup}
              x={plot.x.pixel(warmup)}
              y={plot.y.pixel(peak)}
              valueAt={plot.x.value}
              onMove={(moved) => frame.set({ warmup: moved })}
            />
          </>
        );
      }}
    </Chart>
  );
}

interface LossesProps {
  frame: Frame<Traits>;
  shown?: Training | null;
  before?: Training | null;
  level: Data["level"];
  steps: number;
}

/** The losses of the training, of the one before it, and the level to compare with. */
function Losses({ frame, shown, before, level, steps }: LossesProps) {
  const all = stepsBetween(1, steps, 1);
  const inside = ({ losses }: Training) => losses.map((loss) => (loss <= HIGHEST ? loss : Number.NaN));
  return (
    <Chart
      title="loss (nats per token)"
      label="Loss of each step"
      frame={frame}
      x={{ ...across(steps), label: "optimiser step" }}
      y={{ domain: [0, HIGHEST], isRuled: true }}
      least={NAMES * frame.unit}
      legend={
        <>
          {shown && <Key kind="vt-line-mark">{nameOf(shown)}</Key>}
          {before && <Key kind="vt-line-mark vt-before">before: {nameOf(before)}</Key>}
          {level && <Key kind="vt-level">{level[0]}</Key>}
        </>
      }
    >
      {(plot) => (
        <>
          {level && <path class="vt-level" d={`M${plot.left} ${plot.y.pixel(level[1])}H${plot.right}`} />}
          {before && <path class="vt-line-mark vt-before" d={linePath(plot, all, inside(before))} />}
          {shown && <path class="vt-line-mark" d={linePath(plot, all, inside(shown))} />}
        </>
      )}
    </Chart>
  );
}

function Inspector({ chosen }: { chosen: Chosen }) {
  const { peak, warmup, seed } = chosen;
  return (
    <>
      {warmup > 1 && <p class="vt-equation">{equationOf(chosen, Math.floor(warmup / 2))}</p>}
      <p class="vt-equation">{equationOf(chosen, warmup + 1)}</p>
      <Code lines={[`losses = train(${peak}, ${warmup}, ${seed})`]} />
    </>
  );
}

export default stageView<Traits>({ name: "schedule-lab", label: "Schedule lab", traits: TRAITS, draw: Lab });
