// The inspector of the head lab: what is pinned, each head alone as a point, and the loss with its numbers.

import { Bars } from "../base/bars.tsx";
import { Chart } from "../base/chart.tsx";
import { Doors } from "../base/doors.tsx";
import { canAsk } from "../base/kernel.ts";
import { sameHead } from "../base/kinds.ts";
import { Code } from "../base/python_code.tsx";
import type { Frame } from "../base/stage_view.tsx";
import { formatNumber, formatSigned, joinPieces, percent, visible } from "../base/text.ts";
import type { Factor, Head } from "./changes.ts";
import { type Effect, lossOf } from "./effects.ts";
import { type Kind, type Reply, weightsOf } from "./replies.ts";
import { codeOf, effectsInWords, metricName, movedInWords, pointInWords } from "./sentences.ts";

const MOST_TERMS = 4; // of the loss
const MOST_BARS = 8;

interface InspectorProps {
  frame: Pick<Frame<object>, "unit" | "theme" | "measure" | "model">;
  base: Reply;
  after: Reply;
  entry: Kind;
  factors: Factor[];
  chosen: Head;
  query: number | null;
  effects: Effect[];
  done: number;
  of: number;
  goOn: (() => void) | null;
  /** The tokens that are measured in place of the loss. */
  metric: readonly string[];
  /** A token was pressed. */
  onMetric: (word: string) => void;
  onAlone: (head: Head) => void;
}

export function Inspector(props: InspectorProps) {
  const { after, factors, query, effects, done, of, goOn } = props;
  const terms = after.log_probs.map((each) => formatNumber(-each, 3));
  const shown = [...terms.slice(0, MOST_TERMS), ...(terms.length > MOST_TERMS ? ["…"] : [])];
  return (
    <>
      {query !== null && <Weights {...props} query={query} />}
      {props.base.likeliest && <Measured {...props} />}
      <section aria-label="Each head switched off alone">
        <b>Each head off, alone</b>
        {done < of && (
          <label class="vt-caption">
            <progress value={done} max={of} /> {done} of {of} layers
          </label>
        )}
        {goOn && (
          <div>
            <button type="button" onClick={goOn}>
              Go on with the ranking
            </button>
          </div>
        )}
        {effects.length > 0 && <Ranking {...props} />}
      </section>
      <p class="vt-equation">
        loss: the mean of −log p = ({shown.join(" + ")}) / {terms.length} ={" "}
        <b data-changed={factors.length > 0}>{formatNumber(lossOf(after.log_probs), 3)}</b>
      </p>
      <Code lines={[codeOf(factors)]} />
      <Doors />
    </>
  );
}

/** The words that could come first, with the metric that is made of those that are pressed. */
function Measured({ frame, base, after, metric, onMetric }: InspectorProps) {
  const words = base.likeliest ?? [];
  const live = canAsk(frame.model);
  const bars = words.map((token, i) => {
    const [share, at] = [base.shares?.[i] ?? 0, metric.indexOf(token)];
    const told = `${["plus ", "minus "][at] ?? ""}${percent(share)}`;
    return [joinPieces([token], true), share, { told }] as const;
  });
  return (
    <section aria-label="What is measured">
      <b>
        Measured: {metricName(metric) || "the loss"}{" "}
        {after.value !== undefined && formatNumber(after.value, 2)}
      </b>
      <p class="vt-caption">
        {live ? "Press a word to measure it, another to subtract it." : "Python can measure other words."}
      </p>
      <Bars
        {...{ theme: frame.theme, bars, label: "likeliest first words", kind: "probability" }}
        chosen={words.indexOf(metric[0] ?? "")}
        onChoose={live ? (i) => onMetric(words[i]!) : undefined}
      />
    </section>
  );
}

/** What the pinned word looks at; where the changes moved a weight, before and after. */
function Weights({ frame, base, after, entry, chosen, query }: InspectorProps & { query: number }) {
  const cols = entry.keys.length;
  const [before, now] = [weightsOf(base.kinds, chosen), weightsOf(after.kinds, chosen)];
  const all = entry.keys.map((key, i) => {
    const [was, is] = [before[query * cols + i]!, now[query * cols + i]!];
    const told = percent(was) === percent(is) ? percent(is) : `${percent(was)} → ${percent(is)}`;
    return [key, is, { told }] as const;
  });
  const bars = cols > MOST_BARS ? all.sort((a, b) => b[1] - a[1]).slice(0, MOST_BARS) : all;
  return (
    <section aria-label="weights">
      <b class="vt-of-query">
        <bdi>{visible(entry.queries[query]!)}</bdi>
      </b>{" "}
      looks at
      <Bars theme={frame.theme} label="weights" kind="weight" bars={bars} />
      {base !== after && <p class="vt-caption">{movedInWords(before, now, entry)}</p>}
    </section>
  );
}

/** Heads as points, and all of them as bars; a click switches one off, and no other. */
function Ranking(props: InspectorProps) {
  const { frame, effects, chosen, onAlone } = props;
  const most = Math.abs(effects[0]!.lossChange) || 1;
  const bars = effects.map((effect) => {
    const { kind, layer, head, lossChange, confidence } = effect;
    const told = `${formatSigned(lossChange, 3)} · ${confidence === null ? "none" : confidence.toFixed(2)}`;
    return [
      `${kind} ${layer}·${head}`,
      Math.abs(lossChange) / most,
      { told, colour: "var(--fill)" },
    ] as const;
  });
  return (
    <>
      <Scatter {...props} />
      <p class="vt-caption">
        {effectsInWords(effects, metricName(props.metric) || undefined)} A sharp picture proves no importance.
      </p>
      <details>
        <summary>
          All {effects.length} heads: {metricName(props.metric) || "loss"} added, sharpness
        </summary>
        <Bars
          {...{ theme: frame.theme, bars, label: "heads, each off alone", kind: "weight" }}
          chosen={effects.findIndex((effect) => sameHead(effect, chosen))}
          onChoose={(i) => onAlone(effects[i]!)}
        />
      </details>
    </>
  );
}

/** How sharp each head's attention is, and how the loss changes without it. */
function Scatter({ frame, effects, factors, chosen, onAlone, metric }: InspectorProps) {
  const what = metricName(metric) || "loss";
  const known = effects.filter(({ confidence }) => confidence !== null);
  if (!known.length) return null; // in so short a text no query has a choice
  const changes = known.map(({ lossChange }) => lossChange);
  const [least, most] = [Math.min(0, ...changes), Math.max(0.01, ...changes)];
  const told = known.find((each) => sameHead(each, chosen)) ?? known[0]!;
  const label = `${told.layer}·${told.head} ${formatSigned(told.lossChange, 3)}`;
  const wide = frame.measure(label, true) * frame.unit;
  return (
    <Chart
      title={`${what} added`}
      label={`Sharpness and ${what} added`}
      frame={frame}
      x={{ ticks: [0, 1], label: "sharpness" }}
      y={{ domain: [least, most], ticks: [0, most], text: (value) => (value ? formatNumber(value, 2) : "0") }}
    >
      {({ x, y, left, right }) => (
        <>
          <path class="vt-rule" d={`M${left} ${y.pixel(0)}H${right}`} />
          {known.toReversed().map((effect) => (
            <circle
              key={pointInWords(effect, 0)}
              class="vt-point"
              role="button"
              tabindex={-1}
              aria-label={pointInWords(effect, effects.length, what)}
              data-changed={factors.some((each) => sameHead(each, effect))}
              data-chosen={sameHead(effect, chosen)}
              cx={x.pixel(effect.confidence!)}
              cy={y.pixel(effect.lossChange)}
              r={6}
              onClick={() => onAlone(effect)}
            >
              <title>{pointInWords(effect, effects.length, what)}</title>
            </circle>
          ))}
          <text
            class="vt-tick vt-strong"
            x={Math.max(0, Math.min(x.pixel(told.confidence!) - wide / 2, right - wide))}
            y={y.pixel(told.lossChange) + (y.pixel(told.lossChange) < 40 ? 20 : -16)}
          >
            {label}
          </text>
        </>
      )}
    </Chart>
  );
}
