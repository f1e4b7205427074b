// A round knob that is dragged along a line or anywhere, or moved by keys: a slider wherever it stands.

import { consume, indexAfterKey } from "./keys.ts";
import { useRef } from "preact/hooks";
import { nearestValue } from "./scales.ts";

interface KnobProps {
  label: string;
  value: number;
  /** What a screen reader says instead of the number. */
  text: string;
  /** All that it can be set to, rising. */
  values: readonly number[];
  /** What makes two of them near: the logarithm, where they stand on a logarithmic axis. */
  near?: (value: number) => number;
  /** Where it stands. */
  x: number;
  y: number;
  /** Along which it moves, and the value that stands at a place of the picture. */
  axis?: "x" | "y";
  valueAt: (x: number, y: number) => number;
  /** Whether a value more is further down, for the arrow keys. */
  isDown?: boolean;
  /** The newest value, where another knob sets it too. */
  newest?: { current: number };
  onMove: (value: number) => void;
}

/** A knob in an SVG picture. */
export function Knob(props: KnobProps) {
  const { label, value, text, values, near, x, y, axis = "x", valueAt, onMove } = props;
  const drag = useRef<{ left: number; top: number; scale: number } | null>(null);
  const own = useRef(value);
  const latest = props.newest ?? own; // two keys may come in one frame
  latest.current = value;
  const put = (index: number) => {
    const wanted = values[index];
    if (wanted === undefined || wanted === latest.current) return;
    latest.current = wanted;
    onMove(wanted);
  };
  return (
    <g
      class="vt-knob-place"
      role="slider"
      tabindex={0}
      data-lm-suppress-shortcuts="true"
      data-axis={axis}
      aria-label={label}
      aria-orientation={axis === "x" ? "horizontal" : "vertical"}
      aria-valuenow={value}
      aria-valuemin={values[0]}
      aria-valuemax={values.at(-1)}
      aria-valuetext={text}
      transform={`translate(${x} ${y})`}
      onKeyDown={(event) => {
        const isTurned = props.isDown && /^Arrow(Up|Down)$/.test(event.key);
        const turned = (index: number) => (isTurned ? values.length - 1 - index : index);
        const to = indexAfterKey(event, turned(nearestValue(values, latest.current)), values.length);
        if (to === null) return;
        consume(event);
        put(turned(to));
      }}
      onPointerDown={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const scale = box.width / event.currentTarget.getBBox().width || 1; // of a page that is zoomed
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { left: event.clientX - x * scale, top: event.clientY - y * scale, scale };
      }}
      onPointerMove={(event) => {
        if (!drag.current) return;
        const { left, top, scale } = drag.current;
        const wanted = valueAt((event.clientX - left) / scale, (event.clientY - top) / scale);
        if (Number.isFinite(wanted)) put(nearestValue(values, wanted, near));
      }}
      onLostPointerCapture={() => {
        drag.current = null;
      }}
    >
      <circle r={22} class="vt-knob-hit" />
      <circle r={11} class="vt-knob" />
    </g>
  );
}
