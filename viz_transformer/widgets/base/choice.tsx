// A menu with its name.

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
