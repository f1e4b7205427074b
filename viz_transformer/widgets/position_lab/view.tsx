// The position lab: positional encodings over one axis, and in its chapters what attention makes of them.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Doors } from "../base/doors.tsx";
import { canAsk, type Model } from "../base/js/kernel.js";
import { runningText, visible } from "../base/js/text.js";
import { unitOf } from "../base/positions/layout.ts";
import { Positions, type PositionsProps } from "../base/positions/picture.tsx";
import { sizesOf } from "../base/positions/sentences.ts";
import { Chips } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageView } from "../base/stage_view.tsx";
import { Timeline } from "../base/timeline.tsx";
import { useKernel } from "../base/use_kernel.ts";
import { Alikes, Border, Likeness, MovingSentence, Scores } from "./chapters.tsx";
import {
  type Data,
  isWave,
  nearestRow,
  type ProbeHead,
  rangeAt,
  scoresByPosition,
  unpackPositions,
} from "./encodings.ts";
import { LikenessInspector, MovedInspector, OneHandInspector, ShuffledInspector } from "./inspector.tsx";
import { memoizeLast } from "./memoize.ts";
import { shuffled } from "./orders.ts";
import * as says from "./sentences.ts";
import { shiftResult } from "./shift.ts";
import { Lanes } from "./shuffle.tsx";
import { TRAITS, type Traits as Declared } from "./traits.ts";

interface Traits extends Declared {
  data: Data;
}

const ENCODINGS = ["sinusoidal", "learned", "rotary", "none"];
const OWN = "own"; // the menu's value for an order that is not among those offered
/** By what is unfolded, and nothing for all hands. */
const CHAPTERS = {
  pair: "one hand",
  "": "all hands",
  offset: "how alike",
  shift: "moved",
  shuffle: "shuffled",
};

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

const caches = () => ({
  nearest: memoizeLast(nearestRow),
  scores: memoizeLast(scoresByPosition),
  shifted: memoizeLast(shiftResult),
});

function PositionLab({ frame }: { frame: Frame<Traits> }) {
  const { traits, set, theme, width, redraw } = frame;
  const { data, encoding, pair, position, order, text_size: textSize } = traits;
  const { tables, head } = useMemo(() => unpackPositions(data), [data]);
  const cached = useMemo(caches, []);
  const names = Object.keys(CHAPTERS).filter((name) => name !== "shuffle" || data.sentence.length);
  const name = traits.unfolded.findLast((each) => names.includes(each)) ?? "";
  const answered = useReading(frame.model, name === "shuffle" ? traits : null);
  const hand = { table: tables[encoding], pair, position, isWave: isWave(encoding) };
  const words = order.map((word) => data.sentence[word]);
  const word = position < words.length ? visible(words[position]) : undefined;
  const positions = { ...hand, word, theme, unit: unitOf(width, textSize), redraw, set };
  const told = { ...hand, encoding, trained: data.trained };
  const { picture, inspector, ...zones } = DRAWN[name]({ frame, told, positions, head, cached, answered });
  return (
    <Stage
      header={
        words.length ? (
          <Chips
            label="The words as they are read"
            tokens={words}
            kind="key"
            chosen={position}
            onChoose={(place) => set({ position: place })}
          />
        ) : (
          sizesOf(hand.table)
        )
      }
      controls={<Encodings chosen={encoding} set={set} />}
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
          onStep={(to) => set({ unfolded: names[to] ? [names[to]] : [] })}
        />
      }
      about={frame.about}
      width={width}
      height={frame.height}
      textSize={textSize}
      setTextSize={(size) => set({ text_size: size })}
    >
      {picture}
    </Stage>
  );
}

/** The tabs that choose an encoding. */
function Encodings({ chosen, set }: { chosen: string; set: Frame<Traits>["set"] }) {
  return (
    <div class="vt-encodings" role="group" aria-label="Positional encoding">
      {ENCODINGS.map((encoding) => (
        <button
          type="button"
          key={encoding}
          aria-pressed={encoding === chosen}
          onClick={() => set({ encoding })}
        >
          {encoding}
        </button>
      ))}
    </div>
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
          <Pieces pieces={says.shuffledHeadline(data.sentence, order, known)} />
        </span>
      ),
      line: known ? says.shuffledLine(data.sentence, order, known) : isNew && problem,
      controls: <OrderControls {...{ traits, set, canShuffle }} />,
      inspector: <ShuffledInspector encoding={data.live_encoding} order={order} isOn={isOn} />,
      picture: (
        <Lanes
          {...{ order, reply, isNew, theme, redraw }}
          sentence={data.sentence}
          unit={positions.unit}
          chosen={position}
          onOrder={canShuffle ? (next) => set({ order: next }) : undefined}
        />
      ),
    };
  },
};

/** The newest reply of the live model, or why there is none, and whether it is that to what is asked now. */
interface Answered {
  reply: says.Reply | null;
  problem: string;
  isNew: boolean;
}

/** Has the words read as the traits say; null asks nothing. */
function useReading(model: Model, traits: Traits | null): Answered {
  const kernel = useKernel(model);
  const request = traits && { order: traits.order, positions_on: traits.positions_on };
  const asked = JSON.stringify(request);
  const [newest, setNewest] = useState<Omit<Answered, "isNew"> & { asked: string }>({
    asked: "",
    reply: null,
    problem: "",
  });
  useEffect(() => {
    if (!request) return;
    kernel.latest(
      request,
      (reply: says.Reply) => setNewest({ asked, reply, problem: "" }),
      (error: Error) => setNewest({ asked, reply: null, problem: error.message }),
    );
  }, [kernel, asked]);
  return { ...newest, isNew: newest.asked === asked };
}

interface OrderControlsProps {
  traits: Traits;
  set: Frame<Traits>["set"];
  /** Whether any order can be read, and not only those offered. */
  canShuffle: boolean;
}

function OrderControls({ traits: { data, order, positions_on: isOn }, set, canShuffle }: OrderControlsProps) {
  const known = data.orders.findIndex((each) => each.join() === order.join());
  return (
    <>
      <select
        aria-label="read as"
        value={known < 0 ? OWN : String(known)}
        data-lm-suppress-shortcuts="true"
        onChange={(event) => {
          const chosen = data.orders[Number(event.currentTarget.value)];
          if (chosen) set({ order: [...chosen] });
        }}
      >
        {data.orders.map((each, at) => (
          <option value={String(at)} key={`${at}`}>
            {runningText(each.map((word) => data.sentence[word]))}
          </option>
        ))}
        <option value={OWN} disabled={known >= 0}>
          an order of your own
        </option>
      </select>
      {canShuffle && (
        <button type="button" onClick={() => set((now) => ({ order: shuffled(now.order) }))}>
          shuffle
        </button>
      )}
      <button type="button" aria-pressed={isOn} onClick={() => set({ positions_on: !isOn })}>
        positions {isOn ? "on" : "off"}
      </button>
    </>
  );
}

export default stageView<Traits>({
  name: "position-lab",
  label: "Position lab",
  traits: TRAITS,
  draw: (frame) => <PositionLab frame={frame} />,
});
