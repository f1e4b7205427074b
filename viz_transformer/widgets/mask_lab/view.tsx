// The mask lab: a mask composed from parts or painted, and what leaks through it in a live model.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useRoom } from "../base/hooks.ts";
import type { Cell } from "../base/keys.ts";
import { tween } from "../base/motion.ts";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { visible } from "../base/text.ts";
import {
  composeMask,
  emptyRows,
  MASK_TRAITS,
  type MaskState,
  paintCells,
  type Words,
} from "./composition.ts";
import { Header, Inspector, MaskControls, Options } from "./controls.tsx";
import { type Contents, layOut } from "./layout.ts";
import { leakRows, type LeaksReply, leakToShow, readLeaks } from "./leaks.ts";
import { useReply } from "./panels.tsx";
import { Picture } from "./picture.tsx";
import { firstLook, type Preset } from "./presets.ts";
import { type Shown, told } from "./sentences.ts";
import { TRAITS, type Traits } from "./traits.ts";

const LEGEND = [
  ["vt-may", "may attend"],
  ["vt-closed", "closed"],
  ["vt-mine", "changed by you"],
] as const;

const stateOf = (traits: Readonly<Traits>) =>
  Object.fromEntries(MASK_TRAITS.map((name) => [name, traits[name]])) as unknown as MaskState;

/** What one frame shows of the mask and of what was measured. */
function useSnapshot(frame: Frame<Traits>) {
  const { traits } = frame;
  const [words, state] = [traits.words as Words, stateOf(traits)];
  const composed = composeMask(words, state);
  const base = useBase(words, state);
  const shown: Shown = {
    ...state,
    edit: traits.edit,
    sentence: Math.min(traits.sentence, composed.sentences - 1),
    edited: Math.min(traits.edited, composed.keys - 1),
  };
  const { reply, problem } = useReply(frame, "leaks", words, state);
  const newest = useRef<{ reply: unknown; size: string }>({ reply: null, size: "" });
  const size = [composed.sentences, composed.queries, composed.keys].join();
  if (reply || problem) newest.current = { reply, size };
  // The last reply stays until the next one, if it is of a mask of this size.
  const kept = newest.current.size === size ? newest.current.reply : null;
  const leaks = kept ? readLeaks(kept as LeaksReply) : null;
  const isMeasured = leaks && (shown.edit === "word" || leaks.longer);
  const rows = isMeasured ? leakRows(leaks, composed, shown) : null;
  const chosen = {
    query: traits.query !== null && traits.query < composed.queries ? traits.query : null,
    key: traits.key !== null && traits.key < composed.keys ? traits.key : null,
  };
  const isAwaited = !reply && !problem;
  return {
    words,
    state,
    composed,
    base,
    shown,
    leaks,
    rows,
    chosen,
    problem,
    isAwaited,
    polarity: traits.polarity,
  };
}

export type Snapshot = ReturnType<typeof useSnapshot>;

type Parts = Pick<MaskState, "kind" | "mistake" | "padding" | "causal">;

/** The mask before it was changed: as the lab opened, or as the last preset or kind of attention made it. */
function useBase(words: Words, state: MaskState) {
  const start = useRef<Parts>(state);
  if (state.kind !== start.current.kind || state.mistake !== start.current.mistake) start.current = state;
  const { padding, causal } = start.current;
  return {
    parts: start.current,
    may: composeMask(words, { ...state, padding, causal, painted: [] }).may,
    /** From now on the mask is compared with these parts. */
    restart: (parts: Partial<MaskState>) => {
      start.current = { ...state, ...parts };
    },
  };
}

/** Sets parts of the mask; what is selected is brought inside it, and moved to a leak. */
export type Change = (changes: Partial<MaskState>, preset?: Preset) => void;

function Lab(frame: Frame<Traits>) {
  const { traits, set } = frame;
  const snapshot = useSnapshot(frame);
  const { words, composed, shown, leaks, problem, isAwaited } = snapshot;
  const [hover, setHover] = useState<Cell | null>(null);
  // Where the token that leaks most is looked for, in a later frame, once its reply is here.
  const seeking = useRef<{ among: "batch" | "sentence"; since: typeof frame } | null>(null);
  useLayoutEffect(() => {
    if (!seeking.current || seeking.current.since === frame || isAwaited) return;
    const found = leaks && leakToShow(leaks, composed, shown, seeking.current.among);
    seeking.current = null;
    if (found) set(found);
  });
  const change: Change = (changes, preset) => {
    seeking.current = { among: preset ? "batch" : "sentence", since: frame };
    if (preset) snapshot.base.restart(changes);
    set((now) => inside(now, changes, preset));
  };
  const paint = (cells: Cell[], may: boolean) => {
    seeking.current = { among: "sentence", since: frame };
    set((now) => ({
      painted: paintCells(
        words,
        stateOf(now),
        cells.map(({ row, col }) => [shown.sentence, row, col, may]),
      ),
    }));
  };
  const { headline, line } = told(leaks, composed, shown, problem);
  return (
    <Stage
      header={<Header snapshot={snapshot} set={set} />}
      headline={<Pieces pieces={headline} />}
      line={<Pieces pieces={line} />}
      controls={<MaskControls snapshot={snapshot} kinds={traits.kinds} change={change} set={set} />}
      inspector={<Inspector unfolded={traits.unfolded} {...{ snapshot, hover, set, frame }} />}
      options={<Options snapshot={snapshot} kinds={traits.kinds} change={change} set={set} />}
      {...stageOf(frame)}
    >
      <MaskRoom frame={frame} snapshot={snapshot} onPoint={setHover} onPaint={paint} />
      <p class="vt-legend vt-beside vt-caption" aria-hidden="true">
        {LEGEND.map(([sign, says]) => (
          <span key={says}>
            <i class={`vt-sign ${sign}`} />
            {says}
          </span>
        ))}
      </p>
    </Stage>
  );
}

/** A change of what the mask is made of, with what is selected brought inside the new mask. */
function inside(now: Readonly<Traits>, changes: Partial<MaskState>, preset?: Preset): Partial<Traits> {
  const composed = composeMask(now.words as Words, { ...stateOf(now), ...changes });
  const within = (at: number, size: number) => Math.min(at, size - 1);
  const kept = {
    sentence: within(now.sentence, composed.sentences),
    edited: within(now.edited, composed.keys),
    query: now.query === null ? null : within(now.query, composed.queries),
    key: now.key === null ? null : within(now.key, composed.keys),
  };
  const looked = preset ? { ...firstLook(preset, composed), edit: "word" } : {};
  return { ...kept, ...looked, ...(changes as Partial<Traits>) };
}

interface MaskRoomProps {
  frame: Frame<Traits>;
  snapshot: Snapshot;
  onPoint: (cell: Cell | null) => void;
  onPaint: (cells: Cell[], may: boolean) => void;
}

function MaskRoom({ frame, snapshot, onPoint, onPaint }: MaskRoomProps) {
  const { unit, set } = frame;
  const { box, room } = useRoom();
  const motion = useRef(tween()).current;
  const { composed, base, shown, rows, leaks, chosen, polarity, isAwaited } = snapshot;
  const changes = motion.at(rows?.map(({ change }) => (Number.isFinite(change) ? change : 0)) ?? []);
  if (motion.isMoving()) frame.redraw();
  const measure = (text: string) => frame.measure(text) * unit;
  return (
    <div
      class="vt-mask-box"
      ref={box}
      aria-busy={isAwaited}
      style={{ minHeight: `${frame.height * 0.45}px` }}
    >
      {room && (
        <Picture
          layout={layOut(room, unit, contentsOf(snapshot, measure))}
          {...{ composed, polarity, chosen, rows, changes, measure, onPoint, onPaint }}
          base={base.may}
          sentence={shown.sentence}
          edited={shown.edit === "word" ? shown.edited : null}
          other={leaks?.replacements[shown.sentence]?.[shown.edited] ?? ""}
          onChoose={({ row, col }) => set({ query: row, key: col })}
          onEdit={(edited) => set({ edit: "word", edited })}
          onQuery={(query) => set({ query })}
        />
      )}
    </div>
  );
}

function contentsOf({ composed, shown, rows }: Snapshot, measure: (text: string) => number): Contents {
  const widest = (names: (string | undefined)[]) =>
    Math.max(0, ...names.map((name) => measure(visible(name ?? ""))));
  const flipped = rows?.filter(({ writes }) => writes && writes.now.word !== writes.right.word) ?? [];
  const b = shown.sentence;
  const empty = emptyRows(composed, b);
  const hasWrites = rows?.some(({ writes }) => writes);
  return {
    queries: composed.queries,
    keys: composed.keys,
    names: {
      query: widest(
        (composed.queryTokens[b] ?? []).map((name, q) => (empty.includes(q) ? `${name} ∅` : name)),
      ),
      key: widest(composed.keyTokens[b] ?? []),
      now: hasWrites ? widest(rows?.map(({ writes }) => writes?.now.word) ?? []) + 24 : 0,
      right: widest(flipped.map(({ writes }) => writes?.right.word)),
    },
    isMeasured: Boolean(rows),
  };
}

export default stageView<Traits>({ name: "mask-lab", label: "Mask lab", traits: TRAITS, draw: Lab });
