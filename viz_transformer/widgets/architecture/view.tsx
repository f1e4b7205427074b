// The architecture: a whole Transformer as one picture, with a sentence flowing through it, at any depth.

import { consume, hasModifier } from "../base/keys.ts";
import type { ComponentChild } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Range } from "../base/controls.tsx";
import { type Choice, fitChoice, type SentLayer, unpackSteps } from "../base/head/arithmetic.ts";
import { HeadRoom } from "../base/head/head_room.tsx";
import { useKernel, useRoom } from "../base/hooks.ts";
import { newestReply } from "../base/replies.ts";
import { Chips, SentenceField } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { visible } from "../base/text.ts";
import { Timeline } from "../base/timeline.tsx";
import { Inspector, type Part } from "./inspector.tsx";
import { type Lanes, layOut } from "./lanes.ts";
import { Picture } from "./picture.tsx";
import { headlineOf, narration, placeOf } from "./sentences.ts";
import {
  type Box,
  chaptersOf,
  type Depth,
  depthIn,
  DEPTHS,
  isAttention,
  roleOf,
  rowsAt,
  type Stack,
  type Step,
  stepsOf,
  stepToReach,
} from "./steps.ts";
import { Tower } from "./tower.tsx";
import { Trail } from "./trail.tsx";
import { TRAITS, type Traits as Declared } from "./traits.ts";
import { chosenWords, type Reply, tokensOf } from "./values.ts";

const PHONE = 600; // pixels of a view, below which the whole model is a tower of blocks
const PLAYED_MS = 2200; // a chapter takes at a pace of 1

interface Traits extends Declared {
  boxes: Box[];
  parts: Record<string, Part>;
  sizes: { d_model: number; n_heads: number; n_words: number };
}

/** What is shown now, all of it derived from the traits and the reply. */
export interface Now {
  frame: Frame<Traits>;
  reply: Reply;
  steps: Step[];
  step: number;
  rows: Map<string, number>;
  box: Box;
  depth: Depth;
  chosen: Record<Stack, number>;
  /** The chosen word of the box's stack. */
  row: number;
  head: number | null;
  partName: (box: Box) => string;
  go: (box: string, depth: Depth, head?: number) => void;
}

function nowOf(frame: Frame<Traits>, reply: Reply): Now | null {
  const { boxes, parts, box: key, row, head = null, depth } = frame.traits;
  const steps = stepsOf(boxes, reply.target?.length ?? 0);
  const step = Math.min(frame.traits.step, steps.length - 1);
  const rows = rowsAt(steps, step, reply.source?.length ?? 0);
  const box = boxes.find((each) => each.key === (rows.has(key) ? key : steps[step]?.box));
  if (!box) return null;
  const chosen = chosenWords(boxes, rows, row ?? null, reply.source ?? []);
  return {
    ...{ frame, reply, steps, step, rows, box, chosen, head },
    depth: depthIn(box, depth ?? "model"),
    row: chosen[box.stack],
    partName: ({ part }) => parts[part]?.name ?? part,
    go: (to, at, which) =>
      frame.set((traits) => ({
        box: to,
        depth: at,
        step: stepToReach(steps, traits.step, to),
        ...(which === undefined ? {} : { head: which }),
      })),
  };
}

function Architecture(frame: Frame<Traits>) {
  const { traits, set, model, redraw } = frame;
  const kernel = useKernel(model);
  const replies = useMemo(() => newestReply<{ sentence: string }, Reply>(kernel, redraw), [kernel, redraw]);
  const { latest, problem } = replies.want({ sentence: traits.sentence });
  const now = latest && nowOf(frame, latest.reply);
  const edit = (
    <SentenceField
      text={traits.sentence}
      problem={problem}
      onInput={replies.forget}
      onRead={(text) =>
        replies.read({ sentence: text }, (read) => {
          const last = stepsOf(traits.boxes, read.target?.length ?? 0);
          set({ sentence: text, step: last.length - 1, box: last.at(-1)?.box ?? "", row: null });
        })
      }
    />
  );
  if (!now) return <p class="vt-line">{problem}</p>;
  const trail = <Trail {...now} boxes={traits.boxes} nHeads={traits.sizes.n_heads} />;
  if (now.depth === "head") return <Inside now={now} kernel={kernel} trail={trail} edit={edit} />;
  return <Whole now={now} trail={trail} edit={edit} />;
}

interface RoomProps {
  now: Now;
  trail: ComponentChild;
  edit: ComponentChild;
}

/** The model, a layer or an attention, in lanes. */
function Whole({ now, trail, edit }: RoomProps) {
  const { frame, reply, box, depth, step, steps, row } = now;
  const { traits, set } = frame;
  const part = traits.parts[box.part];
  const told = { ...now, boxes: traits.boxes, nHeads: traits.sizes.n_heads };
  const names = (reply.written && reply.target ? reply.written : []).map(visible);
  const word = steps[step]?.word ?? Math.max(0, row);
  const chapters = chaptersOf(traits.boxes, steps, depth === "block" ? "layer" : depth, {
    ...now,
    word,
    names,
  });
  const isPast = depth === "model" && names.length > 0;
  const at = isPast ? (steps[step]?.word ?? null) : chapters.findIndex((each) => each.box === box.key);
  return (
    <Stage
      header={<Words now={now} edit={edit} />}
      headline={<Pieces pieces={headlineOf(told)} />}
      line={part?.text}
      trail={trail}
      inspector={part && <Inspector now={now} part={part} doors={doorsOf(now)} />}
      timeline={
        <Timeline
          label="Steps"
          steps={chapters.map(({ name }) => name)}
          at={at}
          kind={isPast ? "vt-of-query" : ""}
          ms={PLAYED_MS / traits.pace}
          onStep={(to) => {
            const chapter = chapters[to];
            if (chapter) set({ step: chapter.step, box: chapter.box, ...(isPast && { row: null }) });
          }}
        />
      }
      options={<Pace frame={frame} />}
      {...stageOf(frame)}
    >
      <Flow now={now} told={narration(told, steps, step)} />
    </Stage>
  );
}

function Pace({ frame: { traits, set } }: { frame: Frame<Traits> }) {
  return (
    <Range
      label="pace of playing"
      min={0.5}
      max={8}
      step={0.5}
      value={traits.pace}
      told={traits.pace.toFixed(1)}
      onInput={(pace) => set({ pace })}
    />
  );
}

function doorsOf({ box, depth, frame, head }: Now): [name: string, box: string, depth: Depth][] {
  const { boxes } = frame.traits;
  if (depth === "block") return [[`Step inside head ${head ?? 0}`, box.key, "head"]];
  const attention = isAttention(box)
    ? box
    : boxes
        .filter((each) => each.stack === box.stack && each.layer === box.layer && isAttention(each))
        .at(-1);
  if (depth === "layer" && attention) return [["Open its heads", attention.key, "block"]];
  const stacks = [...new Set(boxes.map(({ stack }) => stack))];
  return stacks.reverse().flatMap((stack): [string, string, Depth][] => {
    const last = boxes.filter((each) => each.stack === stack && isAttention(each)).at(-1);
    return last ? [[`Open ${placeOf(last)}`, last.key, "layer"]] : [];
  });
}

function Words({ now, edit }: { now: Now; edit: ComponentChild }) {
  const { frame, reply, box, chosen, rows, steps } = now;
  const { boxes } = frame.traits;
  const choose = (stack: Stack, row: number) => frame.set(choiceOf(now, stack, row));
  const done = rows.get(boxes.at(-1)?.key ?? "") ?? 0;
  const writes = reply.target && reply.written;
  const stack = reply.source?.length ? "encoder" : "decoder";
  // A decoder alone reads its own words; those that no text gives are what it writes.
  const isAlone = stack === "decoder" && writes;
  const given = isAlone ? (reply.given ?? 0) : 0;
  const isGiven = !isAlone || chosen[stack] < given;
  return (
    <>
      <Chips
        label="Words that are read"
        tokens={tokensOf(reply, stack).slice(0, isAlone ? given + 1 : undefined)}
        kind="key"
        chosen={box.stack === stack && isGiven ? chosen[stack] : null}
        isQuery={roleOf(box) === "query"}
        onChoose={(row) => choose(stack, row)}
      />
      {(!isAlone || given > 0) && edit}
      {(Boolean(reply.source?.length) || given > 0) && writes && <span class="vt-arrow">→</span>}
      {writes && (
        <Chips
          label={isAlone && !given ? "Words that follow" : "Words that are written"}
          tokens={writes.slice(given)}
          kind="query"
          there={Math.max(0, done - given)}
          chosen={box.stack === "decoder" && chosen.decoder >= given ? chosen.decoder - given : null}
          onChoose={(at) => {
            const row = at + given;
            const key = boxes.at(-1)?.key ?? "";
            if (row < done) choose("decoder", row);
            else
              frame.set({
                box: key,
                row: null,
                step: steps.findIndex((each) => each.box === key && each.word === row),
              });
          }}
        />
      )}
      {isAlone && !given && edit}
    </>
  );
}

/** The traits that choose a word of a stack. */
function choiceOf({ frame, box, rows, depth }: Now, stack: Stack, row: number): Partial<Traits> {
  if (stack === box.stack) return { row };
  const reached = frame.traits.boxes.filter((each) => each.stack === stack && rows.has(each.key));
  const same = reached.filter(({ part }) => part === box.part).at(-1) ?? reached.at(-1);
  return same ? { row, box: same.key, depth: depthIn(same, depth) } : {};
}

function Flow({ now, told }: { now: Now; told: string }) {
  const { frame, reply, box, depth, head, steps, row, go } = now;
  const { traits, set, theme } = frame;
  const { box: node, room } = useRoom();
  const { unit } = frame;
  const count = { encoder: tokensOf(reply, "encoder").length, decoder: tokensOf(reply, "decoder").length };
  const words = [...(reply.source ?? []), ...(reply.target ?? []), ...(reply.written ?? [])];
  const asked = {
    ...{ boxes: traits.boxes, depth, box, nHeads: traits.sizes.n_heads, count, unit, partName: now.partName },
    writes: traits.boxes.at(-1)?.part === "output",
    widest: Math.max(...words.map((word) => frame.measure(visible(word), true))),
  };
  const lanes = room && layOut({ ...asked, ...room });
  const least = room ? layOut({ ...asked, ...room, height: 0 }).height : 0;
  const isTower = depth === "model" && frame.width < PHONE;
  const motion = useMotion(lanes, now);
  const last = steps.length - 1;
  // Keys may come faster than frames: the step is that of now.
  const goTo = (to: (step: number) => number) =>
    set((newest) => {
      const inside = Math.min(last, Math.max(0, to(Math.min(last, newest.step))));
      return { step: inside, box: steps[inside]?.box ?? box.key, row: null };
    });
  const keys: Record<string, () => void> = {
    ArrowUp: () => set({ row: Math.max(0, row - 1) }),
    ArrowDown: () => set({ row: Math.min((now.rows.get(box.key) ?? 1) - 1, row + 1) }),
    ArrowLeft: () => goTo((now) => now - 1),
    ArrowRight: () => goTo((now) => now + 1),
    Home: () => goTo(() => 0),
    End: () => goTo(() => last),
    Enter: () => set({ opened: !traits.opened }),
    " ": () => node.current?.closest(".vt-zones")?.querySelector<HTMLElement>(".vt-play-button")?.click(),
  };
  useEscape(node, now);
  return (
    <div
      ref={node}
      class="vt-model"
      role="application"
      tabIndex={0}
      data-lm-suppress-shortcuts="true"
      data-depth={depth}
      aria-label="The model. Arrow keys step and choose a word, Space plays, Enter shows the code, Escape goes back."
      style={{ minHeight: isTower ? "" : `${Math.ceil(least)}px` }}
      onClick={(event) => {
        const at = event.target as Element;
        const word = at.closest<SVGElement>("[data-row]")?.dataset;
        const part = at.closest<SVGElement>("[data-key][data-depth]")?.dataset;
        if (word) set(choiceOf(now, word.stack === "encoder" ? "encoder" : "decoder", Number(word.row)));
        else if (part?.key) go(part.key, part.depth as Depth, part.head ? Number(part.head) : undefined);
      }}
      onKeyDown={(event) => {
        const act = keys[event.key];
        if (!act || hasModifier(event) || event.shiftKey) return;
        act();
        consume(event);
      }}
    >
      <p class="vt-says vt-unseen" role="status">
        {told}
      </p>
      {isTower ? (
        <Tower {...{ ...now, theme, head }} boxes={traits.boxes} nHeads={traits.sizes.n_heads} />
      ) : (
        lanes && (
          <Picture scene={{ ...now, lanes, motion, theme, head, boxes: traits.boxes, sizes: traits.sizes }} />
        )
      )}
    </div>
  );
}

/** What a depth grows out of when it is come to, or shrinks to when it is come back to. */
function useMotion(lanes: Lanes | null, { box, depth }: Now) {
  const before = useRef<{ lanes: Lanes; box: Box; depth: Depth } | null>(null);
  const motion = useRef({ name: "", left: 0, share: 1 });
  const was = before.current;
  if (lanes && was && was.depth !== depth) {
    const deeper = DEPTHS.indexOf(depth) > DEPTHS.indexOf(was.depth);
    const [around, inner] = deeper ? [was.lanes, box] : [lanes, was.box];
    const column = around.columns.find(({ key, kind, layer, stack }) =>
      kind === "layer"
        ? stack === inner.stack && layer === inner.layer
        : key === inner.key && kind !== "strip",
    );
    const share = column ? column.width / (around.right - around.left) : 1;
    motion.current = { name: deeper ? "deeper" : "back", left: column?.left ?? 0, share };
  }
  if (lanes) before.current = { lanes, box, depth };
  return motion.current;
}

/** Escape closes the code, or goes back, from anywhere in the view. */
function useEscape(node: { current: HTMLElement | null }, now: Now) {
  const newest = useRef(now);
  newest.current = now;
  useEffect(() => {
    const root = node.current?.closest<HTMLElement>(".vt-root");
    if (!root) return;
    const was = root.dataset.depth;
    root.dataset.depth = now.depth;
    // What was pressed has gone with the depth that it stood in; the keys stay with the view.
    if (!was || was === now.depth || document.activeElement !== document.body) return;
    root.tabIndex = -1;
    root.focus({ preventScroll: true });
  }, [node, now.depth]);
  useEffect(() => {
    const root = node.current?.closest<HTMLElement>(".vt-root");
    if (root?.dataset.cameBack) node.current?.focus(); // the picture that had the focus has gone
    delete root?.dataset.cameBack;
    const back = (event: KeyboardEvent) => {
      const { frame, depth } = newest.current;
      if (event.key !== "Escape" || (depth === "model" && !frame.traits.opened)) return;
      frame.set(
        frame.traits.opened ? { opened: false } : { depth: DEPTHS[DEPTHS.indexOf(depth) - 1] ?? "model" },
      );
      consume(event);
      node.current?.focus();
      if (root && depth === "head") root.dataset.cameBack = "true";
    };
    root?.addEventListener("keydown", back);
    return () => root?.removeEventListener("keydown", back);
  }, [node]);
}

const FIRST = { step: 8, key: null, column: null, scale: true, mask: true, temperature: 1 };

/** One head, number by number. */
function Inside({ now, kernel, trail, edit }: RoomProps & { kernel: ReturnType<typeof useKernel> }) {
  const { frame, box, head, row } = now;
  const { sentence } = frame.traits;
  const kind = box.part === "cross_attention" ? "cross" : box.stack;
  const [sent, setSent] = useState<SentLayer | null>(null);
  const [problem, setProblem] = useState("");
  const [choice, setChoice] = useState<Omit<Choice, "head" | "query">>(FIRST);
  const node = useRef<HTMLParagraphElement>(null);
  useEscape(node, now);
  useEffect(() => {
    setProblem("");
    kernel
      .ask({ sentence, kind, layer: box.layer })
      .then(setSent, (error: Error) => setProblem(error.message));
  }, [kernel, sentence, kind, box.layer]);
  const isIt = sent && sent.text === sentence && sent.kind === kind && sent.layer === box.layer;
  const layer = useMemo(() => (isIt ? unpackSteps(sent) : null), [isIt, sent]);
  return (
    <>
      <p ref={node} class="vt-line" role="alert" hidden={!problem}>
        {problem}
      </p>
      {layer && (
        <HeadRoom
          frame={frame}
          layer={layer}
          chosen={fitChoice(layer, { ...choice, head: head ?? 0, query: row })}
          stage={stageOf(frame)}
          trail={trail}
          edit={edit}
          onChange={({ head: toHead, query, ...rest }) => {
            if (toHead !== undefined) frame.set({ head: toHead });
            if (query !== undefined) frame.set({ row: query });
            setChoice((was) => ({ ...was, ...rest }));
          }}
        />
      )}
    </>
  );
}

export default stageView<Traits>({
  name: "architecture",
  label: "Architecture",
  traits: TRAITS,
  draw: Architecture,
});
