// The beam stepper: a search as a river that is as high as its texts are probable, step by step.
//
// What is shown is the reply to the request that the traits make; while it is on its way, or where there is none,
// the last picture stays, and says what it is a picture of.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { css, weightRgb } from "../base/colour.ts";
import { Choice, Range } from "../base/controls.tsx";
import { useKernel } from "../base/hooks.ts";
import { TASKS } from "../base/kinds.ts";
import { Chips, SentenceField } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { differences, markMeaning, runningPieces, runningText, visible } from "../base/text.ts";
import { Timeline } from "../base/timeline.tsx";
import {
  attentionOf,
  isEnd,
  leaderOf,
  type Position,
  searchRequest,
  type SearchResult,
  shownCandidate,
  type Traits,
} from "./candidates.ts";
import { Inspector } from "./inspector.tsx";
import { Picture } from "./picture.tsx";
import { searches } from "./searches.ts";
import { describeProblem, formatNats, headlineOf, lineOf } from "./sentences.ts";
import { TRAITS } from "./traits.ts";
import { type Way, waysOf } from "./ways.ts";
import { Problem } from "../base/card.tsx";

/** A number that a search is made with: its trait, name, least and most of the slider, step, and which end is all. */
type Setting = readonly [
  trait: "beam_width" | "length_penalty" | "temperature" | "top_k" | "top_p",
  ...range: [label: string, min: number, max: number, step: number, all?: number],
];
const SETTINGS: Record<Traits["method"], Setting[]> = {
  beam: [
    ["beam_width", "beam width", 1, 10, 1],
    ["length_penalty", "length penalty", 0, 2, 0.1],
  ],
  sample: [["temperature", "temperature", 0.1, 3, 0.1]],
};
const FILTERS: Setting[] = [
  ["top_k", "top-k", 0, 20, 1, 0],
  ["top_p", "top-p", 0.05, 1, 0.05, 1],
];
const USUAL_WIDTH = 4;
const MANY = 5; // steps, beside whose numbers there is no room for more

/** What is shown now, all of it derived from the traits and the result. */
interface Now {
  frame: Frame<Traits>;
  result: SearchResult;
  step: number;
  /** The chosen candidate, and the one that is explained: that which is pointed at comes first. */
  here: Position;
  explained: Position;
  /** The layer and the head whose attention is shown. */
  place: { layer: number; head: number | null };
  live: boolean;
  goTo: (step: number) => void;
}

function nowOf(frame: Frame<Traits>, result: SearchResult, pointed: Position | null): Now {
  const { step: wanted, chosen, layer, head } = frame.traits;
  const step = Math.min(wanted ?? 0, result.steps.length - 1);
  const here = shownCandidate(result, step, chosen ?? null);
  const isThere = pointed && pointed.step <= step && result.steps[pointed.step][pointed.index];
  const { layers = 1, heads = 0 } = result.attention ?? {};
  return {
    ...{ frame, result, step, here },
    explained: isThere ? pointed : here,
    place: { layer: Math.min(layer ?? 0, layers - 1), head: (head ?? heads) < heads ? (head ?? null) : null },
    live: Boolean(frame.model.get("live")),
    goTo: (to) => frame.set({ step: to, chosen: null }),
  };
}

function BeamStepper(frame: Frame<Traits>) {
  const { traits, set, model, redraw } = frame;
  const kernel = useKernel(model);
  const store = useMemo(() => searches(kernel, redraw), [kernel, redraw]);
  const [pointed, point] = useState<Position | null>(null);
  const width = useRef(USUAL_WIDTH);
  const node = useRef<HTMLSpanElement>(null);
  if (traits.method === "beam" && traits.beam_width > 1) width.current = traits.beam_width;
  store.take(traits.data);
  const { result, isCurrent, failure, refused, needsKernel } = store.want(searchRequest(traits));
  useEnd(frame, result, () => point(null));
  useLayoutEffect(() => {
    const root = node.current?.closest<HTMLElement>(".vt-root");
    if (root) root.dataset.stale = String(!isCurrent && !failure);
  });
  const now = result && nowOf(frame, result, pointed);
  const ways = now ? waysOf(traits, width.current, store.find, now.result, now.step) : [];
  const drawn =
    model.get("engine")?.lab && isCurrent ? ways.find(({ tokens }) => !tokens)?.request : undefined;
  useEffect(() => {
    if (drawn) store.prepare(drawn); // the page answers: nobody waits for it
  });
  if (!now) return <p class="vt-line">{failure}</p>;
  const carried = needsKernel ? carriedRequests(frame) : [];
  const edit = now.live && (
    <SentenceField
      label={TASKS[traits.task].field}
      text={traits.sentence}
      problem={refused}
      onInput={store.forget}
      onRead={(text) => {
        const request = searchRequest(traits);
        store.read({ ...request, text }, request, () => set({ sentence: text, chosen: null }));
      }}
    />
  );
  return (
    <Stage
      header={
        <>
          <Words now={now} node={node} edit={edit} />
          {failure && <Problem>{describeProblem(failure, carried, now.result.request)}</Problem>}
        </>
      }
      headline={<Pieces pieces={headlineOf(now.result, now.step)} />}
      line={<Pieces pieces={lineOf(now.result, now.step)} />}
      controls={<Ways now={now} ways={ways} />}
      inspector={<Inspector {...now} onChoose={({ step, index }) => set({ step, chosen: index })} />}
      timeline={<Steps now={now} />}
      options={
        traits.method === "sample" &&
        now.live &&
        FILTERS.map((setting) => <SettingRange key={setting[0]} frame={frame} setting={setting} />)
      }
      {...stageOf(frame)}
    >
      <Picture {...now} onChoose={({ step, index }) => set({ step, chosen: index })} onPoint={point} />
    </Stage>
  );
}

/** Another search has other steps: where the last one was shown, the last one is shown again. */
function useEnd({ traits, set }: Frame<Traits>, result: SearchResult | null, onOther: () => void): void {
  const before = useRef<SearchResult | null>(null);
  useLayoutEffect(() => {
    const was = before.current;
    before.current = result;
    if (!result || result === was) return;
    if (was) onOther();
    const end = result.steps.length - 1;
    const step = traits.step ?? 0;
    if (step !== end && (step > end || (was && isEnd(was, step)))) set({ step: end, chosen: null });
  });
}

/** The requests for this sentence and method that the page has results for. */
function carriedRequests({ traits, model }: Frame<Traits>) {
  const answered = [...traits.data, ...(model.get("answers") ?? [])].filter(
    ([, reply]) => reply.error === undefined,
  );
  return answered
    .map(([request]) => request)
    .filter(({ text, method }) => text === traits.sentence && method === traits.method);
}

function Words({
  now,
  node,
  edit,
}: {
  now: Now;
  node: RefObject<HTMLSpanElement | null>;
  edit: ComponentChildren;
}) {
  const { frame, result, step, explained, place, goTo } = now;
  const weights = attentionOf(result, explained, place.layer, place.head) ?? [];
  const read = result.source.length ? result.source : result.prompt;
  const [{ tokens }] = result.hypotheses;
  const written = isEnd(result, step) ? [...tokens, result.end] : result.texts[step][leaderOf(result, step)];
  const toCome = Array.from({ length: Math.max(0, result.steps.length - written.length) }, () => "?");
  return (
    <>
      <span class="vt-chip-row" ref={node}>
        {read.map((token, at) => (
          <span
            class="vt-chip"
            key={`${at} ${token}`}
            title={markMeaning(token) ?? visible(token)}
            style={
              (weights[at] ?? 0) >= 0.005
                ? { boxShadow: `0 4px ${css(weightRgb(weights[at], frame.theme))}` }
                : {}
            }
          >
            <bdi>{visible(token)}</bdi>
          </span>
        ))}
      </span>
      {edit}
      <span class="vt-arrow">→</span>
      <Chips
        label="Words that are written"
        tokens={[...written, ...toCome]}
        kind="query"
        there={written.length}
        chosen={step}
        onChoose={(to) => goTo(Math.min(to, result.steps.length - 1))}
      />
    </>
  );
}

function Ways({ now, ways }: { now: Now; ways: Way[] }) {
  const { frame, live } = now;
  const { checkpoint, checkpoints } = frame.traits;
  const shown = ways.find(({ isShown }) => isShown)?.tokens ?? [];
  const [greedy] = ways;
  return (
    <>
      {ways
        .filter(({ tokens }) => live || tokens)
        .map((way) => (
          <button
            type="button"
            class="vt-way"
            key={way.name}
            disabled={!live}
            aria-pressed={way.isShown}
            title={runningText(way.tokens ?? [])}
            onClick={() => frame.set({ ...way.change, chosen: null })}
          >
            <span>{way.name}</span>
            <span class="vt-log-prob">{way.logProb !== undefined && `log P ${formatNats(way.logProb)}`}</span>
            {way.tokens && <Text way={way} other={way === greedy ? shown : (greedy.tokens ?? way.tokens)} />}
          </button>
        ))}
      {checkpoints?.length > 0 && (
        <Choice
          label="checkpoint"
          value={checkpoint}
          options={checkpoints.map((name) => [name, visible(name)] as const)}
          onChoose={(name) => frame.set({ checkpoint: name, chosen: null })}
        />
      )}
    </>
  );
}

/** The text of a way; once it has ended, what differs from another is marked. */
function Text({ way: { tokens, logProb }, other }: { way: Way; other: string[] }) {
  const written = tokens?.length ? tokens : ["(nothing)"];
  const [, marks] = differences(other, written);
  return (
    <bdi class="vt-of-query">
      {runningPieces(written).map(({ text, spaced }: { text: string; spaced: boolean }, at: number) => (
        <>
          {spaced && " "}
          {logProb !== undefined && tokens?.length && marks[at] ? <mark>{text}</mark> : text}
        </>
      ))}
    </bdi>
  );
}

function Steps({ now: { frame, result, step, live, goTo } }: { now: Now }) {
  const { method, seed } = frame.traits;
  const last = result.steps.length - 1;
  const end = last >= MANY ? "end" : result.sampled ? "the end" : "winner";
  const nameOf = (at: number) => (at === last ? end : last < MANY ? `word ${at + 1}` : String(at + 1));
  return (
    <>
      <Timeline label="Steps" steps={result.steps.map((_, at) => nameOf(at))} at={step} onStep={goTo} />
      {live &&
        SETTINGS[method].map((setting) => <SettingRange key={setting[0]} frame={frame} setting={setting} />)}
      {live && method === "sample" && (
        <>
          <button
            type="button"
            onClick={() => frame.set((newest) => ({ seed: (newest.seed ?? 0) + 1, chosen: null }))}
          >
            Draw again
          </button>
          <span class="vt-seed">seed {seed}</span>
        </>
      )}
    </>
  );
}

function SettingRange({ frame, setting }: { frame: Frame<Traits>; setting: Setting }) {
  const [trait, label, min, usual, step, all] = setting;
  const value = frame.traits[trait] ?? null;
  const max = Math.max(usual, value ?? min); // Python may set more
  return (
    <Range
      {...{ label, min, max, step }}
      value={value ?? all ?? min}
      told={value === null ? "all" : value.toFixed(-Math.floor(Math.log10(step)))}
      onInput={(to) => frame.set({ [trait]: to === all ? null : to, chosen: null })}
    />
  );
}

export default stageView<Traits>({
  name: "beam-stepper",
  label: "Beam stepper",
  traits: TRAITS,
  draw: BeamStepper,
});
