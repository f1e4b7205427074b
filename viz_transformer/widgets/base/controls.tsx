// Controls: a button, and with their names a slider, a menu, a switch, and a few choices side by side.

import type { ComponentChildren, JSX } from "preact";

/** A button that keeps its keys from the notebook. */
export function Button(props: JSX.IntrinsicElements["button"]) {
  return <button type="button" data-lm-suppress-shortcuts="true" {...props} />;
}

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

interface ChoiceProps {
  label: string;
  /** Whether the label is only heard. */
  isBare?: boolean;
  options: readonly (readonly [value: string, name: string])[];
  value: string;
  /** The values that can't be chosen, and why. */
  disabled?: readonly string[];
  title?: string;
  onChoose: (value: string) => void;
}

export function Choice({
  label,
  isBare = false,
  options,
  value,
  disabled = [],
  title,
  onChoose,
}: ChoiceProps) {
  return (
    <label class="vt-choice vt-beside" title={title || undefined}>
      {!isBare && label}
      <select
        aria-label={label}
        data-lm-suppress-shortcuts="true"
        value={value}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        {options.map(([each, name]) => (
          <option key={each} value={each} disabled={disabled.includes(each)} selected={each === value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SwitchProps {
  label: string;
  on: boolean;
  /** Whether it is not as it was first. */
  isChanged?: boolean;
  onChange: (on: boolean) => void;
}

export function Switch({ label, on, isChanged = false, onChange }: SwitchProps) {
  return (
    <Button
      role="switch"
      class={`vt-toggle ${isChanged ? "vt-of-you" : ""}`}
      aria-checked={on}
      onClick={() => onChange(!on)}
    >
      {label}
    </Button>
  );
}

interface TabsProps<Value> {
  label: string;
  /** Whether the label stands before them. */
  isLabelled?: boolean;
  options: readonly (readonly [Value, string])[];
  /** What is chosen; it may be none of the options. */
  value: Value;
  onChoose: (value: Value) => void;
}

export function Tabs<Value>({ label, isLabelled = false, options, value, onChoose }: TabsProps<Value>) {
  const tabs = (
    <span class="vt-tabs" role="group" aria-label={label}>
      {options.map(([each, name]) => (
        <Button key={name} aria-pressed={each === value} onClick={() => onChoose(each)}>
          {name}
        </Button>
      ))}
    </span>
  );
  if (!isLabelled) return tabs;
  return (
    <span class="vt-labelled vt-beside">
      <span aria-hidden="true">{label}</span>
      {tabs}
    </span>
  );
}
