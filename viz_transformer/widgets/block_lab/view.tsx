// The block lab: the vector of one word is reversed, and each part of a block shows which words move.

import { useMemo } from "preact/hooks";
import { changeRgb, css, textColourOn } from "../base/colour.ts";
import { Tabs } from "../base/controls.tsx";
import { Doors } from "../base/doors.tsx";
import { useKernel, useRoom, useTween } from "../base/hooks.ts";
import { Code } from "../base/python_code.tsx";
import { newestReply } from "../base/replies.ts";
import { Chips, SentenceField } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { elide, visible } from "../base/text.ts";
import { headlineOf, MOST, movesOf, moveText, type Reply, UNMOVED } from "./spread.ts";
import { TRAITS, type Traits } from "./traits.ts";

const HEAD = 4.2; // units: a name of three words
/** The lines of a part's name. */
const wordsOf = (name: string) => name.split(/(?<=-)| /);

type Request = Pick<Traits, "sentence" | "layer">;

function Lab(frame: Frame<Traits>) {
  const { traits, set } = frame;
  const kernel = useKernel(frame.model);
  const replies = useMemo(() => newestReply<Request, Reply>(kernel, frame.redraw), [kernel]);
  const { now, latest, problem } = replies.want({ sentence: traits.sentence, layer: traits.layer });
  if (!latest) return <p class="vt-line">{problem}</p>;
  const { reply } = latest;
  const changed = Math.min(traits.changed, reply.tokens.length - 1);
  const moves = movesOf(reply, changed);
  const choose = (word: number) => set({ changed: word });
  return (
    <Stage
      header={
        <>
          <Chips
            label="change the word"
            tokens={reply.tokens}
            kind="key"
            chosen={changed}
            onChoose={choose}
          />
          <SentenceField
            text={traits.sentence}
            problem={problem}
            onInput={replies.forget}
            onRead={(sentence) =>
              replies.read({ sentence, layer: traits.layer }, ({ tokens }) =>
                set({ sentence, changed: Math.min(traits.changed, tokens.length - 1) }),
              )
            }
          />
        </>
      }
      headline={<Pieces pieces={headlineOf(reply, changed)} />}
      line="How far each word’s output moves, as a share of its length."
      controls={
        <Tabs
          label="block"
          options={Array.from({ length: traits.n_layers }, (_, layer) => [layer, `block ${layer}`] as const)}
          value={traits.layer}
          onChoose={(layer) => set({ layer })}
        />
      }
      inspector={<Inspector reply={reply} changed={changed} moves={moves} />}
      {...stageOf(frame)}
    >
      <Picture frame={frame} reply={reply} changed={changed} moves={moves} isOld={!now} choose={choose} />
    </Stage>
  );
}

interface PictureProps {
  frame: Frame<Traits>;
  reply: Reply;
  changed: number;
  /** [part][word] */
  moves: number[][];
  isOld: boolean;
  choose: (word: number) => void;
}

/** Words from top to bottom, and for each part a column: lines lead from the changed word to all that move. */
function Picture({ frame, reply, changed, moves, isOld, choose }: PictureProps) {
  const { box, room } = useRoom();
  const { tokens, parts } = reply;
  const motion = useTween(frame.redraw);
  const shown = motion.move(moves.flat()); // [part · word]
  const { unit } = frame;
  const measure = (text: string) => frame.theme.measure(text, unit, true);
  const widest = Math.max(...tokens.map((token) => measure(visible(token))));
  const names = Math.min(widest, (room?.width ?? 0) / 4);
  const column = ((room?.width ?? 0) - names - 8) / parts.length;
  const isTurned = Math.max(...parts.flatMap(wordsOf).map(measure)) > column - 8;
  const head = isTurned ? Math.max(...parts.map(measure)) + unit : HEAD * unit;
  const height = Math.max(room?.height ?? 0, tokens.length * 1.7 * unit + head);
  const lane = (height - head) / tokens.length;
  const middle = (word: number) => head + (word + 0.5) * lane;
  const grid = { lane, unit, head, isTurned, middle };
  return (
    <div class="vt-spread" ref={box} data-stale={isOld}>
      {room && (
        <svg width={room.width} height={height} role="presentation">
          {tokens.map((token, word) => (
            <text
              key={`${word} ${token}`}
              class={word === changed ? "vt-word vt-is-changed" : "vt-word"}
              x={names}
              y={middle(word)}
            >
              {elide(visible(token), names, measure)}
            </text>
          ))}
          {parts.map((name, part) => (
            <Part
              key={name}
              name={name}
              {...{ tokens, changed, grid, choose }}
              moves={shown.slice(part * tokens.length, (part + 1) * tokens.length)}
              theme={frame.theme}
              left={names + 8 + part * column}
              width={column}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

/** Where the words stand, in pixels. */
interface Grid {
  lane: number;
  unit: number;
  /** The height of the parts' names, and whether they are turned by a quarter. */
  head: number;
  isTurned: boolean;
  /** The middle of a word's lane. */
  middle: (word: number) => number;
}

interface PartProps {
  name: string;
  tokens: readonly string[];
  changed: number;
  /** [word], on their way. */
  moves: number[];
  theme: Frame<Traits>["theme"];
  left: number;
  width: number;
  grid: Grid;
  choose: (word: number) => void;
}

/** A part: dots for the vectors it is given, lines to the words that move, and how far they do. */
function Part(props: PartProps) {
  const { name, tokens, changed, moves, theme, left, width, choose } = props;
  const { lane, unit, head, isTurned, middle } = props.grid;
  const from = left + 10;
  const cell = { left: left + 0.45 * width, width: 0.5 * width, height: Math.min(lane - 4, 4 * unit) };
  const half = (from + cell.left) / 2;
  const centre = cell.left + cell.width / 2;
  const lines = isTurned ? [name] : wordsOf(name);
  return (
    <g role="group" aria-label={name}>
      {lines.map((line, at) => {
        const y = head - (1 + 1.2 * (lines.length - 1 - at)) * unit;
        return (
          <text
            key={line}
            class="vt-part-name"
            x={centre}
            y={y}
            transform={isTurned ? `rotate(-90 ${centre} ${y})` : undefined}
            style={isTurned ? { textAnchor: "start" } : undefined}
          >
            {line}
          </text>
        );
      })}
      {moves.map((share, word) => {
        const y = middle(word);
        const rgb = changeRgb(share / MOST, theme);
        const isMoved = share >= UNMOVED;
        const start = middle(changed);
        const path = `M${from} ${start}C${half} ${start} ${half} ${y} ${cell.left} ${y}`;
        return (
          <g
            key={word}
            class="vt-output"
            role="img"
            aria-label={`${visible(tokens[word]!)} ${moveText(share)}`}
            onClick={() => choose(word)}
          >
            {isMoved && <path class="vt-moves" d={path} stroke-width={1 + 5 * Math.min(1, share / MOST)} />}
            <circle class={word === changed ? "vt-is-changed" : "vt-given"} cx={from} cy={y} r={5} />
            <rect
              class={word === changed ? "vt-cell vt-is-changed" : "vt-cell"}
              x={cell.left}
              y={y - cell.height / 2}
              width={cell.width}
              height={cell.height}
              rx={4}
              fill={css(rgb)}
            />
            <text class="vt-move" x={centre} y={y} style={isMoved ? { fill: textColourOn(rgb) } : undefined}>
              {moveText(share)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

/** How many of the other words move, part by part. */
function Inspector({ reply, changed, moves }: { reply: Reply; changed: number; moves: number[][] }) {
  return (
    <>
      <ul class="vt-moved">
        {reply.parts.map((name, part) => {
          const others = moves[part]!.filter((share, word) => word !== changed && share >= UNMOVED).length;
          return (
            <li key={name}>
              {name}: {others ? `${others} of ${reply.tokens.length - 1}` : "no"} other words move
            </li>
          );
        })}
      </ul>
      <p class="vt-equation">a move = |output after − output before| / |output before|</p>
      <Code lines={[`view.spread()["${reply.parts[0]}"]`]} />
      <Doors />
    </>
  );
}

export default stageView<Traits>({ name: "block-lab", label: "Block lab", traits: TRAITS, draw: Lab });
