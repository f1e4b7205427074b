// The control of a size: a slider with stops, and a field for any number.

import { useRef } from "preact/hooks";
import { type Control, nearestStop } from "./sizes.ts";

interface SizeControlProps {
  control: Control;
  value: number;
  /** Whether what follows from it is marked. */
  isMarked: boolean;
  onSet: (value: number) => void;
  onMark: () => void;
}

export function SizeControl({ control, value, isMarked, onSet, onMark }: SizeControlProps) {
  const { label, stops, most } = control;
  const typing = useRef(false); // what is being typed stays, whatever is drawn meanwhile
  const field = useRef<HTMLInputElement>(null);
  if (field.current && !typing.current) field.current.value = String(value);
  return (
    <div class="vt-size" data-marked={isMarked} onFocusIn={onMark}>
      <span>{label}</span>
      <input
        ref={field}
        type="number"
        min={1}
        max={most}
        aria-label={`${label}, any number`}
        data-lm-suppress-shortcuts="true"
        defaultValue={value}
        onInput={() => {
          typing.current = true;
        }}
        // When it is done, not at each digit: 1 on the way to 128 is no size that was meant.
        onChange={(event) => {
          typing.current = false;
          if (event.currentTarget.value !== "") onSet(Number(event.currentTarget.value));
        }}
      />
      <input
        type="range"
        min={0}
        max={stops.length - 1}
        value={nearestStop(stops, value)}
        aria-label={label}
        aria-valuetext={String(value)}
        data-lm-suppress-shortcuts="true"
        onInput={(event) => onSet(stops[Number(event.currentTarget.value)]!)}
      />
    </div>
  );
}
