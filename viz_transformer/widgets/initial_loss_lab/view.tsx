// The initial loss lab: the logits of an untrained model at one place, and the curve of its loss.

import { useMemo } from "preact/hooks";
import { linePath } from "../base/axes.ts";
import { Chart, Key } from "../base/chart.tsx";
import { Range } from "../base/controls.tsx";
import { useTween } from "../base/hooks.ts";
import { Knob } from "../base/knob.tsx";
import { Code } from "../base/python_code.tsx";
import { nearestValue } from "../base/scales.ts";
import { Chips } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { formatNumber, visible } from "../base/text.ts";
import {
  type Chosen,
  codeOf,
  evenLoss,
  headlineOf,
  lineOf,
  logitsAt,
  sentenceText,
  type Starts,
  stdText,
} from "./starts.ts";
import { TRAITS, type Traits } from "./traits.ts";

const LABEL = "standard deviation of the embeddings";
const BAR = 0.7; // of a token's place

function Lab(frame: Frame<Traits>) {
  const { traits, set } = frame;
  const starts = traits.data as unknown as Starts;
  const { stds, tokens, read } = starts;
  const { sentence } = traits;
  const last = (which: number) => read[which]!.length - 1;
  const chosen: Chosen = {
    index: nearestValue(stds, traits.std, Math.log),
    sentence,
    place: Math.min(traits.place, last(sentence)),
  };
  const motion = useTween(frame.redraw);
  const logits = motion.move(logitsAt(starts, chosen));
  const choose = (index: number) => {
    motion.jump(); // the picture follows the hand
    set({ std: stds[index]! });
  };
  return (
    <Stage
      header={
        <Chips
          label="the word just read"
          tokens={read[sentence]!.map((id) => tokens[id]!)}
          kind="key"
          chosen={chosen.place}
          onChoose={(place) => set({ place })}
        />
      }
      headline={<Pieces pieces={headlineOf(starts, chosen)} />}
      line={lineOf(starts, chosen)}
      controls={
        <>
          <Range
            label={LABEL}
            min={0}
            max={stds.length - 1}
            value={chosen.index}
            told={stdText(stds[chosen.index]!)}
            onInput={choose}
          />
          <label>
            sentence{" "}
            <select
              value={sentence}
              onChange={(event) => {
                const which = Number(event.currentTarget.value);
                set({ sentence: which, place: Math.min(traits.place, last(which)) });
              }}
            >
              {read.map((_, which) => (
                <option key={which} value={which}>
                  {sentenceText(starts, which)}
                </option>
              ))}
            </select>
          </label>
        </>
      }
      inspector={<Inspector starts={starts} chosen={chosen} />}
      {...stageOf(frame)}
    >
      <div class="vt-charts">
        <Logits frame={frame} starts={starts} chosen={chosen} logits={logits} />
        <Losses frame={frame} starts={starts} index={chosen.index} choose={choose} />
      </div>
    </Stage>
  );
}

interface LogitsProps {
  frame: Frame<Traits>;
  starts: Starts;
  chosen: Chosen;
  /** On their way. */
  logits: number[];
}

/** The logits as bars, with the token just read and the one to be written in colours of their own. */
function Logits({ frame, starts, chosen, logits }: LogitsProps) {
  const { tokens, read, wanted } = starts;
  const own = read[chosen.sentence]![chosen.place]!;
  const next = wanted[chosen.sentence]![chosen.place]!;
  const [low, high] = [Math.min(0, ...logits), Math.max(0, ...logits)];
  const margin = (high - low) * 0.06 || 1;
  return (
    <Chart
      title="logits of the next token"
      frame={frame}
      x={{ names: tokens }}
      y={{ domain: [low - margin, high + margin], isRuled: true }}
      legend={
        <>
          <Key kind="vt-read">{visible(tokens[own]!)}, just read</Key>
          <Key kind="vt-wanted">{visible(tokens[next]!)}, should be written</Key>
        </>
      }
    >
      {(plot) => {
        const zero = plot.y.pixel(0);
        return logits.map((logit, id) => {
          const [end, left, right] = [plot.y.pixel(logit), ...[id - BAR / 2, id + BAR / 2].map(plot.x.pixel)];
          const kind = id === next ? "vt-wanted" : id === own ? "vt-read" : "vt-rest";
          return <path key={id} class={kind} d={`M${left} ${zero}V${end}H${right}V${zero}Z`} />;
        });
      }}
    </Chart>
  );
}

interface LossesProps {
  frame: Frame<Traits>;
  starts: Starts;
  index: number;
  choose: (index: number) => void;
}

/** The curve of the loss, with a knob at the chosen standard deviation. */
function Losses({ frame, starts, index, choose }: LossesProps) {
  const { stds, losses } = starts;
  const even = evenLoss(starts);
  const domain = useMemo<[number, number]>(
    () => [Math.min(even, ...losses) / 1.5, Math.max(...losses) * 1.5],
    [starts],
  );
  return (
    <Chart
      title="loss before training"
      label="Loss by the standard deviation of the embeddings"
      frame={frame}
      x={{ domain: [stds[0]! / 1.3, stds.at(-1)! * 1.3], log: 10, label: LABEL, isRuled: true }}
      y={{ domain, log: 10, isRuled: true }}
    >
      {(plot) => {
        const [place, level] = [plot.x.pixel(stds[index]!), plot.y.pixel(losses[index]!)];
        return (
          <>
            <path class="vt-level" d={`M${plot.left} ${plot.y.pixel(even)}H${plot.right}`} />
            <text class="vt-level-name" x={plot.right} y={plot.y.pixel(even) - 8} text-anchor="end">
              ln {starts.tokens.length} = {formatNumber(even, 2)}
            </text>
            <path class="vt-line-mark" d={linePath(plot, stds, losses)} />
            {stds.map((std, at) => (
              <circle key={std} class="vt-dot" cx={plot.x.pixel(std)} cy={plot.y.pixel(losses[at]!)} r={4} />
            ))}
            <Knob
              label={`${LABEL}, along the curve`}
              value={index}
              text={`${stdText(stds[index]!)}, loss ${formatNumber(losses[index], 1)}`}
              values={stds.map((_, at) => at)}
              x={place}
              y={level}
              valueAt={(pixel) => nearestValue(stds, plot.x.value(pixel), Math.log)}
              onMove={choose}
            />
          </>
        );
      }}
    </Chart>
  );
}

/** How far the word that should be written is from the first. */
function Inspector({ starts, chosen }: { starts: Starts; chosen: Chosen }) {
  const logits = logitsAt(starts, chosen);
  const next = starts.wanted[chosen.sentence]![chosen.place]!;
  const most = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
  const loss = most - logits[next]! + Math.log(sum);
  return (
    <>
      <p class="vt-equation">
        loss at this place = ln Σe^logit − logit of{" "}
        <bdi class="vt-of-query">{visible(starts.tokens[next]!)}</bdi> ={" "}
        {formatNumber(most + Math.log(sum), 2)} − ({formatNumber(logits[next], 2)}) ={" "}
        <b>{formatNumber(loss, 2)}</b>
      </p>
      <Code lines={codeOf(starts, chosen)} />
    </>
  );
}

export default stageView<Traits>({
  name: "initial-loss-lab",
  label: "Initial loss lab",
  traits: TRAITS,
  draw: Lab,
});
