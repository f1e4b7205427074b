// The position lab: positional encodings over one axis, and in its chapters what attention makes of them.

import * as says from "./sentences.ts";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Tabs } from "../base/controls.tsx";
import { Doors } from "../base/doors.tsx";
import { canAsk } from "../base/kernel.ts";
import { Positions, type PositionsProps } from "../base/positions/picture.tsx";
import { sizesOf } from "../base/positions/sentences.ts";
import { Chips, FieldAround } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { visible } from "../base/text.ts";
import { Timeline } from "../base/timeline.tsx";
import { Alikes, Border, Likeness, MovingSentence, Scores } from "./chapters.tsx";
import {
  isWave,
  nearestRow,
  type ProbeHead,
  rangeAt,
  scoresByPosition,
  type Traits,
  unpackPositions,
} from "./encodings.ts";
import { LikenessInspector, MovedInspector, OneHandInspector, ShuffledInspector } from "./inspector.tsx";
import { Lanes } from "./lanes.tsx";
import { type Answered, OrderControls, useReading } from "./reading.tsx";
import { shiftResult } from "./shift.ts";
import { TRAITS } from "./traits.ts";

const ENCODINGS = ["sinusoidal", "learned", "rotary", "none"];
/** By what is unfolded, and nothing for all hands. */
const CHAPTERS = {
  pair: "one hand",
  "": "all hands",
  offset: "how alike",
  shift: "moved",
  shuffle: "shuffled",
};

/** The traits that open a chapter; that of shuffled words begins with some that are. */
function unfolding({ order, orders }: Traits, name: string | undefined): Partial<Traits> {
  const [written, first] = orders as number[][];
  const isWritten = name === "shuffle" && order.join() === written?.join();
  return { unfolded: name ? [name] : [], ...(isWritten && first ? { order: [...first] } : {}) };
}

/** What differs on the stage from chapter to chapter. */
interface Chapter {
  headline: ComponentChildren;
  line: ComponentChildren;
  inspector: ComponentChildren;
  controls?: ComponentChildren;
  picture: ComponentChildren;
}

/** What the chapters are made of. */
interface Lab {
  frame: Frame<Traits>;
  told: says.Told;
  positions: PositionsProps;
  head: ProbeHead;
  cached: ReturnType<typeof caches>;
  answered: Answered;
}

/** A function that keeps its last result as long as its arguments stay the same. */
function memoizeLast<Given extends unknown[], Result>(compute: (...given: Given) => Result) {
  let known: { given: Given; result: Result } | null = null;
  return (...given: Given): Result => {
    if (!known?.given.every((value, at) => value === given[at])) known = { given, result: compute(...given) };
    return known.result;
  };
}

const caches = () => ({
  nearest: memoizeLast(nearestRow),
  scores: memoizeLast(scoresByPosition),
  shifted: memoizeLast(shiftResult),
});

function PositionLab(frame: Frame<Traits>) {
  const { traits, set, theme, redraw } = frame;
  const { data, encoding, pair, position, order } = traits;
  const { tables, head } = useMemo(() => unpackPositions(data), [data]);
  const cached = useMemo(caches, []);
  const names = Object.keys(CHAPTERS).filter((name) => name !== "shuffle" || traits.words.length);
  const name = traits.unfolded.findLast((each) => names.includes(each)) ?? "";
  const answered = useReading(frame.model, name === "shuffle" ? traits : null);
  const hand = { table: tables[encoding], pair, position, isWave: isWave(encoding) };
  const words = order.map((word) => traits.words[word]);
  const word = position < words.length ? visible(words[position]) : undefined;
  const positions = { ...hand, word, theme, unit: frame.unit, redraw, set };
  const told = { ...hand, encoding, trained: data.trained };
  const { picture, inspector, ...zones } = DRAWN[name]({ frame, told, positions, head, cached, answered });
  return (
    <Stage
      header={
        words.length ? (
          <>
            <Chips
              label="The words as they are read"
              tokens={words}
              kind="key"
              chosen={position}
              onChoose={(place) => set({ position: place })}
            />
            <FieldAround />
          </>
        ) : (
          sizesOf(hand.table)
        )
      }
      controls={
        <Tabs
          label="Positional encoding"
          options={ENCODINGS.map((each) => [each, each] as const)}
          value={encoding}
          onChoose={(to) => set({ encoding: to })}
        />
      }
      {...zones}
      inspector={
        <>
          {inspector}
          <Doors />
        </>
      }
      timeline={
        <Timeline
          label="Chapters"
          steps={names.map((each) => CHAPTERS[each as keyof typeof CHAPTERS])}
          at={names.indexOf(name)}
          ms={4000}
          onStep={(to) => set((then) => unfolding(then, names[to]))}
        />
      }
      {...stageOf(frame)}
    >
      {picture}
    </Stage>
  );
}

const DRAWN: Record<string, (lab: Lab) => Chapter> = {
  pair: ({ frame, told, positions }) => ({
    headline: says.handHeadline(told),
    line: says.handLine(told),
    inspector: <OneHandInspector told={told} theme={frame.theme} />,
    picture: (
      <Positions {...positions} layers={(place) => ({ over: <Border place={place} told={told} /> })} />
    ),
  }),

  "": ({ frame, told, positions, cached }) => {
    const nearest = cached.nearest(told.table, told.position);
    const layers: PositionsProps["layers"] = (place) => ({ over: <Alikes {...place} /> });
    return {
      headline: says.allHeadline(told, nearest),
      line: says.allLine(nearest),
      inspector: <OneHandInspector told={told} theme={frame.theme} />,
      picture: <Positions {...positions} isWhole gutter={6} layers={layers} />,
    };
  },

  offset: ({ frame, told, positions, head, cached }) => {
    const { offset } = frame.traits;
    const { encoding, table } = told;
    const scores = cached.scores(encoding, table, head);
    const onOffset = (to: number) => frame.set({ offset: to });
    return {
      headline: says.likenessHeadline(told, scores, offset),
      line: says.likenessLine(encoding, offset, rangeAt(scores, offset)),
      inspector: <LikenessInspector told={told} offset={offset} />,
      picture: (
        <Positions
          {...positions}
          layers={(place) => ({
            above: <Likeness {...{ place, scores, offset, onOffset }} />,
            over: <Border place={place} told={told} />,
          })}
        />
      ),
    };
  },

  shift: ({ frame, told, positions, head, cached }) => {
    const { shift, data } = frame.traits;
    const shifted = cached.shifted(told.encoding, told.table, head, shift);
    const holds = says.claimHolds(shift, shifted);
    const verdict = holds === null ? "not moved yet" : holds ? "✓ true here" : "✗ false here";
    const onShift = (to: number) => frame.set({ shift: to });
    return {
      headline: says.movedHeadline(shift, shifted),
      line: (
        <>
          “A moved sentence gets the same scores”:{" "}
          <b class="vt-verdict" data-holds={String(holds)}>
            {verdict}
          </b>
        </>
      ),
      inspector: <MovedInspector encoding={told.encoding} shifted={shifted} />,
      picture: (
        <Positions
          {...positions}
          layers={(place) => ({
            html: <Scores {...{ place, shifted, shift }} />,
            above: null,
            cursor: <MovingSentence {...{ place, shift, onShift }} nWords={data.n_words} />,
          })}
        />
      ),
    };
  },

  shuffle: ({ frame, positions, answered }) => {
    const { traits, set, model, theme, redraw } = frame;
    const { data, order, position, positions_on: isOn } = traits;
    const { reply, problem, isNew } = answered;
    const known = isNew && reply ? reply : null;
    const canShuffle = canAsk(model);
    return {
      headline: (
        <span data-shown={isNew ? JSON.stringify([order, isOn]) : ""} lang={data.language_tag || undefined}>
          <Pieces pieces={says.shuffledHeadline(traits.words, order, known)} />
        </span>
      ),
      line: known ? says.shuffledLine(traits.words, order, known) : isNew && problem,
      controls: <OrderControls {...{ traits, set, canShuffle }} />,
      inspector: <ShuffledInspector traits={traits} />,
      picture: (
        <Lanes
          {...{ order, reply, isNew, theme, redraw }}
          sentence={traits.words}
          unit={positions.unit}
          chosen={position}
          onOrder={canShuffle ? (next) => set({ order: next }) : undefined}
        />
      ),
    };
  },
};

export default stageView<Traits>({
  name: "position-lab",
  label: "Position lab",
  traits: TRAITS,
  draw: PositionLab,
});
