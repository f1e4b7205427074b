// The inspector of the head lab: each head alone as a point, what is pinned, the loss with its numbers.

import type { ComponentChildren } from "preact";
import { Bars } from "../base/bars.tsx";
import { Doors } from "../base/doors.tsx";
import type { Theme } from "../base/js/colour.js";
import { formatNumber, formatSigned, visible } from "../base/js/text.js";
import { percent } from "../base/percent.ts";
import { type Factor, type Head, headName, sameHead } from "./changes.ts";
import { type Effect, effectsInWords, lossOf } from "./effects.ts";
import { type Reply, weightsOf } from "./replies.ts";
import { codeOf, movedInWords, pointInWords } from "./sentences.ts";

const [WIDTH, HEIGHT, LEFT, TOP, FLOOR] = [248, 210, 40, 36, 174]; // of the scatter, and where its axes are
const MOST_TERMS = 4; // of the loss
const MOST_BARS = 8;
const SHARPEST = 4; // heads whose effects are added

interface InspectorProps {
  theme: Theme;
  base: Reply;
  after: Reply;
  factors: Factor[];
  chosen: Head;
  query: number | null;
  effects: Effect[];
  done: number;
  of: number;
  onAlone: (head: Head) => void;
}

export function Inspector(props: InspectorProps) {
  const { after, factors, effects, done, of } = props;
  return (
    <>
      {props.query !== null && <Weights {...props} query={props.query} />}
      <section class="vt-ranking" aria-label="Each head switched off alone">
        <b>Each head off, alone</b>
        {done < of && (
          <label>
            <progress value={done} max={of} /> {done} of {of} layers
          </label>
        )}
        {effects.length > 0 && <Ranking {...props} />}
      </section>
      <p class="vt-equation">
        loss: the mean of −log p = {meanOf(after.log_probs)} ={" "}
        <b class={factors.length ? "vt-of-you" : ""}>{formatNumber(lossOf(after.log_probs), 3)}</b>
      </p>
      <p class="vt-code">{codeOf(factors)}</p>
      <Doors />
    </>
  );
}

function meanOf(logProbs: readonly number[]): string {
  const terms = logProbs.slice(0, MOST_TERMS).map((each) => formatNumber(-each, 3));
  return `(${[...terms, ...(logProbs.length > MOST_TERMS ? ["…"] : [])].join(" + ")}) / ${logProbs.length}`;
}

/** What the pinned word looks at; where the changes moved a weight, before and after. */
function Weights({ theme, base, after, chosen, query }: InspectorProps & { query: number }) {
  const entry = base.kinds.find(({ kind }) => kind === chosen.kind)!;
  const cols = entry.keys.length;
  const [before, now] = [base, after].map(({ kinds }) => weightsOf(kinds, chosen)) as [
    Float32Array,
    Float32Array,
  ];
  const row = [...now.subarray(query * cols, (query + 1) * cols)];
  const order = row.map((_, key) => key).sort((a, b) => row[b]! - row[a]!);
  const keys = row.length > MOST_BARS ? order.slice(0, MOST_BARS) : [...order].sort((a, b) => a - b);
  const told = (key: number) => {
    const [was, is] = [percent(before[query * cols + key]!), percent(row[key]!)];
    return was === is ? is : `${was} → ${is}`;
  };
  return (
    <section aria-label="weights">
      <b class="vt-of-query">
        <bdi>{visible(entry.queries[query]!)}</bdi>
      </b>{" "}
      looks at
      <Bars
        theme={theme}
        label="weights"
        kind="weight"
        bars={keys.map((key) => [entry.keys[key]!, row[key]!, { told: told(key) }] as const)}
      />
      {base !== after && <p class="vt-caption">{movedInWords(before, now, entry)}</p>}
    </section>
  );
}

/** Heads as points: how sharp their attention is, and how the loss changes without them. */
function Ranking({ effects, factors, chosen, done, of, onAlone }: InspectorProps) {
  const known = effects.filter(({ confidence }) => confidence !== null);
  const sharpest = known.toSorted((a, b) => a.confidenceRank - b.confidenceRank).slice(0, SHARPEST);
  const sum = sharpest.reduce((all, { lossChange }) => all + lossChange, 0);
  return (
    <>
      {known.length > 0 && (
        <>
          <Scatter effects={known} {...{ factors, chosen, onAlone }} />
          <p class="vt-caption">
            The {sharpest.length} sharpest, each off alone, add <b>{formatNumber(sum, 3)}</b> in all.
          </p>
        </>
      )}
      <details class="vt-all-effects">
        <summary>All {effects.length} heads</summary>
        <List effects={effects} {...{ factors, chosen, onAlone }} />
        {done === of && (
          <p class="vt-verdict">{effectsInWords(effects)} A sharp picture proves no importance.</p>
        )}
      </details>
    </>
  );
}

type PointsProps = Pick<InspectorProps, "effects" | "factors" | "chosen" | "onAlone">;

function Scatter({ effects, factors, chosen, onAlone }: PointsProps) {
  const changes = effects.map(({ lossChange }) => lossChange);
  const [least, most] = [Math.min(0, ...changes), Math.max(0.01, ...changes)];
  const x = (sharp: number) => LEFT + 8 + sharp * (WIDTH - LEFT - 20);
  const y = (change: number) => FLOOR - ((change - least) / (most - least)) * (FLOOR - TOP);
  const top = effects[0]!;
  const labelled = effects.find((each) => sameHead(each, chosen)) ?? top;
  const isRight = x(labelled.confidence!) > WIDTH / 2;
  return (
    <svg class="vt-scatter" width={WIDTH} height={HEIGHT} role="group" aria-label="Sharpness and loss added">
      <path class="vt-axes" d={`M${LEFT} ${TOP - 8}V${FLOOR + 8}M${LEFT} ${y(0)}H${WIDTH}`} />
      {[0, most].map((tick) => (
        <Label key={tick} x={LEFT - 6} y={y(tick)} anchor="end">
          {formatNumber(tick, 2).replace(/^0\.00$/, "0")}
        </Label>
      ))}
      <Label x={0} y={10} anchor="start">
        loss added ↑
      </Label>
      {["0", "sharpness", "1"].map((text, i) => (
        <Label key={text} x={x(i / 2)} y={HEIGHT - 14} anchor="middle">
          {text}
        </Label>
      ))}
      {effects.toReversed().map((effect) => (
        <circle
          key={headName(effect)}
          class="vt-point"
          role="button"
          tabindex={-1}
          aria-label={pointInWords(effect, effects.length)}
          data-changed={factors.some((each) => sameHead(each, effect))}
          data-chosen={sameHead(effect, chosen)}
          cx={x(effect.confidence!)}
          cy={y(effect.lossChange)}
          r={6}
          onClick={() => onAlone(effect)}
        >
          <title>{pointInWords(effect, effects.length)}</title>
        </circle>
      ))}
      <Label
        x={x(labelled.confidence!) + (isRight ? -12 : 12)}
        y={Math.min(y(labelled.lossChange), y(0) - 14)}
        anchor={isRight ? "end" : "start"}
        isStrong
      >
        {`${labelled.layer}·${labelled.head} ${formatSigned(labelled.lossChange, 3)}`}
      </Label>
    </svg>
  );
}

interface LabelProps {
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
  isStrong?: boolean;
  children: ComponentChildren;
}

const Label = ({ anchor, isStrong, ...rest }: LabelProps) => (
  <text text-anchor={anchor} class={`vt-tick ${isStrong ? "vt-strong" : ""}`} {...rest} />
);

/** The same heads by their numbers; a button switches one off, and no other. */
function List({ effects, factors, chosen, onAlone }: PointsProps) {
  const only = factors.length === 1 && factors[0]!.factor === 0 ? factors[0]! : null;
  return (
    <table class="vt-effects">
      <thead>
        <tr>
          <th scope="col">off alone</th>
          <th scope="col">loss</th>
          <th scope="col">sharp</th>
        </tr>
      </thead>
      <tbody>
        {effects.map((effect) => (
          <tr key={headName(effect)} data-chosen={sameHead(effect, chosen)}>
            <th scope="row">
              <button
                type="button"
                title={pointInWords(effect, effects.length)}
                aria-pressed={only !== null && sameHead(effect, only)}
                data-lm-suppress-shortcuts="true"
                onClick={() => onAlone(effect)}
              >
                {`${effect.kind} ${effect.layer}·${effect.head}`}
              </button>
            </th>
            <td>{formatSigned(effect.lossChange, 3)}</td>
            <td>
              {effect.confidence === null
                ? "none"
                : `${effect.confidence.toFixed(2)} (${effect.confidenceRank})`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
