// A chart of the stage: a title, two axes, and what its children draw from its scales. It fills its box.
//
//   <Chart title="loss" frame={frame} x={{ domain: [0, 100], label: "step" }} y={{ domain: [0, 4] }}>
//     {(plot) => <path class="vt-mark" d={linePath(plot, steps, losses)} />}
//   </Chart>

import type { ComponentChildren } from "preact";
import { type Axis, layOut, type Plot } from "./axes.ts";
import type { Theme } from "./colour.ts";
import { useRoom } from "./hooks.ts";

const SMALL = 0.85; // of the unit

interface ChartProps {
  title: string;
  /** What a screen reader calls it, where that is more than its title. */
  label?: string;
  frame: { unit: number; theme: Theme };
  x: Axis;
  y: Axis;
  /** Pixels that the vertical axis leaves at the left, in charts that stand below one another. */
  least?: number;
  /** Pixels above the plot that its children draw in too. */
  above?: number;
  /** What its marks and colours mean. */
  legend?: ComponentChildren;
  children: (plot: Plot) => ComponentChildren;
}

export function Chart({ title, label = title, frame, x, y, least, above, legend, children }: ChartProps) {
  const { box, room } = useRoom();
  const size = SMALL * frame.unit;
  const measure = (text: string) => frame.theme.measure(text, size, false);
  const plot = room && layOut({ x, y }, room, size, measure, least, above);
  return (
    <figure class="vt-chart" role="group" aria-label={label}>
      <figcaption class="vt-chart-title" aria-hidden="true">
        {title}
      </figcaption>
      <div class="vt-chart-box" ref={box}>
        {plot && (
          <svg width={room.width} height={room.height} role="presentation">
            <Axes plot={plot} x={x} y={y} size={size} />
            {children(plot)}
          </svg>
        )}
      </div>
      {x.label && (
        <div
          class="vt-axis-label vt-caption"
          aria-hidden="true"
          style={{ paddingLeft: `${plot?.left ?? 0}px` }}
        >
          {x.label}
        </div>
      )}
      {legend && <div class="vt-legend vt-beside vt-small">{legend}</div>}
    </figure>
  );
}

interface AxesProps {
  plot: Plot;
  x: Axis;
  y: Axis;
  size: number;
}

function Axes({ plot, x, y, size }: AxesProps) {
  const { xTicks, yTicks, left, right, top, bottom, isTurned } = plot;
  const below = bottom + 8;
  return (
    <g class="vt-axes">
      {x.isRuled && xTicks.map(({ value, pixel }) => <path key={value} d={`M${pixel} ${top}V${bottom}`} />)}
      {y.isRuled && yTicks.map(({ value, pixel }) => <path key={value} d={`M${left} ${pixel}H${right}`} />)}
      <path class="vt-axis" d={`M${left} ${bottom}H${right}`} />
      {yTicks.map(({ value, text, pixel }) => (
        <text key={value} x={left - 8} y={pixel} text-anchor="end">
          {text}
        </text>
      ))}
      {xTicks.map(({ value, text, pixel }) => (
        <text
          key={value}
          x={pixel}
          y={isTurned ? below : below + 0.5 * size}
          text-anchor={isTurned ? "end" : "middle"}
          transform={isTurned ? `rotate(-90 ${pixel} ${below})` : undefined}
        >
          {text}
        </text>
      ))}
    </g>
  );
}

/** What a mark of a chart means: a sample of it beside its name. */
export function Key({ kind, children }: { kind: string; children: ComponentChildren }) {
  return (
    <span class="vt-chart-key vt-beside">
      <svg width={24} height={12} aria-hidden="true">
        <path class={kind} d="M0 6H24" stroke-width={kind.includes("vt-line-mark") ? undefined : 12} />
      </svg>
      {children}
    </span>
  );
}
