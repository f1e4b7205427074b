// The picture of a search: its tree as a river, with a button for each candidate.

import { consume, hasModifier } from "../base/keys.ts";
import type { ComponentChildren, CSSProperties } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useRoom } from "../base/hooks.ts";
import { tween } from "../base/motion.ts";
import type { Frame } from "../base/stage_view.tsx";
import { percent, visible } from "../base/text.ts";
import {
  type Candidate,
  chanceOf,
  heightsOf,
  isEnd,
  keptIndices,
  leaderOf,
  moveInTree,
  pathTo,
  type Position,
  prefixesOf,
  type SearchResult,
  type Traits,
} from "./candidates.ts";
import { type Box, type Branch, layOut, type River, type Room } from "./river.ts";
import { describeCandidate, markOf } from "./sentences.ts";
import { Button } from "../base/controls.tsx";

const MOST_TO_COME = 3; // lanes of words to come

interface PictureProps {
  frame: Frame<Traits>;
  result: SearchResult;
  step: number;
  /** The chosen candidate. */
  here: Position;
  /** The candidate that is explained: the one that is pointed at, else the chosen one. */
  explained: Position;
  onChoose: (position: Position) => void;
  onPoint: (position: Position | null) => void;
}

/** What one frame draws. */
interface Scene extends PictureProps {
  river: River;
  unit: number;
  width: (text: string) => number;
  /** The candidates that lead to the one that leads. */
  path: number[];
  greedy: Set<number>[];
  winner: number | null;
}

export function Picture(props: PictureProps) {
  const { result, step, here, explained, onChoose, onPoint } = props;
  const { box, room } = useRoom();
  const scroller = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  const scene = useScene(props, room);
  const latest = useRef(here); // keys may come faster than frames
  latest.current = here;
  const opened = useRef<{ result: SearchResult; here: Position } | null>({ result, here });
  useLayoutEffect(() => {
    const node = scroller.current;
    if (!node) return;
    const at = opened.current; // until something else is chosen, the tree is seen from its start
    if (at && (at.result !== result || at.here.step !== here.step || at.here.index !== here.index))
      opened.current = null;
    const now = node.querySelector<HTMLElement>('[aria-pressed="true"]');
    if (now && !opened.current) bringIntoSight(node, now);
    if (wantsFocus.current) now?.focus({ preventScroll: true });
    wantsFocus.current = false;
  }, [result, step, here.step, here.index, room]);
  const positionOf = (event: Event): Position | null => {
    const data = (event.target as Element).closest<HTMLElement>("[data-index]")?.dataset;
    return data ? { step: Number(data.step), index: Number(data.index) } : null;
  };
  return (
    <div ref={box} class="vt-room">
      <p class="vt-unseen" role="status">
        {describeCandidate(
          result.steps[explained.step][explained.index],
          result.texts[explained.step][explained.index],
        )}
      </p>
      <div
        ref={scroller}
        class="vt-tree"
        role="group"
        aria-label="Tree of the search; arrow keys move along its branches"
        onPointerOver={(event) => onPoint(positionOf(event))}
        onPointerLeave={() => onPoint(null)}
        onClick={(event) => {
          const position = positionOf(event);
          if (position) onChoose(position);
        }}
        onKeyDown={(event) => {
          if (hasModifier(event) || !positionOf(event) || !scene) return;
          const { order } = scene.river.columns[latest.current.step];
          const to = moveInTree(result.steps, latest.current, event.key, order);
          if (!to) return;
          wantsFocus.current = true; // its button may not exist yet
          latest.current = to;
          onChoose(to);
          consume(event);
        }}
      >
        {scene && <Tree scene={scene} />}
      </div>
    </div>
  );
}

/** What is drawn; laid out again only where that changes, and not where another candidate is pointed at. */
function useScene(props: PictureProps, room: Room | null): Scene | null {
  const { frame, result, step, explained } = props;
  const { theme, unit } = frame;
  const motion = useRef(tween()).current;
  const width = (text: string) => frame.measure(text, true);
  const shown = motion.at(useMemo(() => heightsOf(result).flat(), [result]));
  const moment = motion.isMoving() ? shown : null;
  if (moment) frame.redraw();
  const river = useMemo(
    () => room && layOut(result, shown, room, unit, (candidate) => width(written(candidate))),
    [result, room, unit, theme, moment],
  );
  const greedy = useMemo(
    () => (result.greedy ? prefixesOf(result.texts, result.greedy.tokens, result.end) : []),
    [result],
  );
  const path = isEnd(result, step)
    ? result.hypotheses[0].path
    : pathTo(result.steps, { step, index: leaderOf(result, step) });
  const winner = result.steps[explained.step][explained.index].beaten_by ?? null;
  return river && { ...props, river, unit, width, path, greedy, winner };
}

/** A candidate's word, with the mark of what became of it. */
const written = (candidate: Candidate): string =>
  `${candidate.status === "kept" ? "" : `${markOf(candidate)} `}${visible(candidate.token)}`;

const place = ({ left, top, width, height }: Box): CSSProperties => ({
  left: `${left}px`,
  top: `${top}px`,
  width: `${width}px`,
  height: `${height}px`,
});

function Tree({ scene }: { scene: Scene }) {
  const { river, result, step } = scene;
  const [few, there] = [river.columns.length <= 6, river.columns.slice(0, step + 1)];
  return (
    <div class="vt-plane" style={{ width: `${river.width}px`, height: `${river.height}px` }}>
      <svg class="vt-flows" aria-hidden="true">
        {there.map((_, number) => (
          <Flows key={`${number}`} scene={scene} number={number} />
        ))}
      </svg>
      {river.columns.map(({ left, width }, number) => (
        <span
          class={`vt-column-head ${number === step ? "vt-now" : ""}`}
          key={`${number}`}
          style={place({ left, top: 0, width, height: river.head })}
        >
          {number + 1 === river.columns.length ? "end" : few ? `word ${number + 1}` : number + 1}
        </span>
      ))}
      <span
        class="vt-node vt-start"
        style={{ ...place(river.start), "--vt-flow": `${river.start.height}px` }}
      >
        <bdi class="vt-word">{visible((result.prompt.length > 1 && result.prompt.at(-1)) || "start")}</bdi>
      </span>
      {there.map(({ branches }, number) => (
        <>
          {branches.map((branch) => (
            <Node key={`${number} ${branch.index}`} scene={scene} branch={branch} />
          ))}
          <Tail key={`${number}`} scene={scene} number={number} />
        </>
      ))}
      <ToCome scene={scene} />
    </div>
  );
}

function Flows({ scene, number }: { scene: Scene; number: number }) {
  const { river, result, path, step } = scene;
  const { branches, cuts } = river.columns[number];
  const kindOf = (index: number) => {
    if (path[number] === index) return "vt-leading";
    return ["kept", "finished"].includes(result.steps[number][index].status) ? "" : "vt-pruned";
  };
  return (
    <g class={number === step ? "vt-newest" : ""}>
      {branches.map(({ index, from }) => (
        <path key={`${index}`} d={from} class={`vt-branch ${kindOf(index)}`} />
      ))}
      {cuts.slice(0, number === step ? cuts.length : 1).map((d) => (
        <path key={d} d={d} class="vt-cut" />
      ))}
    </g>
  );
}

/** A candidate with a row: as high as it is probable, with its word and its probability. */
function Node({ scene, branch }: { scene: Scene; branch: Branch }) {
  const { result, unit, width, river, path, greedy } = scene;
  const { step, index, flow } = branch;
  const candidate = result.steps[step][index];
  const word = visible(candidate.token);
  const isLeading = path[step] === index && flow >= river.line;
  const chance = candidate.share ?? chanceOf(candidate);
  const mark = candidate.status === "kept" ? "" : `${markOf(candidate)} `;
  const fits = (text: string, size: number) => size * width(text) + 1.2 <= branch.width / unit;
  const rows = branch.height / unit;
  const size = rows < 3 ? "" : rows >= 4 && fits(mark + word, 1.6) ? "vt-tall vt-large" : "vt-tall";
  const notes = [
    (size || (chance >= 0.001 && fits(`${mark}${word} ${percent(chance)}`, 1))) && percent(chance),
    rows >= 5.5 && greedy[step]?.has(index) && "greedy",
    rows >= 9 && ["pruned", "forbidden"].includes(candidate.status) && visible(candidate.reason),
  ];
  const rank = rankOf(scene, step, index);
  return (
    <>
      <Leaf
        {...{ scene, step, index }}
        kind={`vt-node ${size} ${isLeading ? "vt-leading" : ""}`}
        style={{ ...place(branch), "--vt-flow": `${Math.max(2, flow)}px` }}
      >
        <span class="vt-word">
          {mark}
          <bdi>{word}</bdi>
        </span>
        {notes.filter(Boolean).map((note) => (
          <span class="vt-chance" key={note}>
            {note}
          </span>
        ))}
      </Leaf>
      {rank >= 0 && (
        <span
          class={`vt-rank ${rank ? "" : "vt-first"}`}
          style={{ left: `${branch.left + branch.width + 4}px`, top: `${branch.top + branch.height / 2}px` }}
          title={`rank ${rank + 1}`}
        >
          {rank + 1}
        </span>
      )}
    </>
  );
}

/** Which of several texts a candidate of the newest step is, the best 0; -1 where that is not shown. */
function rankOf({ result, step: newest }: Scene, step: number, index: number): number {
  const ranked = isEnd(result, step)
    ? result.hypotheses.map(({ path }) => path[step] ?? -1)
    : keptIndices(result.steps[step]);
  return step === newest && !result.sampled && ranked.length > 1 ? ranked.indexOf(index) : -1;
}

interface LeafProps extends Position {
  scene: Scene;
  kind: string;
  style?: CSSProperties;
  /** What a press does instead of choosing it. */
  onPress?: () => void;
  children: ComponentChildren;
}

/** A candidate to choose; one of all is in the Tab order. */
function Leaf({ scene, step, index, kind, style, onPress, children }: LeafProps) {
  const { result, greedy, here, explained, winner } = scene;
  const isChosen = step === here.step && index === here.index;
  const candidate = result.steps[step][index];
  const also = greedy[step]?.has(index) ? " Greedy search writes this too." : "";
  return (
    <Button
      class={`${kind} vt-${candidate.status} ${step === explained.step && index === winner ? "vt-rival" : ""}`}
      data-step={step}
      data-index={index}
      tabIndex={isChosen ? 0 : -1}
      aria-pressed={isChosen}
      title={`${describeCandidate(candidate, result.texts[step][index])}${also}`}
      style={style}
      onClick={(event) => {
        if (!onPress) return;
        event.stopPropagation();
        onPress();
      }}
    >
      {children}
    </Button>
  );
}

/** What is too improbable for a row: as many words as fit, and how many more there are; before the newest, on demand. */
function Tail({ scene, number }: { scene: Scene; number: number }) {
  const [isOpen, setOpen] = useState(false);
  const { result, step, river, here } = scene;
  const { tail, tailBox, nWords } = river.columns[number];
  const isChosen = (index: number) => number === here.step && index === here.index;
  const hasWords = number === step || isOpen;
  const shown = hasWords ? tail.filter((index, at) => at < nWords || isChosen(index)) : [];
  const rest = tail.filter((index) => !shown.includes(index));
  const candidates = result.steps[number];
  return (
    <div class="vt-tail" style={place(tailBox)}>
      {[...shown, ...rest.slice(0, 1)].map((index, at) => (
        <>
          {candidates[index].status !== candidates[shown[at - 1]]?.status && (
            <span class="vt-mark">{markOf(candidates[index])}</span>
          )}
          <Leaf
            {...{ scene, step: number, index }}
            kind="vt-aside"
            onPress={hasWords ? undefined : () => setOpen(true)}
          >
            {at < shown.length ? <bdi>{visible(candidates[index].token)}</bdi> : `${rest.length} more`}
          </Leaf>
        </>
      ))}
    </div>
  );
}

/** The words that are not written yet: from each lane that goes on, and in all columns to come. */
function ToCome({ scene }: { scene: Scene }) {
  const { river, result, step, unit } = scene;
  if (isEnd(result, step)) return null;
  const kept = keptIndices(result.steps[step]);
  const lanes = river.columns[step].branches.filter(({ index }) => kept.includes(index));
  const chip = 1.5 * unit;
  return (
    <>
      {lanes.map(({ index, left, top, width, flow: height }) => (
        <span
          key={`${index}`}
          class="vt-fading"
          style={place({ left: left + width, top, width: river.width - left - width, height })}
        />
      ))}
      {river.columns.slice(step + 1).flatMap((column, ahead) =>
        lanes.slice(0, MOST_TO_COME).map(({ index, top: above, height: row }) => {
          const [left, top, width, height] = [
            column.left + 0.3 * unit,
            above + row / 2 - chip / 2,
            3 * unit,
            chip,
          ];
          return (
            <span key={`${ahead} ${index}`} class="vt-unwritten" style={place({ left, top, width, height })}>
              ?
            </span>
          );
        }),
      )}
    </>
  );
}

/** Scroll a box, and nothing around it, so far that a part of it is seen with what comes next. */
function bringIntoSight(box: HTMLElement, part: HTMLElement): void {
  const [outer, inner] = [box.getBoundingClientRect(), part.getBoundingClientRect()];
  const ahead = inner.width;
  if (inner.right + ahead > outer.right) box.scrollLeft += inner.right + ahead - outer.right;
  else if (inner.left < outer.left + ahead) box.scrollLeft += inner.left - outer.left - ahead;
  if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 8;
  else if (inner.top < outer.top) box.scrollTop += inner.top - outer.top - 40;
}
