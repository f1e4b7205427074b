// A round knob that is dragged along a line or anywhere, or moved by keys: a slider wherever it stands.

import { useRef } from "preact/hooks";
import { indexAfterKey } from "./js/chart.js";

interface KnobProps {
  label: string;
  value: number;
  /** What a screen reader says instead of the number. */
  text: string;
  least?: number;
  most: number;
  step?: number;
  /** Where it stands, and how many pixels to the right a value more is, or the value at another place. */
  x: number;
  y: number;
  perValue?: number;
  valueAt?: (x: number, y: number) => number;
  /** Whether a value more is further down, for the arrow keys. */
  isDown?: boolean;
  onMove: (value: number) => void;
}

/** A knob in an SVG picture. */
export function Knob(props: KnobProps) {
  const { label, value, text, least = 0, most, step = 1, x, y, perValue = 1, onMove } = props;
  const drag = useRef<{ left: number; top: number; scale: number; value: number; x: number } | null>(null);
  const latest = useRef(value); // two keys may come in one frame
  latest.current = value;
  const put = (wanted: number) => {
    const nearest = Math.round(Math.min(most, Math.max(least, wanted)) / step) * step;
    if (nearest === latest.current) return;
    latest.current = nearest;
    onMove(nearest);
  };
  return (
    <g
      class="vt-knob-place"
      role="slider"
      tabindex={0}
      data-lm-suppress-shortcuts="true"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuetext={text}
      transform={`translate(${x} ${y})`}
      onKeyDown={(event) => {
        const count = Math.round((most - least) / step) + 1;
        const isTurned = props.isDown && /^Arrow(Up|Down)$/.test(event.key);
        const turned = (index: number) => (isTurned ? count - 1 - index : index);
        const to = indexAfterKey(event, turned(Math.round((latest.current - least) / step)), count);
        if (to === null) return;
        event.preventDefault();
        put(least + turned(to) * step);
      }}
      onPointerDown={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const scale = box.width / event.currentTarget.getBBox().width || 1; // of a page that is zoomed
        event.currentTarget.setPointerCapture(event.pointerId);
        const [left, top] = [event.clientX - x * scale, event.clientY - y * scale];
        drag.current = { left, top, scale, value, x };
      }}
      onPointerMove={(event) => {
        const from = drag.current;
        if (!from) return;
        const toX = (event.clientX - from.left) / from.scale;
        const toY = (event.clientY - from.top) / from.scale;
        put(props.valueAt?.(toX, toY) ?? from.value + (toX - from.x) / perValue);
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
