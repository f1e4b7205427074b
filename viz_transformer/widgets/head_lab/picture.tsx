// The picture: what the chosen head reads, the words before and after, and the loss of each.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { indexAfterKey } from "../base/js/chart.js";
import type { Theme } from "../base/js/colour.js";
import { elide, formatNumber, shortened, visible } from "../base/js/text.js";
import { tween } from "../base/motion.ts";
import { percent } from "../base/percent.ts";
import { css, weightRgb } from "../base/ramps.ts";
import { useRoom } from "../base/use_room.ts";
import { type Head, headName, shortFactor } from "./changes.ts";
import { type Column, isMoved } from "./flip.ts";
import { type Layout, layOut, pathOf } from "./layout.ts";
import { Power } from "./power.tsx";
import type { Look } from "./sentences.ts";

const [FAINT, STRONG] = [0.15, 0.03]; // weights below are not drawn: of all words, of the pinned one
const LETTERS = 20; // of a word
const THICKEST = 14;
const MOST = 4096; // weights that are moved one by one
const LEAST_LOSS = 0.5; // nats that the highest bar stands for, at least
const MARGIN = 60; // pixels
const MOVED = 0.01; // of a word's loss

export interface Shown {
  theme: Theme;
  unit: number;
  redraw: () => void;
  chosen: Head;
  factor: number;
  /** Words that the chosen head reads, its weights, flat [query, key], and the one that is told. */
  read: readonly string[];
  weights: Float32Array;
  look: Look;
  columns: readonly Column[];
  /** The word read below which each column stands, or null; and which column each query is, in a decoder. */
  under: readonly (number | null)[] | null;
  before: readonly number[];
  /** Of the changed model; while nothing is changed, of that without the chosen head. */
  after: readonly number[];
  isChanged: boolean;
  onToggle: () => void;
  onQuery: (query: number) => void;
}

export function Picture(shown: Shown) {
  const { box, room } = useRoom();
  const motion = useRef(tween()).current;
  const { theme, unit, read, columns, under, chosen, before, after } = shown;
  const isCross = chosen.kind === "cross";
  const measure = (text: string, size: number) => theme.measure?.(shownWord(text), size, true) ?? 0;
  const layout = room && layOut({ read, columns, under, isCross }, { ...room, unit, measure });
  const weights = shown.weights.length > MOST ? [] : [...shown.weights];
  const moving = motion.at([...before, ...after, ...weights]);
  if (motion.isMoving()) shown.redraw();
  const [was, now] = [
    moving.slice(0, before.length),
    moving.slice(before.length, before.length + after.length),
  ];
  useInView(box, layout, columns.findIndex(isMoved), shown.look);
  const drawn = {
    ...shown,
    weights: Float32Array.from(weights.length ? moving.slice(before.length + after.length) : shown.weights),
  };
  return (
    <div class="vt-flip">
      <div class="vt-flip-scroll" ref={box}>
        {layout && (
          <svg
            class="vt-flip-picture"
            width={layout.width}
            height={layout.height}
            role="group"
            aria-label="Words"
          >
            <Arcs shown={drawn} layout={layout} />
            <ReadWords shown={shown} layout={layout} />
            <WrittenWords shown={shown} layout={layout} />
            <Losses shown={shown} layout={layout} was={was} now={now} />
            <Switch shown={shown} layout={layout} />
          </svg>
        )}
      </div>
      <Legend {...shown} />
    </div>
  );
}

/** What the changes did stays in sight; without changes, where the chosen head looks. */
function useInView(box: { current: HTMLElement | null }, layout: Layout | null, moved: number, look: Look) {
  const middle =
    layout && (moved >= 0 ? layout.written[moved]! : pathOf(layout, look.query, look.key, false).x);
  useLayoutEffect(() => {
    const node = box.current;
    if (!node || middle === null) return;
    const from = middle - node.scrollLeft;
    if (from < MARGIN || from > node.clientWidth - MARGIN) node.scrollLeft = middle - node.clientWidth / 2;
  }, [box, middle]);
}

interface Part {
  shown: Shown;
  layout: Layout;
}

/** Where the head looks: of the pinned word all, of the others what is strong. */
function Arcs({ shown: { theme, weights, read, look, chosen, factor }, layout }: Part) {
  const arcs = Array.from(weights, (weight, i) => ({
    weight,
    query: Math.floor(i / read.length),
    key: i % read.length,
  }));
  const seen = arcs.filter(({ weight, query }) => weight >= (query === look.query ? STRONG : FAINT));
  return (
    <g class="vt-arcs" data-off={factor === 0}>
      {seen
        .sort(
          (a, b) => Number(a.query === look.query) - Number(b.query === look.query) || a.weight - b.weight,
        )
        .map(({ weight, query, key }) => (
          <path
            key={`${query} ${key}`}
            d={pathOf(layout, query, key, chosen.kind === "cross").d}
            data-look={query === look.query && key === look.key}
            stroke={css(weightRgb(query === look.query ? weight : 0.13 * weight + 0.04, theme))}
            stroke-width={Math.max(1.5, weight * THICKEST)}
          >
            <title>{percent(weight)}</title>
          </path>
        ))}
    </g>
  );
}

interface WordProps {
  layout: Layout;
  theme: Theme;
  text: string;
  x: number;
  y: number;
  tone: string;
  /** Whether it is what the pinned query writes. */
  isLooking?: boolean;
}

const shownWord = (text: string) => shortened(text, LETTERS);

/** A word in its chip. */
function Word({ layout, theme, text, x, y, tone, isLooking = false }: WordProps) {
  const { font, chip, padding } = layout;
  const width = (theme.measure?.(shownWord(text), font, true) ?? 0) + padding;
  return (
    <g class={`vt-word ${tone}`} data-looking={isLooking} transform={`translate(${x} ${y})`}>
      <rect x={-width / 2} y={-chip / 2} width={width} height={chip} rx={chip / 2} />
      <text font-size={font}>{shownWord(text)}</text>
    </g>
  );
}

/** Words of which one is pinned: the arrow keys go from one to the next. */
function Pin({
  shown,
  query,
  word,
  children,
}: {
  shown: Shown;
  query: number;
  word: string;
  children: ComponentChildren;
}) {
  const { look, onQuery } = shown;
  const last = shown.weights.length / shown.read.length;
  return (
    <g
      class="vt-pin"
      role="button"
      aria-label={`what ${visible(word)} looks at`}
      aria-pressed={query === look.query}
      tabindex={query === look.query ? 0 : -1}
      data-query={query}
      data-lm-suppress-shortcuts="true"
      onClick={() => onQuery(query)}
      onKeyDown={(event) => {
        const to = indexAfterKey(event, query, last);
        if (to === null) return;
        event.preventDefault();
        event.stopPropagation();
        onQuery(to);
        const svg = event.currentTarget.ownerSVGElement;
        svg?.querySelector<SVGGElement>(`[data-query="${to}"]`)?.focus();
      }}
    >
      {children}
    </g>
  );
}

function ReadWords({ shown, layout }: Part) {
  const isCross = shown.chosen.kind === "cross";
  return (
    <g>
      {shown.read.map((text, i) => {
        const word = (
          <Word
            {...{ layout, text }}
            theme={shown.theme}
            x={layout.read[i]!}
            y={layout.yRead}
            tone="vt-of-key"
          />
        );
        return isCross ? (
          <g key={`${i}`}>{word}</g>
        ) : (
          <Pin key={`${i}`} shown={shown} query={i} word={text}>
            {word}
          </Pin>
        );
      })}
    </g>
  );
}

/** The words of the answer: those that stayed, those that went, struck through, and those that came. */
function WrittenWords({ shown, layout }: Part) {
  const { columns, theme, chosen } = shown;
  const { chip, font, yRead, yWritten, unit } = layout;
  const [top, bottom] = [yRead + chip / 2, yWritten - chip / 2];
  const struck = bottom - 1.3 * unit - font / 2;
  return (
    <g>
      {columns.map((column, i) => {
        const x = layout.written[i]!;
        const isNew = isMoved(column);
        const text = column.after ?? "";
        const word = text !== "" && (
          <Word
            {...{ layout, theme, text, x }}
            y={yWritten}
            isLooking={chosen.kind !== "encoder" && column.index === shown.look.query}
            tone={isNew ? "vt-of-you vt-came" : "vt-of-query"}
          />
        );
        return (
          <g key={`${i} ${column.before} ${column.after}`}>
            {chosen.kind !== "cross" && (
              <path class="vt-stem" d={`M${x} ${top + 6}V${isNew ? struck - 0.8 * font : bottom - 6}`} />
            )}
            {isNew && column.before !== null && (
              <text class="vt-went" x={x} y={struck} font-size={font}>
                {shownWord(column.before)}
              </text>
            )}
            {isNew && text && (
              <path class="vt-into" d={`M${x} ${bottom - 1.2 * unit}V${bottom - 5}m-5 -6l5 6l5 -6`} />
            )}
            {chosen.kind === "cross" && column.index !== null ? (
              <Pin shown={shown} query={column.index} word={column.before ?? ""}>
                {word}
              </Pin>
            ) : (
              word
            )}
          </g>
        );
      })}
    </g>
  );
}

const told = (loss: number) => (loss < 0.005 ? "0" : formatNumber(loss, 2));

/** The loss of each word of the unchanged answer, before and after. */
function Losses({ shown, layout, was, now }: Part & { was: number[]; now: number[] }) {
  const { columns, before, after, isChanged, theme } = shown;
  const { floor, tallest, unit, slots } = layout;
  const highest = Math.max(LEAST_LOSS, ...[...before, ...after].map((each) => -each));
  return (
    <g class="vt-losses">
      <path class="vt-floor" d={`M0 ${floor}H${layout.width}`} />
      {columns.map(({ before: word, index }, i) => {
        if (index === null) return null;
        const [x, slot] = [layout.written[i]!, slots[i]!];
        const width = Math.min(0.34 * slot, 2.2 * unit);
        const [from, to] = [-before[index]!, -(after[index] ?? before[index]!)];
        const isNew = Math.abs(to - from) >= MOVED;
        const high = [was[index]!, now[index] ?? was[index]!].map((each) =>
          Math.max(3, (-each / highest) * tallest),
        ) as [number, number];
        const name = visible(word!);
        const label = `${name}: loss ${formatNumber(from, 3)}, ${isChanged ? "now" : "without the head"} ${formatNumber(to, 3)}`;
        const aside = isNew && slot > 5.4 * unit ? width / 2 + 2 : 0;
        return (
          <g key={`${i}`} role="img" aria-label={label} data-changed={isNew && isChanged}>
            <title>{label}</title>
            <rect class="vt-before" x={x - width - 1} y={floor - high[0]} width={width} height={high[0]} />
            <rect
              class={isChanged ? "vt-after" : "vt-would"}
              x={x + 1}
              y={floor - high[1]}
              width={width}
              height={high[1]}
            />
            {(!isNew || aside > 0) && (
              <text
                class="vt-tick"
                x={x - aside}
                y={floor - Math.max(aside ? 0 : high[1], high[0]) - 0.6 * unit}
              >
                {told(from)}
              </text>
            )}
            {isNew && (
              <text
                class="vt-tick vt-strong"
                x={x + (aside || width / 2)}
                y={floor - Math.max(aside ? 0 : high[0], high[1]) - 0.6 * unit}
              >
                {told(to)}
              </text>
            )}
            <text class="vt-tick" x={x} y={floor + 0.9 * unit}>
              {elide(name, slot - 4, (text) => theme.measure?.(text, 0.85 * unit, false) ?? 0)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

/** The switch of the chosen head, on the arc that it cuts. */
function Switch({ shown: { chosen, factor, look, theme, onToggle }, layout }: Part) {
  const { x, y } = pathOf(layout, look.query, look.key, chosen.kind === "cross");
  const told = factor === 0 ? "" : factor === 1 ? percent(look.weight) : `× ${shortFactor(factor)}`;
  return (
    <g
      class="vt-switch"
      role="switch"
      aria-checked={factor !== 0}
      aria-label={`${headName(chosen)} is on`}
      tabindex={0}
      data-changed={factor !== 1}
      data-lm-suppress-shortcuts="true"
      transform={`translate(${x} ${Math.max(20, y)})`}
      onClick={onToggle}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        onToggle();
      }}
    >
      <circle r={17} />
      <Power size={22} />
      {told && (
        <text
          class="vt-switch-told"
          x={22}
          style={{ fill: factor === 1 ? css(weightRgb(look.weight, theme)) : "" }}
        >
          {told}
        </text>
      )}
    </g>
  );
}

function Legend({ isChanged, before, after, factor, chosen }: Shown) {
  const mean = (logProbs: readonly number[]) =>
    formatNumber(-logProbs.reduce((sum, each) => sum + each, 0) / logProbs.length, 3);
  return (
    <p class="vt-legend">
      <span>Loss of each word</span>
      <span class="vt-key-before">before</span>
      {after.length > 0 && (
        <span class={isChanged ? "vt-key-after" : "vt-key-would"}>
          {isChanged ? "now" : `without head ${chosen.layer}·${chosen.head}`}
        </span>
      )}
      <span>
        mean {mean(before)}
        {after.length > 0 && (
          <>
            {" → "}
            <b data-changed={isChanged && factor !== 1}>{mean(after)}</b>
          </>
        )}
      </span>
    </p>
  );
}
