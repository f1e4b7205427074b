// A few choices side by side, of which one holds.

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
        <button
          type="button"
          key={name}
          aria-pressed={each === value}
          data-lm-suppress-shortcuts="true"
          onClick={() => onChoose(each)}
        >
          {name}
        </button>
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
