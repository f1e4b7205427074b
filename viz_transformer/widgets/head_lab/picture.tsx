// The picture: what the chosen head reads, the words before and after, and the loss of each.

import { consume, indexAfterKey } from "../base/keys.ts";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { css, type Theme, weightRgb } from "../base/colour.ts";
import { useRoom } from "../base/hooks.ts";
import { tween } from "../base/motion.ts";
import { elide, formatNumber, percent, shortened, visible } from "../base/text.ts";
import { type Column, type Head, headName, isMoved, shortFactor } from "./changes.ts";
import { lossOf } from "./effects.ts";
import { Power } from "./heads.tsx";
import { type Layout, layOut, pathOf } from "./layout.ts";
import type { Look } from "./sentences.ts";

const [FAINT, STRONG] = [0.15, 0.03]; // weights below are not drawn: of all words, of the pinned one
const THICKEST = 14; // pixels of an arc
const LETTERS = 20; // of a word
const MOST = 4096; // weights that are moved one by one
const LEAST_LOSS = 0.5; // nats that the highest bar stands for, at least
const MOVED = 0.01; // of a word's loss
const MARGIN = 60; // pixels beside what is kept in sight

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
  /** The word read below which each column stands; null where the rows are independent. */
  under: readonly (number | null)[] | null;
  before: readonly number[];
  /** Of the changed model; while nothing is changed, of that without the chosen head. */
  after: readonly number[];
  isChanged: boolean;
  /** Whether all of it belongs to what is chosen. */
  isCurrent: boolean;
  isBehind: boolean;
  onToggle: () => void;
  /** The pinned query. */
  query: number | null;
  onQuery: (query: number | null) => void;
}

type Part = { shown: Shown; layout: Layout };

const shownWord = (text: string) => shortened(text, LETTERS);
const isCross = ({ chosen }: Shown) => chosen.kind === "cross";

export function Picture(shown: Shown) {
  const { box, room } = useRoom();
  const motion = useRef(tween()).current;
  const { theme, unit, before, after } = shown;
  const measure = (text: string, size: number) => theme.measure(shownWord(text), size, true);
  const layout = room && layOut({ ...shown, isCross: isCross(shown) }, { ...room, unit, measure });
  useInView(box.current, shown, layout);
  useLayoutEffect(() => {
    const { dataset } = box.current!.closest<HTMLElement>(".vt-root")!;
    Object.assign(dataset, { stale: !shown.isCurrent, behind: shown.isBehind });
  });
  const isMany = shown.weights.length > MOST;
  const numbers = motion.at([...before, ...after, ...(isMany ? [] : shown.weights)]);
  if (motion.isMoving()) shown.redraw();
  const end = before.length + after.length;
  const weights = isMany ? shown.weights : Float32Array.from(numbers.slice(end));
  return (
    <div class="vt-flip">
      <div class="vt-flip-room" ref={box}>
        {layout && (
          <svg width={layout.width} height={layout.height} role="group" aria-label="Words">
            <Arcs shown={{ ...shown, weights }} layout={layout} />
            <Words shown={shown} layout={layout} />
            <Losses
              {...{ shown, layout }}
              was={numbers.slice(0, before.length)}
              now={numbers.slice(before.length, end)}
            />
            <Switch shown={shown} layout={layout} />
          </svg>
        )}
      </div>
      <Legend {...shown} />
    </div>
  );
}

/** What the changes did stays in sight; without changes, where the chosen head looks. */
function useInView(node: HTMLElement | null, shown: Shown, layout: Layout | null): void {
  const moved = shown.columns.findIndex(isMoved);
  const { query, key } = shown.look;
  const at = layout && (moved >= 0 ? layout.written[moved]! : pathOf(layout, query, key, isCross(shown)).x);
  useLayoutEffect(() => {
    if (!node || at === null) return;
    const from = at - node.scrollLeft;
    if (from < MARGIN || from > node.clientWidth - MARGIN) node.scrollLeft = at - node.clientWidth / 2;
  }, [node, at]);
}

/** Where the head looks: of the pinned word all, of the others what is strong. */
function Arcs({ shown, layout }: Part) {
  const { theme, weights, read, look, factor } = shown;
  const arcs = Array.from(weights, (weight, i) => {
    const query = Math.floor(i / read.length);
    return { weight, query, key: i % read.length, isPinned: query === look.query };
  }).filter(({ weight, isPinned }) => weight >= (isPinned ? STRONG : FAINT));
  arcs.sort((a, b) => Number(a.isPinned) - Number(b.isPinned) || a.weight - b.weight);
  return (
    <g class="vt-arcs" data-off={factor === 0}>
      {arcs.map(({ weight, query, key, isPinned }) => (
        <path
          key={`${query} ${key}`}
          d={pathOf(layout, query, key, isCross(shown)).d}
          data-look={isPinned && key === look.key}
          stroke={css(weightRgb(isPinned ? weight : 0.13 * weight + 0.04, theme))}
          stroke-width={Math.max(1.5, weight * THICKEST)}
        >
          <title>{percent(weight)}</title>
        </path>
      ))}
    </g>
  );
}

/** Both rows: the words read, and those of the answer that stayed, that went, struck through, and that came. */
function Words({ shown, layout }: Part) {
  const { columns, read } = shown;
  const { chip, font, yRead, yWritten, unit } = layout;
  const bottom = yWritten - chip / 2;
  const asking = shown.chosen.kind === "encoder" ? shown.look.query : null;
  const struck = bottom - 1.3 * unit - font / 2;
  return (
    <g>
      {read.map((text, i) => (
        <Pin key={`read ${i}`} shown={shown} query={isCross(shown) ? null : i} word={text}>
          <Chip
            {...{ shown, layout, text }}
            x={layout.read[i]!}
            y={yRead}
            tone={i === asking ? "vt-of-query" : "vt-of-key"}
          />
        </Pin>
      ))}
      {columns.map((column, i) => {
        const [x, isNew] = [layout.written[i]!, isMoved(column)];
        const { before, after, index } = column;
        const isLooking = shown.chosen.kind === "decoder" && index === shown.look.query;
        const hasRead = (shown.under?.[i] ?? null) !== null; // above it
        const stemEnd = isNew ? struck - 0.8 * font : bottom - 6;
        return (
          <g class="vt-written" key={`${i} ${before} ${after}`}>
            {hasRead && (
              <path class="vt-rule" d={`M${x} ${Math.min(stemEnd, yRead + chip / 2 + 6)}V${stemEnd}`} />
            )}
            <Pin shown={shown} query={isCross(shown) ? index : null} word={before ?? ""}>
              {isNew && before !== null && (
                <text class="vt-went" x={x} y={struck} font-size={font}>
                  {shownWord(before)}
                </text>
              )}
              {isNew && after !== null && (
                <path class="vt-into" d={`M${x} ${bottom - 1.2 * unit}V${bottom - 5}m-5 -6l5 6l5 -6`} />
              )}
              {after !== null && (
                <Chip
                  {...{ shown, layout, x, isLooking }}
                  text={after}
                  y={yWritten}
                  tone={isNew ? "vt-came" : "vt-of-query"}
                />
              )}
            </Pin>
          </g>
        );
      })}
    </g>
  );
}

interface ChipProps extends Part {
  text: string;
  x: number;
  y: number;
  tone: string;
  /** Whether it is what the pinned query writes. */
  isLooking?: boolean;
}

function Chip({ shown, layout, text, x, y, tone, isLooking = false }: ChipProps) {
  const { font, chip, padding } = layout;
  const width = shown.theme.measure(shownWord(text), font, true) + padding;
  return (
    <g class={`vt-word ${tone}`} data-looking={isLooking} transform={`translate(${x} ${y})`}>
      <rect x={-width / 2} y={-chip / 2} width={width} height={chip} rx={chip / 2} />
      <text font-size={font}>{shownWord(text)}</text>
    </g>
  );
}

type PinProps = { shown: Shown; query: number | null; word: string; children: ComponentChildren };

/** A word that can be pinned, unless it is no query: the arrow keys go from one to the next. */
function Pin({ shown: { look, read, weights, query: pinned, onQuery }, query, word, children }: PinProps) {
  if (query === null) return <g>{children}</g>;
  return (
    <g
      class="vt-pin"
      role="button"
      aria-label={`what ${visible(word)} looks at`}
      aria-pressed={query === look.query}
      tabindex={query === look.query ? 0 : -1}
      data-query={query}
      data-lm-suppress-shortcuts="true"
      onClick={() => onQuery(query === pinned ? null : query)}
      onKeyDown={(event) => {
        const to = indexAfterKey(event, query, weights.length / read.length);
        if (to === null) return;
        consume(event);
        onQuery(to);
        event.currentTarget.ownerSVGElement?.querySelector<SVGGElement>(`[data-query="${to}"]`)?.focus();
      }}
    >
      {children}
    </g>
  );
}

const told = (loss: number) => (loss < 0.005 ? "0" : formatNumber(loss, 2));

function Losses({ shown, layout, was, now }: Part & { was: number[]; now: number[] }) {
  const { columns, before, after, isChanged, theme } = shown;
  const { floor, tallest, unit, slots } = layout;
  const highest = Math.max(LEAST_LOSS, ...[...before, ...after].map((each) => -each));
  return (
    <g class="vt-losses">
      <path class="vt-rule" d={`M0 ${floor}H${layout.width}`} />
      {columns.map(({ before: word, index }, i) => {
        if (index === null) return null;
        const [x, slot, name] = [layout.written[i]!, slots[i]!, visible(word!)];
        const losses = [-before[index]!, -(after[index] ?? before[index]!)] as const;
        const isNew = Math.abs(losses[1] - losses[0]) >= MOVED;
        const width = Math.min(0.34 * slot, 2.2 * unit);
        const hasRoom = slot > 5.4 * unit; // for both numbers
        const high = [was[index]!, ...now.slice(index, index + 1)].map((each) =>
          Math.max(3, (-each / highest) * tallest),
        );
        const then = isChanged ? "now" : "without the head";
        const known = after.length ? losses : losses.slice(0, 1); // the ranking may be on its way
        const label = `${name}: loss ${known.map((loss) => formatNumber(loss, 3)).join(`, ${then} `)}`;
        return (
          <g key={`${i}`} role="img" aria-label={label} data-changed={isNew && isChanged}>
            <title>{label}</title>
            {high.map((height, at) => (
              <g key={`${at}`}>
                <rect
                  class={at === 0 ? "vt-before" : isChanged ? "vt-after" : "vt-would"}
                  x={x + (at === 0 ? -width - 1 : 1)}
                  y={floor - height}
                  {...{ width, height }}
                />
                {(at === 0 ? !isNew || hasRoom : isNew) && (
                  <text
                    class={`vt-tick ${at === 0 ? "" : "vt-strong"}`}
                    x={x + (isNew ? (at - 0.5) * (width + 4) : 0)}
                    y={floor - (isNew ? height : Math.max(...high)) - 0.6 * unit}
                  >
                    {told(losses[at]!)}
                  </text>
                )}
              </g>
            ))}
            <text class="vt-tick" x={x} y={floor + 0.9 * unit}>
              {elide(name, slot - 4, (text) => theme.measure(text, 0.85 * unit, false))}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function Switch({ shown, layout }: Part) {
  const { chosen, factor, look, theme, onToggle } = shown;
  const { x, y } = pathOf(layout, look.query, look.key, isCross(shown));
  const toldBeside = factor === 1 ? percent(look.weight) : factor === 0 ? "" : `× ${shortFactor(factor)}`;
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
        consume(event);
        onToggle();
      }}
    >
      <rect x={-17} y={-17} width={60} height={34} fill="none" pointer-events="all" />
      <circle r={17} />
      <Power />
      <text x={26} style={factor === 1 ? { fill: css(weightRgb(look.weight, theme)) } : {}}>
        {toldBeside}
      </text>
    </g>
  );
}

function Legend({ isChanged, before, after, chosen }: Shown) {
  const isKnown = after.length > 0;
  return (
    <p class="vt-legend vt-beside vt-caption">
      Loss of each word
      <span class="vt-swatch">before</span>
      {isKnown && (
        <span class="vt-swatch" data-would={!isChanged} data-changed={isChanged}>
          {isChanged ? "now" : `without head ${chosen.layer}·${chosen.head}`}
        </span>
      )}
      mean {formatNumber(lossOf(before), 3)}
      {isKnown && (
        <b data-changed={isChanged}>
          {"→ "}
          {formatNumber(lossOf(after), 3)}
        </b>
      )}
    </p>
  );
}
