// A switch with its name, which stays as it is: the knob says whether it is on.

interface SwitchProps {
  label: string;
  on: boolean;
  /** Whether it is not as it was first. */
  isChanged?: boolean;
  onChange: (on: boolean) => void;
}

export function Switch({ label, on, isChanged = false, onChange }: SwitchProps) {
  return (
    <button
      type="button"
      role="switch"
      class={`vt-toggle ${isChanged ? "vt-of-you" : ""}`}
      aria-checked={on}
      data-lm-suppress-shortcuts="true"
      onClick={() => onChange(!on)}
    >
      {label}
    </button>
  );
}
