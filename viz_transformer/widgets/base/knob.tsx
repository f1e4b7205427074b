// A round knob that is dragged along a line, or moved by keys: a slider wherever it stands.

import { useRef } from "preact/hooks";
import { indexAfterKey } from "./js/chart.js";

interface KnobProps {
  label: string;
  value: number;
  /** What a screen reader says instead of the number. */
  text: string;
  least: number;
  most: number;
  step: number;
  /** Where it stands, and how many pixels to the right a value more is. */
  x: number;
  y: number;
  perValue: number;
  onMove: (value: number) => void;
}

/** A knob in an SVG picture. */
export function Knob({ label, value, text, least, most, step, x, y, perValue, onMove }: KnobProps) {
  const drag = useRef<{ x: number; value: number; scale: number } | null>(null);
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
        const index = indexAfterKey(event, Math.round((latest.current - least) / step), count);
        if (index === null) return;
        event.preventDefault();
        put(least + index * step);
      }}
      onPointerDown={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const scale = box.width / event.currentTarget.getBBox().width || 1; // of a page that is zoomed
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, value, scale };
      }}
      onPointerMove={(event) => {
        const from = drag.current;
        if (from) put(from.value + (event.clientX - from.x) / from.scale / perValue);
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
