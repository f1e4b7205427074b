// The sentence in the header: its words as chips, and a pencil that makes a field of them.

import { useEffect, useRef, useState } from "preact/hooks";
import { markMeaning, visible } from "./js/text.js";

interface ChipsProps {
  label: string;
  tokens: readonly string[];
  /** Whether they are read (keys) or written (queries). */
  kind: "key" | "query";
  chosen: number | null;
  onChoose?: (index: number) => void;
  /** How many of them are there by now. */
  there?: number;
}

/** Words as chips; a click chooses one, and the arrow keys go from one to the next. */
export function Chips({ label, tokens, kind, chosen, onChoose, there = tokens.length }: ChipsProps) {
  const at = Math.min(tokens.length - 1, Math.max(0, chosen ?? 0));
  return (
    <span
      class="vt-chip-row"
      role="group"
      aria-label={label}
      onKeyDown={(event) => {
        const chips = Array.from(event.currentTarget.querySelectorAll("button"));
        const now = chips.indexOf(event.target as HTMLButtonElement);
        const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: chips.length - 1 }[event.key];
        if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        chips[Math.min(chips.length - 1, Math.max(0, to))]?.focus();
      }}
    >
      {tokens.map((token, index) => (
        <button
          type="button"
          class={`vt-chip vt-of-${kind} ${index < there ? "" : "vt-to-come"}`}
          key={`${index} ${token}`}
          tabIndex={index === at ? 0 : -1}
          aria-pressed={index === chosen}
          title={markMeaning(token) ?? visible(token)}
          data-lm-suppress-shortcuts="true"
          onClick={() => onChoose?.(index)}
        >
          <bdi>{visible(token)}</bdi>
        </button>
      ))}
    </span>
  );
}

interface FieldProps {
  /** What the model has read. */
  text: string;
  /** Why the newest text could not be read, or nothing. */
  problem: string;
  onRead: (text: string) => void;
  /** Called when another text is being typed. */
  onInput?: () => void;
}

/** A pencil; a click on it shows the field for another sentence. */
export function SentenceField({ text, problem, onRead, onInput }: FieldProps) {
  const [open, setOpen] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (open) field.current?.select();
  }, [open]);
  return (
    <>
      <button
        type="button"
        class="vt-pencil"
        aria-label="Another sentence"
        title="Another sentence"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        ✎
      </button>
      {open && (
        <input
          ref={field}
          class="vt-sentence"
          type="text"
          aria-label="Sentence"
          spellcheck={false}
          autocomplete="off"
          data-lm-suppress-shortcuts="true"
          defaultValue={text}
          onInput={onInput}
          onKeyDown={(event) => {
            if (event.key === "Escape") setOpen(false);
            else if (event.key === "Enter" && !event.isComposing) onRead(event.currentTarget.value);
            else return event.stopPropagation();
            event.preventDefault();
            event.stopPropagation();
          }}
        />
      )}
      {problem && (
        <p class="vt-problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}
