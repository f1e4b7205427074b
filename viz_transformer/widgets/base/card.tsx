// A card: a question in a text, what it is answered with, and what is said of the answer.

import type { ComponentChildren } from "preact";

interface FieldProps {
  label: string;
  value: string;
  /** How many letters wide it is. */
  size: number;
  placeholder?: string;
  maxlength?: number;
  isWrong?: boolean;
  onInput: (text: string) => void;
  /** Enter was pressed; with Shift, Ctrl or Cmd it runs the notebook's cell. */
  onEnter: () => void;
}

/** A field for a number. */
export function NumberField({ label, isWrong = false, onInput, onEnter, ...rest }: FieldProps) {
  return (
    <input
      type="text"
      aria-label={label}
      aria-invalid={isWrong}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      data-lm-suppress-shortcuts="true"
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        const isPlain = !(event.isComposing || event.shiftKey || event.ctrlKey || event.metaKey);
        if (event.key === "Enter" && isPlain) onEnter();
      }}
      {...rest}
    />
  );
}

/** Why what was typed is no answer, beside where it was typed. */
export function Problem({ children }: { children: ComponentChildren }) {
  return (
    <p class="vt-problem" role="alert">
      {children}
    </p>
  );
}

interface VerdictProps {
  /** A word or two, after ✓ or ✗ unless it is neither. */
  verdict: string;
  message: string;
  children?: ComponentChildren;
}

/** What is said of an answer. */
export function Verdict({ verdict, message, children }: VerdictProps) {
  return (
    <div class="vt-verdict" data-mark={verdict[0]}>
      <p>
        <b>{verdict}</b> {message}
      </p>
      {children}
    </div>
  );
}
