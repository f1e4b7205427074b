// The picture of positions: hand, waves and table over one axis, with one cursor. Each of them can be dragged, and
// the others answer.

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { pointerPosition } from "../canvas.ts";
import type { Theme } from "../colour.ts";
import { useRoom, useTween } from "../hooks.ts";
import { Knob } from "../knob.tsx";
import { stepsBetween } from "../scales.ts";
import {
  angularFrequency,
  handOf,
  limitOf,
  lookAlikes,
  pairsOf,
  positionTowards,
  reachOf,
  shownPairs,
  type Table,
  wavelength,
} from "./hands.ts";
import { Heat } from "./heat.tsx";
import {
  dimensionAt,
  type Layout,
  layOut,
  type Lens,
  lensOf,
  positionAt,
  ticksOf,
  xOf,
  yOf,
} from "./layout.ts";
import { two } from "./sentences.ts";

export interface PositionsProps {
  table: Table;
  /** Whether its columns are sines and cosines. */
  isWave: boolean;
  pair: number;
  position: number;
  /** The word that stands there, if one does. */
  word?: string;
  theme: Theme;
  /** Pixels of text. */
  unit: number;
  set: (change: { pair?: number; position?: number }) => void;
  redraw: () => void;
  /** Whether the table takes all the height, and what is wide beside it, in units. */
  isWhole?: boolean;
  gutter?: number;
  layers?: (place: Place) => Layers;
}

/** What stands in the picture besides the table. */
interface Layers {
  /** HTML below the drawing. */
  html?: ComponentChildren;
  /** In place of one hand and its waves. */
  above?: ComponentChildren;
  /** On the table. */
  over?: ComponentChildren;
  /** In place of the cursor. */
  cursor?: ComponentChildren;
}

/** What the parts of the picture share. */
export interface Place extends PositionsProps {
  layout: Layout;
  x: (position: number) => number;
  /** Where the waves of one hand stand above it; null where there are none. */
  lens: Lens | null;
  /** The height of a dimension's line. */
  line: number;
  /** Where the cursor is on its way, in positions. */
  shown: number;
  /** The chosen position, which two knobs set. */
  newest: { current: number };
  /** Sets what is chosen at once: the picture follows the hand. */
  drag: PositionsProps["set"];
}

/** The whole picture, in the room that the stage leaves. */
export function Positions(props: PositionsProps) {
  const { box, room } = useRoom();
  const { table, pair, position, unit, redraw, isWave, isWhole, gutter = 0 } = props;
  const { move, jump } = useTween(redraw);
  const limit = useMemo(() => limitOf(table), [table]);
  const least = 20 * unit;
  const [shown = position] = move([position]);
  const newest = useRef(position);
  newest.current = position;
  const size = room && { width: room.width, height: Math.max(room.height, least) };
  const layout = size && layOut(size, unit, isWhole, gutter * unit);
  const place = layout && {
    ...{ ...props, layout, shown, newest },
    x: (at: number) => xOf(layout, table.rows, at),
    lens: lensOf(layout, table.rows, position, isWave ? wavelength(pair, table.cols, table.base) : null),
    line: (layout.table.bottom - layout.table.top) / table.cols,
    drag: (change: { pair?: number; position?: number }) => {
      jump();
      props.set(change);
    },
  };
  return (
    <div class="vt-positions" ref={box} style={{ "min-height": `${least}px` }}>
      {place && <Drawn place={place} limit={limit} pair={pair} />}
    </div>
  );
}

function Drawn({ place: given, limit, pair }: { place: Place; limit: number; pair: number }) {
  const { layout, table, theme, redraw, line } = given;
  const { left, right, width, height } = layout;
  const { top, bottom } = layout.table;
  const { html, above, over, cursor } = given.layers?.(given) ?? {};
  const isFree = above !== undefined || given.isWhole;
  const place = isFree ? { ...given, lens: null } : given;
  return (
    <>
      <Heat
        {...{ table, theme, redraw, limit }}
        isOnAxis
        box={{ left, top, width: right - left, height: bottom - top }}
      />
      {html}
      <svg
        class="vt-over"
        {...{ width, height }}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label="Positions"
      >
        <Surface place={place} top={isFree ? top : layout.above.top} />
        {place.lens ? <OneHand place={place} lens={place.lens} /> : above}
        <Hands {...place} />
        <rect
          class="vt-outline"
          x={left - 2}
          y={yOf(layout, table.cols, pair) - line - 2}
          width={right - left + 4}
          height={2 * line + 4}
        />
        {over}
        <PairKnob {...place} />
        <Ticks place={place} isAll={cursor !== undefined} />
        {cursor ?? <Cursor place={place} top={(isFree ? top : layout.above.top) - 6} />}
      </svg>
    </>
  );
}

/** What takes the pointer over waves and table: where it is pressed or dragged is chosen. */
function Surface({ place, top }: { place: Place; top: number }) {
  const { layout, table, pair, position, lens, set, drag } = place;
  const [pointed, setPointed] = useState("");
  const choose = (event: PointerEvent, how: Place["set"]) => {
    const [x, y] = pointerPosition((event.currentTarget as SVGElement).ownerSVGElement!, event);
    const isOnTable = y > layout.table.top - 8;
    const to = isOnTable || !lens ? positionAt(layout, table.rows, x) : lens.positionAt(x);
    const dimension = dimensionAt(layout, table.cols, y);
    const value = two(table.values[to * table.cols + dimension]);
    setPointed(isOnTable ? `position ${to}, dimension ${dimension}: ${value}` : "");
    const next = isOnTable ? Math.min(pairsOf(table) - 1, Math.floor(dimension / 2)) : pair;
    if (next !== pair || to !== position) how({ position: to, pair: next });
  };
  return (
    <rect
      class="vt-surface"
      x={layout.left}
      y={top}
      width={layout.right - layout.left}
      height={layout.table.bottom - top}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        choose(event, set);
      }}
      onPointerMove={(event) => {
        choose(event, event.currentTarget.hasPointerCapture(event.pointerId) ? drag : () => {});
      }}
    >
      <title>{pointed}</title>
    </rect>
  );
}

/** The tip of a hand on its way, in its pair's own longest hands: a wave's turns, another's goes straight. */
function tipOf({ table, isWave }: Place, pair: number, position: number): [right: number, up: number] {
  if (isWave) {
    const angle = position * angularFrequency(pair, table.cols, table.base);
    return [Math.cos(angle), Math.sin(angle)];
  }
  const [share, reach] = [position % 1, reachOf(table, pair)];
  const [from, to] = [Math.floor(position), Math.ceil(position)].map((row) => handOf(table, pair, row));
  return [0, 1].map((i) => (from[i] * (1 - share) + to[i] * share) / reach) as [number, number];
}

/** The chosen hand as a large dial, and at its height the waves that it makes. */
function OneHand({ place, lens }: { place: Place; lens: Lens }) {
  const { layout, table, pair, position, isWave } = place;
  const { from, count, x: xAt } = lens;
  const { move } = useTween(place.redraw);
  const { radius, x, y } = layout.dial;
  const reach = reachOf(table, pair);
  const rows = Array.from({ length: count }, (_, at) => from + at);
  const wave = move(rows.flatMap((row) => handOf(table, pair, row).map((value) => value / reach)));
  const yAt = (row: number, which: number) => y - wave[2 * (row - from) + 1 - which] * radius;
  const lineOf = (which: number) => `M${rows.map((row) => `${xAt(row)} ${yAt(row, which)}`).join("L")}`;
  const areaOf = (nearest: (a: number, b: number) => number) =>
    `M${xAt(from)} ${y}L${rows.map((row) => `${xAt(row)} ${nearest(y, yAt(row, 0))}`).join("L")}V${y}Z`;
  const [right, up] = tipOf(place, pair, place.shown);
  const alike = lookAlikes(table, position, pair);
  return (
    <g>
      <WaveNames {...place} />
      {[1, 0, -1].map((share) => (
        <text class="vt-at-end" key={share} x={layout.left - 8} y={y - share * radius}>
          {two(share * reach).replace(".00", "")}
        </text>
      ))}
      <path class="vt-waves-fill vt-above" d={areaOf(Math.min)} />
      <path class="vt-waves-fill vt-below" d={areaOf(Math.max)} />
      <path class="vt-zero" d={`M${layout.left} ${y}H${layout.right}`} />
      <path class="vt-second" d={lineOf(1)} />
      <path class="vt-first" d={lineOf(0)} />
      {!lens.isWhole && <LensBand place={place} lens={lens} />}
      {alike
        .filter((row) => row >= from && row < from + count)
        .map((row) => (
          <circle class="vt-alike" key={row} cx={xAt(row)} cy={yAt(row, 0)} r={5} />
        ))}
      <Dial place={place} tips={[[right, up]]} alike={alike} />
      <path class="vt-level" d={`M${x + right * radius} ${y - up * radius}H${xAt(place.shown)}`} />
      <Knob
        label="position, by its hand"
        value={position}
        text={`${position}, ${alike.length} others look like it`}
        values={stepsBetween(0, table.rows - 1, 1)}
        newest={place.newest}
        x={x + right * radius}
        y={y - up * radius}
        valueAt={(toX, toY) => {
          const towards = [((toX - x) / radius) * reach, ((y - toY) / radius) * reach] as const;
          return positionTowards(table, pair, position, towards, isWave);
        }}
        onMove={(to) => place.drag({ position: to })}
      />
    </g>
  );
}

/** From the positions in the table to their waves above it, and which they are. */
function LensBand({ place, lens: { from, count } }: { place: Place; lens: Lens }) {
  const { left, right, above, table } = place.layout;
  const half = (place.x(1) - place.x(0)) / 2;
  const [begin, end] = [place.x(from) - half, place.x(from + count - 1) + half];
  return (
    <g class="vt-lens">
      <path d={`M${left} ${above.bottom}L${begin} ${table.top}H${end}L${right} ${above.bottom}Z`} />
      <text x={(left + right + begin + end) / 4} y={(above.bottom + table.top) / 2}>
        {from} to {from + count - 1} of {place.table.rows}
      </text>
    </g>
  );
}

function WaveNames({ layout, unit, theme, pair, isWave }: Place) {
  const names = isWave ? ["sin", "cos"] : [`dimension ${2 * pair}`, `dimension ${2 * pair + 1}`];
  const wide = 28 + unit + theme.measure(names[1], 0.85 * unit, false);
  const left = Math.max(0, Math.min(layout.left, layout.width - 2 * wide));
  return (
    <g>
      {[left, left + wide].map((x, which) => (
        <g key={x}>
          <path class={which ? "vt-second" : "vt-first"} d={`M${x} ${0.6 * unit}h22`} />
          <text x={x + 28} y={0.6 * unit}>
            {names[which]}
          </text>
        </g>
      ))}
    </g>
  );
}

interface DialProps {
  place: Place;
  /** Where its hands point; the first is the chosen position's. */
  tips: readonly (readonly [number, number])[];
  alike?: readonly number[];
}

/** The large dial, with dots where its first hand points alike. */
export function Dial({ place, tips, alike = [] }: DialProps) {
  const { x, y, radius } = place.layout.dial;
  return (
    <g>
      <circle class="vt-face" cx={x} cy={y} r={radius} />
      <path class="vt-zero" d={`M${x - radius} ${y}h${2 * radius}M${x} ${y - radius}v${2 * radius}`} />
      {alike.map((row) => {
        const [right, up] = tipOf(place, place.pair, row);
        return <circle class="vt-dot" key={row} cx={x + right * radius} cy={y - up * radius} r={4} />;
      })}
      {tips.map(([right, up], which) => (
        <path
          class={which ? "vt-other-hand" : "vt-hand"}
          key={`${which}`}
          d={`M${x} ${y}l${right * radius} ${-up * radius}`}
        />
      ))}
    </g>
  );
}

/** The hands of some pairs beside their lines of the table; a click chooses one. */
function Hands(place: Place) {
  const { layout, table, pair, isWave, shown, set } = place;
  const { count, x, radius, named } = layout.hands;
  const pairs = shownPairs(pairsOf(table), count, pair);
  const [first, last] = [layout.table.top + radius, layout.table.bottom - radius];
  const nameOf = (each: number) => {
    const ends: Record<number, string> = isWave ? { 0: "fastest ", [pairsOf(table) - 1]: "slowest " } : {};
    return `${named ? (ends[each] ?? (each === pair ? (isWave ? "hand " : "pair ") : "")) : ""}${each}`;
  };
  return (
    <g>
      {pairs.map((each, slot) => {
        const y = first + (slot / Math.max(1, pairs.length - 1)) * (last - first);
        const [right, up] = tipOf(place, each, shown).map((value) => value * (radius - 5));
        const [to, end] = [layout.left - 4, yOf(layout, table.cols, each)];
        const middle = (x + radius + to) / 2;
        return (
          <g
            class="vt-small-hand"
            key={each}
            data-chosen={each === pair}
            onPointerDown={() => set({ pair: each })}
          >
            <path class="vt-link" d={`M${x + radius} ${y}C${middle} ${y} ${middle} ${end} ${to} ${end}`} />
            <circle class="vt-face" cx={x} cy={y} r={radius - 2} />
            <path class="vt-hand" d={`M${x} ${y}l${right} ${-up}`} />
            <text class="vt-at-end" x={x - radius - 6} y={y}>
              {nameOf(each)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function PairKnob({ layout, table, pair, isWave, drag }: Place) {
  const last = pairsOf(table) - 1;
  return (
    <Knob
      label={isWave ? "hand" : "pair of dimensions"}
      value={pair}
      text={`${pair}, dimensions ${2 * pair} and ${2 * pair + 1}`}
      values={stepsBetween(0, last, 1)}
      axis="y"
      isDown
      x={layout.right + 12}
      y={yOf(layout, table.cols, pair)}
      valueAt={(_, y) => Math.floor(dimensionAt(layout, table.cols, y) / 2)}
      onMove={(to) => drag({ pair: to })}
    />
  );
}

/** Where the cursor's name stands: its middle, and half its width. */
function nameAt({ layout, unit, theme, position, word = "", x }: Place): [middle: number, half: number] {
  const half = theme.measure(`${word} ${position}`, unit, true) / 2;
  return [Math.min(layout.width - half, Math.max(half, x(position))), half];
}

const footOf = ({ height, unit }: Layout) => height - 0.65 * unit;

/** The numbers of the positions below the table, but where the cursor's own stands. */
function Ticks({ place, isAll }: { place: Place; isAll: boolean }) {
  const { layout, table, unit, x } = place;
  const [middle, half] = nameAt(place);
  return (
    <g>
      {ticksOf(table.rows, layout.right - layout.left, 2.6 * unit)
        .filter((tick) => isAll || Math.abs(x(tick) - middle) > half + unit)
        .map((tick) => (
          <text class="vt-tick" key={tick} x={x(tick)} y={footOf(layout)}>
            {tick}
          </text>
        ))}
    </g>
  );
}

/** The line through waves and table at the chosen position, with its knob and its name below. */
function Cursor({ place, top }: { place: Place; top: number }) {
  const { layout, table, position, word, lens } = place;
  const [x, knob] = [place.x(place.shown), layout.table.bottom + 12];
  const lensed =
    lens && !lens.isWhole
      ? `${lens.x(place.shown)} ${top}V${layout.above.bottom}L${x} ${layout.table.top}`
      : `${x} ${top}`;
  return (
    <g>
      <path class="vt-cursor" d={`M${lensed}V${knob}`} />
      <text class="vt-tick vt-here" x={nameAt(place)[0]} y={footOf(layout)}>
        {word && <tspan class="vt-word">{word} </tspan>}
        {position}
      </text>
      <Knob
        label="position"
        value={position}
        text={word ? `${position}, ${word}` : String(position)}
        values={stepsBetween(0, table.rows - 1, 1)}
        newest={place.newest}
        x={x}
        y={knob}
        valueAt={(toX) => positionAt(layout, table.rows, toX)}
        onMove={(to) => place.drag({ position: to })}
      />
    </g>
  );
}
