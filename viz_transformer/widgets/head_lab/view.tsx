// The head lab: heads switched off or scaled, the words that this turns into others, and what it costs each of them.

import type { ComponentChild } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Range } from "../base/controls.tsx";
import { useKernel } from "../base/hooks.ts";
import { canAsk, NEEDS_KERNEL, newestOf } from "../base/kernel.ts";
import { sameHead, TASKS } from "../base/kinds.ts";
import { Chips, SentenceField } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { shortened, visible } from "../base/text.ts";
import { columnsOf, type Factor, factorOf, type Head, isMoved, shortFactor, withFactor } from "./changes.ts";
import { headEffects } from "./effects.ts";
import { Heads } from "./heads.tsx";
import { Inspector } from "./inspector.tsx";
import { Picture } from "./picture.tsx";
import { createReplies, givenOf, type Reply, weightsOf } from "./replies.ts";
import {
  changeInWords,
  effectInWords,
  flipInWords,
  lookInWords,
  lookOf,
  lossInWords,
  metricName,
  pressedMetric,
  valueInWords,
} from "./sentences.ts";
import { TRAITS, type Traits as Declared } from "./traits.ts";

const GAP = "<mask>"; // as the model reads it
const FLAT = 2; // layers that a strip has room for
const LETTERS = 40; // of a sentence in another

interface Traits extends Omit<Declared, "factors"> {
  factors: Factor[];
}

type Found = ReturnType<ReturnType<typeof createReplies>["want"]> & { base: Reply; after: Reply };
/** What is shown now, all of it derived from the traits and the replies. */
type Now = ReturnType<typeof nowOf>;

function nowOf({ traits }: Frame<Traits>, found: Found) {
  const { base, after } = found;
  const factors = after.request.changes ?? []; // those that are shown; newer ones may be on their way
  const chosen: Head = { kind: traits.kind, layer: traits.layer, head: traits.head };
  const entry = base.kinds.find(({ kind }) => kind === chosen.kind)!;
  const source = base.kinds.find(({ kind }) => kind === "encoder")?.queries ?? null;
  const gap = traits.task === "fill" ? (source?.indexOf(GAP) ?? -1) : -1;
  const query = (traits.query ?? entry.queries.length) < entry.queries.length ? traits.query : null;
  const weights = weightsOf(after.kinds, chosen);
  const columns = columnsOf(base, after, gap);
  return {
    ...{ ...found, factors, chosen, entry, source, gap, query, weights, columns },
    factor: factorOf(traits.factors, chosen),
    look: lookOf(weights, entry, query ?? (gap >= 0 ? gap : null)),
    read: chosen.kind === "decoder" ? entry.reads : entry.keys,
    // A filled text stands below the one with the gap; a decoder writes each word below the one that it has read.
    under:
      gap >= 0
        ? columns.map((_, i) => i)
        : chosen.kind === "decoder"
          ? columns.map(({ index }) => index)
          : null,
  };
}

function HeadLab(frame: Frame<Traits>) {
  const { traits, model, redraw } = frame;
  const kernel = useKernel(model);
  const replies = useMemo(() => {
    return createReplies(kernel, redraw, () => canAsk(model));
  }, [kernel, redraw, model]);
  const [problem, setProblem] = useState("");
  const typed = useMemo(() => newestOf(kernel.ask), [kernel]);
  const found = replies.want({ sentence: traits.sentence, factors: traits.factors, metric: traits.metric });
  const { base, after } = found;
  const missing = missingInWords(found.failure, after);
  if (!base || !after)
    return (
      <p class="vt-line" role="alert">
        {missing}
      </p>
    );
  const onRead = (sentence: string) => {
    setProblem("");
    const request = { ...givenOf({ sentence, metric: traits.metric }), changes: [] };
    const show = (reply: Reply) => {
      setProblem(""); // it may have come late
      replies.setBase(request, reply);
      frame.set({ sentence, query: null });
    };
    typed.latest(request, show, (error: Error) => setProblem(error.message));
  };
  const edit = (
    <SentenceField
      label={TASKS[traits.task]?.field}
      text={traits.sentence}
      problem={problem}
      onInput={() => setProblem("")}
      onRead={onRead}
    />
  );
  return <Zones frame={frame} now={nowOf(frame, { ...found, base, after })} edit={edit} missing={missing} />;
}

/** Why something is not shown, and what is shown in its place. */
function missingInWords(failure: string, after: Reply | null): string {
  if (!failure || !after) return failure;
  const why = /[.!?]$/.test(failure) ? failure : `${failure}.`;
  const known = failure === NEEDS_KERNEL ? " Without it, this page knows each head alone switched off." : "";
  const { sentence, changes = [] } = after.request;
  return `${why}${known} Still shown: ${shortened(sentence, LETTERS)}, ${changeInWords(changes)}.`;
}

interface ZonesProps {
  frame: Frame<Traits>;
  now: Now;
  edit: ComponentChild;
  missing: string;
}

function Zones({ frame, now, edit, missing }: ZonesProps) {
  const { traits, set, theme } = frame;
  const { base, after, chosen, factors, columns, done, each, entry, look } = now;
  const effects = useMemo(() => headEffects(base.log_probs, base.kinds, each, base.value), [base, done]);
  const effect = effects.find((one) => sameHead(one, chosen));
  const choose = (head: Head) => selection(traits, head);
  const toggled = (of: readonly Factor[], head: Head) =>
    withFactor(of, head, factorOf(of, head) === 0 ? 1 : 0);
  const toggle = (head: Head) => set((then) => ({ ...choose(head), factors: toggled(then.factors, head) }));
  const press = (head: Head) =>
    set((then) => (sameHead(then, head) ? { factors: toggled(then.factors, head) } : selection(then, head)));
  const measure = (word: string) => set((then) => ({ metric: pressedMetric(then.metric, word) }));
  const alone = (head: Head) => set({ ...choose(head), factors: withFactor([], head, 0) });
  const told = factors.length
    ? valueInWords(traits.metric, base.value, after.value) +
      lossInWords(base.log_probs, after.log_probs, base.output)
    : effectInWords(effect, done < now.of ? 0 : effects.length, metricName(traits.metric) || undefined);
  return (
    <Stage
      header={<Header now={now} edit={edit} onQuery={(query) => set({ query })} />}
      heads={
        <Heads
          {...{ chosen, theme }}
          kinds={base.kinds}
          factors={traits.factors}
          onChoose={(head) => set(choose(head))}
          onPress={press}
        />
      }
      headsBeside={base.kinds.some(({ shape }) => shape[0] > FLAT)}
      headline={
        <Pieces pieces={factors.length ? flipInWords(factors, columns) : lookInWords(chosen, entry, look)} />
      }
      line={missing ? <span role="alert">{missing}</span> : told}
      controls={
        <Controls {...{ traits, set, chosen, alone }} strongest={done < now.of ? undefined : effects[0]} />
      }
      inspector={
        <Inspector
          {...now}
          {...{ frame, effects }}
          onAlone={alone}
          metric={traits.metric}
          onMetric={measure}
        />
      }
      {...stageOf(frame)}
    >
      <Picture
        {...now}
        {...{ theme, unit: frame.unit, redraw: frame.redraw }}
        before={base.log_probs}
        after={factors.length ? after.log_probs : [...(effect?.logProbs ?? [])]}
        isChanged={factors.length > 0}
        onToggle={() => toggle(chosen)}
        onQuery={(query) => set({ query })}
      />
    </Stage>
  );
}

/** The traits that choose a head; a pinned query is dropped if the new head has other queries. */
function selection(traits: Traits, { kind, layer, head }: Head): Partial<Traits> {
  const hasOthers = (kind === "encoder") !== (traits.kind === "encoder");
  return { kind, layer, head, ...(hasOthers ? { query: null } : {}) };
}

/** The text, and the words that the model makes of it; those that the changes brought are ringed. */
function Header({
  now,
  edit,
  onQuery,
}: {
  now: Now;
  edit: ZonesProps["edit"];
  onQuery: (query: number) => void;
}) {
  const { source, chosen, query, columns, base, after, gap } = now;
  const words = source
    ? columns.filter(({ after: word, index }) => word !== null && (gap < 0 || index !== null))
    : [];
  const written = words.slice(0, after.translation.length); // without the mark of their end
  const canPin = source && chosen.kind === "encoder";
  return (
    <>
      {canPin ? (
        <Chips label="Words read" tokens={source} kind="key" chosen={query} isQuery onChoose={onQuery} />
      ) : (
        (source ?? [base.request.sentence]).map((token, i) => (
          <bdi class="vt-chip" key={`${i} ${token}`}>
            {visible(token)}
          </bdi>
        ))
      )}
      {edit}
      {source && <span class="vt-arrow">→</span>}
      {written.map((column, i) => (
        <bdi class="vt-chip vt-of-query" data-changed={isMoved(column)} key={`${i} ${column.after}`}>
          {visible(column.after ?? "")}
        </bdi>
      ))}
    </>
  );
}

interface ControlsProps extends Pick<Frame<Traits>, "traits" | "set"> {
  chosen: Head;
  /** The head that changes the loss most; absent until all heads are ranked. */
  strongest: Head | undefined;
  alone: (head: Head) => void;
}

/** The factor of the chosen head, and what is suggested: of all heads the strongest, or all heads again. */
function Controls({ traits, set, chosen, strongest, alone }: ControlsProps) {
  const factor = factorOf(traits.factors, chosen);
  return (
    <>
      <Range
        label={`head ${chosen.layer}·${chosen.head} ×`}
        {...{ min: -1, max: 2, step: 0.05, value: factor, told: shortFactor(factor) }}
        onInput={(value) => set((now) => ({ factors: withFactor(now.factors, chosen, value) }))}
      />
      {strongest && !traits.factors.length ? (
        <button type="button" onClick={() => alone(strongest)}>
          Switch off the strongest, {strongest.kind} {strongest.layer}·{strongest.head}
        </button>
      ) : (
        <button type="button" disabled={!traits.factors.length} onClick={() => set({ factors: [] })}>
          All heads on
        </button>
      )}
    </>
  );
}

export default stageView<Traits>({ name: "head-lab", label: "Head lab", traits: TRAITS, draw: HeadLab });
