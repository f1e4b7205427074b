// A slider with its name and its value.

import type { ComponentChildren } from "preact";

interface RangeProps {
  label: ComponentChildren;
  min: number;
  max: number;
  step?: number;
  value: number;
  /** The value in words; it stands beside the slider, unless the label has it. */
  told: string;
  isToldInLabel?: boolean;
  onInput: (value: number) => void;
}

export function Range({
  label,
  min,
  max,
  step = 1,
  value,
  told,
  isToldInLabel = false,
  onInput,
}: RangeProps) {
  return (
    <label class="vt-range vt-beside">
      {label}
      <input
        type="range"
        {...{ min, max, step, value }}
        aria-valuetext={told}
        data-lm-suppress-shortcuts="true"
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
      {!isToldInLabel && <output>{told}</output>}
    </label>
  );
}
