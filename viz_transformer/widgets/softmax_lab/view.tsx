// The softmax lab: drag a score, and see its weight. A key is a lane; the steps run from left to right.

import shared from "../../shared.json" with { type: "json" };
import { useRef } from "preact/hooks";
import { Range } from "../base/controls.tsx";
import { Knob } from "../base/knob.tsx";
import { tween } from "../base/motion.ts";
import { Code } from "../base/python_code.tsx";
import { stepsBetween } from "../base/scales.ts";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { elide, formatNumber, percent, visible } from "../base/text.ts";
import { HEAD, type Layout, layOut } from "./lanes.ts";
import { named, softmaxSteps, three } from "./softmax.ts";
import { TRAITS, type Traits } from "./traits.ts";

const { score: LIMIT, times: TIMES } = shared.limits;
const SCORES = stepsBetween(-LIMIT, LIMIT, 0.5);

function SoftmaxLab(frame: Frame<Traits>) {
  const { traits, set } = frame;
  const { labels, scores, times } = traits;
  const { weights } = softmaxSteps(scores, times);
  const most = weights.indexOf(Math.max(...weights));
  const first = labels.filter((_, at) => Math.abs((weights[at] ?? 0) - Math.max(...weights)) < 1e-9);
  return (
    <Stage
      header={labels.map((label, at) => (
        <span class="vt-chip" key={`${at} ${label}`}>
          {named(label)}
        </span>
      ))}
      headline={
        first.length > 1 ? (
          `${first.length === labels.length ? "All" : first.length} keys get the same: ${percent(weights[most] ?? 1)}`
        ) : (
          <>
            <b class="vt-of-key">{named(labels[most] ?? "")}</b> gets {percent(weights[most] ?? 0)} of the
            weight
          </>
        )
      }
      controls={
        <Range
          label={`all scores × ${times}`}
          min={0}
          max={TIMES.length - 1}
          value={TIMES.indexOf(times)}
          told={String(times)}
          isToldInLabel
          onInput={(at) => set({ times: TIMES[at] ?? 1 })}
        />
      }
      inspector={<Inspector {...traits} most={most} />}
      {...stageOf(frame)}
    >
      <Lanes frame={frame} />
    </Stage>
  );
}

/** A step from the scores to the weights. */
interface Step {
  title: string;
  numbers: number[];
  /** The number whose bar takes all the room, and how wide that is against the other steps. */
  top: number;
  share: number;
  kind: string;
  told: (value: number) => string;
}

/** Keys from top to bottom; beside each its score, the power of e, its weight, and perhaps its slope. */
function Lanes({ frame }: { frame: Frame<Traits> }) {
  const motion = useRef(tween()).current;
  const { labels, scores, times, slopes } = frame.traits;
  const { row, parts, weights, slopes: tilts } = softmaxSteps(scores, times);
  const shown = motion.at([row, parts, weights, tilts].flat());
  if (motion.isMoving()) frame.redraw();
  const of = (step: number) => shown.slice(step * labels.length, (step + 1) * labels.length);
  const steps: Step[] = [
    { title: "e^(s − max)", numbers: of(1), top: 1, share: 1, kind: "vt-part", told: three },
    { title: "weight", numbers: of(2), top: 1, share: 2, kind: "vt-weight", told: percent },
    { title: "w(1 − w)", numbers: of(3), top: 0.25, share: 1, kind: "vt-slope", told: three },
  ];
  if (!slopes) steps.pop();
  const width = (text: string) => frame.measure(text, true);
  const widest = Math.max(...labels.map((label) => width(visible(label))));
  const shares = steps.map((step) => step.share);
  const layout = layOut(labels.length, widest, shares, frame);
  const names = labels.map((label) => elide(visible(label), layout.names / layout.unit - 1, width));
  return (
    <svg class="vt-lanes" width={layout.width} height={layout.height} role="presentation">
      <Scores
        frame={frame}
        names={names}
        layout={layout}
        shown={of(0)}
        weights={weights}
        onMove={motion.jump}
      />
      {steps.map((step, at) => (
        <Column key={step.title} step={step} at={at} names={names} layout={layout} />
      ))}
    </svg>
  );
}

interface ScoresProps {
  frame: Frame<Traits>;
  /** The keys, as wide as they may be. */
  names: string[];
  layout: Layout;
  /** The scores times their factor, on their way. */
  shown: number[];
  weights: number[];
  onMove: () => void;
}

/** The first column: each key's name, and its score to the left or right of zero, with a knob. */
function Scores({ frame, names, layout, shown, weights, onMove }: ScoresProps) {
  const { labels, scores, times } = frame.traits;
  const { lane, scores: place } = layout;
  const perScore = place.half / (LIMIT * Math.max(1, times));
  return (
    <g role="group" aria-label="Scores">
      <text x={place.left} y={HEAD - 14} class="vt-step-name">
        score
      </text>
      <line x1={place.zero} x2={place.zero} y1={HEAD} y2={HEAD + lane * labels.length} class="vt-zero" />
      {labels.map((label, at) => {
        const [score, middle] = [shown[at] ?? 0, HEAD + lane * (at + 0.5)];
        const end = place.zero + score * perScore;
        return (
          <g key={`${at} ${label}`}>
            <text x={layout.names} y={middle} class="vt-lane-name">
              {names[at]}
            </text>
            <rect
              x={Math.min(place.zero, end)}
              y={middle - 0.2 * lane}
              width={Math.abs(end - place.zero)}
              height={0.4 * lane}
              class={score < 0 ? "vt-below" : "vt-above"}
            />
            <text
              x={place.zero + (score < 0 ? 20 : -20)}
              y={middle}
              class={score < 0 ? "vt-number" : "vt-number vt-left"}
            >
              {formatNumber(score, 2)}
            </text>
            <Knob
              label={`score of ${visible(label)}`}
              value={scores[at] ?? 0}
              text={`${formatNumber(scores[at] ?? 0, 1)}, weight ${three(weights[at] ?? 0)}`}
              values={SCORES}
              x={end}
              y={middle}
              valueAt={(pixel) => (pixel - place.zero) / (perScore * (times || 1))}
              onMove={(moved) => {
                onMove(); // the picture follows the hand
                frame.set((now) => ({
                  scores: now.scores.map((each, which) => (which === at ? moved : each)),
                }));
              }}
            />
          </g>
        );
      })}
    </g>
  );
}

/** A later column: a bar for each key, with its number at its end. */
function Column({ step, at, names, layout }: { step: Step; at: number; names: string[]; layout: Layout }) {
  const { left, top, longest, named } = layout.columns[at] ?? { left: 0, top: 0, longest: 0, named: false };
  return (
    <g role="group" aria-label={step.title}>
      <text x={left} y={top - 14} class="vt-step-name">
        {step.title}
      </text>
      {names.map((name, key) => {
        const [value, middle] = [step.numbers[key] ?? 0, top + layout.lane * (key + 0.5)];
        const length = Math.max(1, (value / step.top) * longest);
        return (
          <g key={`${key} ${name}`}>
            {named && (
              <text x={layout.names} y={middle} class="vt-lane-name">
                {name}
              </text>
            )}
            <rect
              x={left}
              y={middle - 0.2 * layout.lane}
              width={length}
              height={0.4 * layout.lane}
              rx={4}
              class={step.kind}
            />
            <text x={left + length + 8} y={middle} class="vt-number">
              {step.told(value)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

/** The equation of the largest weight with its numbers, and the line of Python that gives all. */
function Inspector({ labels, scores, times, most }: Traits & { most: number }) {
  const { parts, sum, weights } = softmaxSteps(scores, times);
  const scaled = times === 1 ? "s" : `${times} * s`;
  return (
    <>
      <p>
        the weight of <b class="vt-of-key">{named(labels[most] ?? "")}</b>
      </p>
      <p class="vt-equation">
        {three(parts[most] ?? 0)} / ({parts.map((part) => three(part)).join(" + ")}) ={" "}
        {three(parts[most] ?? 0)} / {three(sum)} = <b>{three(weights[most] ?? 0)}</b>
      </p>
      <Code lines={[`s = np.array([${scores.join(", ")}])`, `np.exp(${scaled}) / np.exp(${scaled}).sum()`]} />
    </>
  );
}

export default stageView<Traits>({
  name: "softmax-lab",
  label: "Softmax lab",
  traits: TRAITS,
  draw: SoftmaxLab,
});
