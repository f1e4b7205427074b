// The sentence in the header: its words as chips, and a pencil that makes a field of them.

import { consume, hasModifier } from "./keys.ts";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, Choice } from "./controls.tsx";
import type { Settable } from "./prose_links.ts";
import { markMeaning, shortened, visible } from "./text.ts";

const LETTERS = 40; // of a sentence in another

interface ChipsProps {
  label: string;
  tokens: readonly string[];
  /** Whether they are read (keys) or written (queries). */
  kind: "key" | "query";
  chosen: number | null;
  /** Whether the chosen one is the query of an attention, also where all are read. */
  isQuery?: boolean;
  onChoose?: (index: number) => void;
  /** How many of them are there by now. */
  there?: number;
}

/** Words as chips; a click chooses one, and the arrow keys go from one to the next. */
export function Chips({
  label,
  tokens,
  kind,
  chosen,
  isQuery = false,
  onChoose,
  there = tokens.length,
}: ChipsProps) {
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
        if (to === undefined || hasModifier(event)) return;
        consume(event);
        chips[Math.min(chips.length - 1, Math.max(0, to))]?.focus();
      }}
    >
      {tokens.map((token, index) => (
        <Button
          class={`vt-chip vt-of-${isQuery && index === chosen ? "query" : kind} ${index < there ? "" : "vt-to-come"}`}
          key={`${index} ${token}`}
          tabIndex={index === at ? 0 : -1}
          aria-pressed={index === chosen}
          title={markMeaning(token) ?? visible(token)}
          onClick={() => onChoose?.(index)}
        >
          <bdi>{visible(token)}</bdi>
        </Button>
      ))}
    </span>
  );
}

/** Why a text cannot be read, and what to read instead: what a button says, and the text that it types. */
export interface Problem {
  text: string;
  suggestions: [string, string][];
}

/** A view that can have the view inside it show another sentence. */
export interface Editor {
  label: string;
  /** What it is, in a few sentences. */
  about: string;
  /** The sentence that is shown. */
  text: () => string;
  /** Has a text read and shown; what is wrong with it, or null. */
  read: (text: string) => Promise<Problem | null>;
}

interface Settled extends HTMLElement {
  vtSettable?: Settable;
}

/** On its root, so that the bundle of the view inside finds it. */
interface Root extends HTMLElement {
  vtEditor?: Editor;
}

export function setEditor(root: Root, editor: Editor): void {
  root.dataset.editor = "";
  root.vtEditor = editor;
}

/** The editor of the view around a node, if there is one. */
export const editorAround = (node: Element): Editor | null =>
  node.closest<Root>("[data-editor]")?.vtEditor ?? null;

/** The field of the editor around a view; nothing where there is none. */
export function FieldAround() {
  const place = useRef<HTMLSpanElement>(null);
  const [editor, setEditor] = useState<Editor | null>(null);
  useLayoutEffect(() => setEditor(editorAround(place.current!)), []);
  return editor ? <EditorField editor={editor} /> : <span ref={place} hidden />;
}

/** The field of an editor, with what is wrong and what to type instead. */
export function EditorField({ editor }: { editor: Editor }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const shown = editor.text();
  useEffect(() => setProblem(null), [shown]);
  return (
    <SentenceField
      label={editor.label}
      text={shown}
      problem={problem?.text}
      suggestions={problem?.suggestions}
      onRead={(text) => editor.read(text).then(setProblem)}
    />
  );
}

/** The sentences that the model of the view around, or of one around that, offers to be tried; nothing without them. */
function Offers({ text, onChoose }: { text: string; onChoose: (text: string) => void }) {
  const place = useRef<HTMLSpanElement>(null);
  const [offers, setOffers] = useState<string[]>([]);
  useLayoutEffect(() => {
    let root = place.current!.closest<Settled>(".vt-root");
    for (; root; root = root.parentElement?.closest<Settled>(".vt-root") ?? null) {
      const found: string[] = root.vtSettable?.model.get("engine")?.offers ?? [];
      if (found.length) return setOffers([...new Set(found)]);
    }
  }, []);
  const others = offers.filter((each) => each !== text);
  if (!others.length) return <span ref={place} hidden />;
  const options = others.map((each) => [each, each] as const);
  return (
    <Choice
      isBare
      label="Sentences to try"
      options={[["", "to try …"], ...options]}
      value=""
      onChoose={(chosen) => chosen && onChoose(chosen)}
    />
  );
}

interface FieldProps {
  label?: string;
  /** What the model has read. */
  text: string;
  /** Why the newest text could not be read, or nothing. */
  problem?: string;
  suggestions?: Problem["suggestions"];
  onRead: (text: string) => void;
  /** Called when another text is being typed. */
  onInput?: () => void;
}

/** A pencil; a click on it shows the field for another sentence, which closes when that is shown. */
export function SentenceField(props: FieldProps) {
  const { label = "Sentence", text, problem, suggestions = [], onRead, onInput } = props;
  const [open, setOpen] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const pencil = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (open) field.current?.select();
  }, [open]);
  const entered = useRef(false);
  const close = () => {
    if (field.current?.matches(":focus")) pencil.current?.focus();
    setOpen(false);
  };
  useLayoutEffect(() => {
    // What is being typed stays.
    if (entered.current || !field.current?.matches(":focus")) close();
  }, [text]);
  const read = (typed: string) => {
    entered.current = true;
    onRead(typed);
    if (typed === text) close();
  };
  const type = (typed: string) => {
    if (field.current) field.current.value = typed;
    field.current?.focus();
    read(typed);
  };
  return (
    <>
      <button
        ref={pencil}
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
          aria-label={label}
          placeholder="type a sentence and press Enter"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          enterkeyhint="go"
          data-lm-suppress-shortcuts="true"
          defaultValue={text}
          onInput={() => {
            entered.current = false;
            onInput?.();
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape") close();
            else if (event.key === "Enter" && !event.isComposing) read(event.currentTarget.value);
            else return event.stopPropagation();
            consume(event);
          }}
        />
      )}
      {open && problem && (
        <p class="vt-problem" role="alert">
          {/[.!?]$/.test(problem) ? problem : `${problem}.`} The picture still shows{" "}
          <i>{shortened(text, LETTERS)}</i>.
        </p>
      )}
      {open && !problem && <Offers text={text} onChoose={type} />}
      {(open ? suggestions : []).map(([said, typed]) => (
        <button type="button" class="vt-suggested" key={said} onClick={() => type(typed)}>
          {said}
        </button>
      ))}
    </>
  );
}
