// What the chapters draw over the axis: which positions look alike to which hand, the likeness of two positions,
// and a sentence that moves.

import { useMemo } from "preact/hooks";
import { useTween } from "../base/hooks.ts";
import { Knob } from "../base/knob.tsx";
import { handOf, limitOf, lookAlikes, pairsOf, reachOf } from "../base/positions/hands.ts";
import { Heat } from "../base/positions/heat.tsx";
import { positionAt, yOf } from "../base/positions/layout.ts";
import { Dial, type Place } from "../base/positions/picture.tsx";
import { indices, stepsBetween } from "../base/scales.ts";
import { formatNumber } from "../base/text.ts";
import { at, type Matrix } from "./matrix.ts";
import type { Told } from "./sentences.ts";
import type { Shifted } from "./shift.ts";

const MOST_LINES = 64; // of other positions behind the chosen one's

/** A dot at each position that looks like the chosen one to a pair, and how many they are. */
export function Alikes(place: Place) {
  const { layout, table, pair, position, unit, x } = place;
  const { width, right } = layout;
  const all = useMemo(
    () => Array.from({ length: pairsOf(table) }, (_, each) => lookAlikes(table, position, each)),
    [table, position],
  );
  const dots = all
    .flatMap((rows, each) => rows.map((row) => `M${x(row)} ${yOf(layout, table.cols, each)}h0`))
    .join("");
  const [from, longest] = [right + 28, width - right - 30 - 1.6 * unit];
  const bars = all.map((rows, each) => {
    const length = Math.max(1, (rows.length / Math.max(1, table.rows - 1)) * longest);
    return `M${from} ${yOf(layout, table.cols, each)}h${length}`;
  });
  return (
    <g>
      <path class="vt-alike-halo" d={dots} />
      <path class="vt-alike-dots" d={dots} />
      <text x={from} y={0.6 * unit}>
        alike
      </text>
      <path class="vt-counts" d={bars.join("")} style={{ "stroke-width": `${1.6 * place.line}px` }} />
      <text class="vt-count-text" x={width} y={yOf(layout, table.cols, pair)}>
        {all[pair]?.length}
      </text>
    </g>
  );
}

/** The line after which a learned table was never trained. */
export function Border({ place, told }: { place: Place; told: Told }) {
  const { layout, x } = place;
  if (told.encoding !== "learned" || told.trained >= told.table.rows) return null;
  const border = (x(told.trained) + x(told.trained - 1)) / 2;
  return <path class="vt-level" d={`M${border} ${layout.above.top}V${layout.table.bottom}`} />;
}

interface LikenessProps {
  place: Place;
  /** [position, position] */
  scores: Matrix;
  offset: number;
  onOffset: (offset: number) => void;
}

/** The scores of the chosen position with all others; those from other positions are moved to it. */
export function Likeness({ place, scores, offset, onOffset }: LikenessProps) {
  const { move } = useTween(place.redraw);
  const { layout, table, pair, position, unit, x } = place;
  const { top, bottom } = layout.above;
  const { left, right } = layout;
  const rows = indices(scores.rows);
  const [low, high] = useMemo(() => extentWithZero(scores.values), [scores]);
  const y = (score: number) =>
    high === low ? (top + bottom) / 2 : bottom - ((score - low) / (high - low)) * (bottom - top);
  const own = move(rows.map((other) => at(scores, position, other)));
  const others = rows
    .filter((row) => row % Math.ceil(rows.length / MOST_LINES) === 0)
    .map((row) => {
      const seen = rows.filter((to) => rows.includes(to - row + position));
      return `M${seen.map((to) => `${x(to - row + position)} ${y(at(scores, row, to))}`).join("L")}`;
    });
  const other = Math.min(rows.length - 1, Math.max(0, position + offset));
  const reach = reachOf(table, pair);
  const tips = [position, other].map((row) => {
    const [across, up] = handOf(table, pair, row);
    return [across / reach, up / reach] as const;
  });
  const isAtEnd = x(other) > right - 3 * unit;
  return (
    <g>
      <text x={left} y={0.6 * unit}>
        score
      </text>
      {[...new Set([low, 0, high])]
        .filter((score) => !score || Math.abs(y(score) - y(0)) > unit)
        .map((score) => (
          <text class="vt-at-end" key={score} x={left - 8} y={y(score)}>
            {formatNumber(score, score ? 1 : 0)}
          </text>
        ))}
      <path class="vt-zero" d={`M${left} ${y(0)}H${right}`} />
      <path class="vt-others" d={others.join("")} />
      <path class="vt-first" d={`M${own.map((score, to) => `${x(to)} ${y(score)}`).join("L")}`} />
      <path class="vt-level" d={`M${x(position)} ${y(own[position])}V${layout.table.top}`} />
      <path class="vt-level" d={`M${x(other)} ${y(own[other])}V${layout.table.bottom}`} />
      <Dial place={place} tips={tips} />
      <text
        class={isAtEnd ? "vt-here vt-at-end" : "vt-here"}
        x={x(other) + (isAtEnd ? -18 : 18)}
        y={Math.max(0.6 * unit, y(own[other]) - unit)}
      >
        {position + offset === other && other}
      </text>
      <Knob
        label="the position it is compared with"
        value={offset}
        text={`position ${position + offset}, offset ${offset}`}
        values={stepsBetween(-position, rows.length - 1 - position, 1)}
        x={x(other)}
        y={y(own[other])}
        valueAt={(toX) => positionAt(layout, rows.length, toX) - position}
        onMove={onOffset}
      />
    </g>
  );
}

function extentWithZero(values: Float64Array): [number, number] {
  let [low, high] = [0, 0];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}

/** The scores where the sentence stood, where it stands, and their difference, in one scale of colours. */
export function Scores({ place, shifted, shift }: { place: Place; shifted: Shifted; shift: number }) {
  const { layout, unit, theme, redraw } = place;
  const { top, bottom } = layout.above;
  const named = {
    "scores at 0": shifted.here,
    [`at ${shift}`]: shifted.moved,
    difference: shifted.difference,
  };
  const limit = Math.max(...Object.values(named).map(limitOf));
  const width = (layout.width - 3 * unit) / 3;
  return (
    <>
      {Object.entries(named).map(([title, table], which) => (
        <figure class="vt-scores" key={which} style={{ left: `${which * (width + 1.5 * unit)}px` }}>
          <figcaption>{title}</figcaption>
          <Heat {...{ table, theme, redraw, limit }} box={{ left: 0, top, width, height: bottom - top }} />
        </figure>
      ))}
    </>
  );
}

interface SentenceProps {
  place: Place;
  nWords: number;
  shift: number;
  onShift: (shift: number) => void;
}

/** Where the sentence stood on the table, and where it stands; its knob moves it. */
export function MovingSentence({ place, nWords, shift, onShift }: SentenceProps) {
  const { move, jump } = useTween(place.redraw);
  const { layout, table } = place;
  const cell = (layout.right - layout.left) / table.rows;
  const [start = shift] = move([shift]);
  const { top, bottom } = layout.table;
  const frame = (from: number) => ({
    x: layout.left + from * cell,
    y: top - 4,
    width: nWords * cell,
    height: bottom - top + 8,
  });
  return (
    <g>
      <rect class="vt-level" {...frame(0)} />
      <rect class="vt-stands" {...frame(start)} />
      <Knob
        label="move by"
        value={shift}
        text={`moved by ${shift}`}
        values={stepsBetween(0, table.rows - nWords, 1)}
        x={layout.left + (start + nWords / 2) * cell}
        y={bottom + 12}
        valueAt={(toX) => (toX - layout.left) / cell - nWords / 2}
        onMove={(to) => {
          jump();
          onShift(to);
        }}
      />
    </g>
  );
}
