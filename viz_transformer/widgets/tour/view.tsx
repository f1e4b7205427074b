// The tour: a caption above another view, and below it a timeline of the states that it leads through.
//
// It reads and sets the other view's traits through its model, which the widget manager of the notebook, or of an
// exported page, finds. So it steps without asking Python.

import { consume } from "../base/keys.ts";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { addChildView } from "../base/child_view.ts";
import { addChoices } from "../base/choices.ts";
import type { Model } from "../base/kernel.ts";
import { isPresented, togglePresented } from "../base/present.ts";
import { Menu } from "../base/stage.tsx";
import { type Frame, stageView } from "../base/stage_view.tsx";
import { Timeline } from "../base/timeline.tsx";
import {
  chapters,
  chosenState,
  differing,
  type Step,
  stateAt,
  stepOnKey,
  withChange,
  withoutStep,
  withStep,
} from "./steps.ts";
import type { Traits as Declared } from "./traits.ts";
import { Problem } from "../base/card.tsx";

const EMPTY = "No steps yet. Set the view below as you want to show it, then click Remember this state.";
const READING_MS = 5000; // how long a step is shown while the tour plays

type Traits = Omit<Declared, "steps"> & { steps: Step[] };

/** The view that is stepped through, drawn into `place`. */
class Inner {
  readonly #child: ReturnType<typeof addChildView>;
  #model: Model | null = null;
  #choices: ReturnType<typeof addChoices> | null = null;
  readonly #tour: Model;

  constructor(frame: Frame<Traits>, place: HTMLElement, onProblem: (text: string) => void) {
    this.#tour = frame.model;
    this.#child = addChildView(frame, frame.model.get("view"), place, (inner) => this.#addAnswers(inner));
    this.#child.opened.then(
      (model) => {
        this.#model = model;
        this.#choices = addChoices(model);
        frame.redraw();
      },
      (error) =>
        onProblem(`This tour’s view cannot be shown (${error.message ?? error}). Run its cell again.`),
    );
    frame.model.on("change:step", this.apply);
  }

  /** In a page: add the replies for the steps to those of the view itself. */
  #addAnswers(inner: Model): void {
    const answers = this.#tour.get("answers");
    if (answers) inner.set("answers", [...(inner.get("answers") ?? []), ...answers]);
  }

  /** What the view is, in a few sentences. */
  about = (): string => this.#model?.get("about") ?? "";

  state(): Step["state"] {
    return chosenState(this.#tour.get("names"), (name) => this.#model?.get(name));
  }

  /** Set it to the state of the step shown. */
  apply = (): void => {
    const [tour, model] = [this.#tour, this.#model];
    const [steps, step]: [Step[], number] = [tour.get("steps"), tour.get("step")];
    if (!steps[step] || !model) return;
    const state = stateAt(tour.get("start") ?? {}, steps, step); // no start: a page from before there was one
    const changes = differing(tour.get("names"), state, (name) => model.get(name));
    if (Object.keys(changes).length) this.#choices?.set(changes);
  };

  close(): void {
    this.#tour.off("change:step", this.apply);
    this.#choices?.close();
    this.#child.close();
  }
}

/** The view below, once it is drawn, and where that is. */
function useInner(frame: Frame<Traits>) {
  const [problem, setProblem] = useState("");
  const inner = useRef<Inner | null>(null);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const shown = new Inner(frame, place.current!, setProblem);
    inner.current = shown;
    // A caption of another height leaves the view another room.
    const observer = new ResizeObserver(() => globalThis.dispatchEvent(new Event("resize")));
    observer.observe(place.current!.parentElement!.firstElementChild!);
    return () => {
      observer.disconnect();
      shown.close();
    };
  }, [frame.model]);
  return { inner, place, problem };
}

function Tour(frame: Frame<Traits>) {
  const { traits, set, model } = frame;
  const { steps } = traits;
  const step = Math.min(traits.step, Math.max(0, steps.length - 1));
  const { inner, place, problem } = useInner(frame);
  const presented = isPresented(place.current);
  const canEdit = Boolean(model.send) && !presented; // in an exported page nothing could be saved
  const go = (to: number) => {
    if (to === model.get("step"))
      inner.current?.apply(); // at an end: the view as the step has it
    else set({ step: to });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    const to = stepOnKey(event.key, model.get("step"), model.get("steps").length);
    if (to !== null) go(to);
    else if (event.key === "Escape" && !presented) inner.current?.apply();
    else return;
    consume(event);
  };
  useKeysOfARemote(presented, place, onKey);
  return (
    <>
      <header class="vt-band vt-beside vt-tour-header">
        <Caption
          text={steps.length ? (steps[step]?.caption ?? "") : EMPTY}
          onInput={
            canEdit && steps.length
              ? (caption) => set((now) => ({ steps: withChange(now.steps, step, { caption }) }))
              : null
          }
        />
        <Edits
          frame={frame}
          canEdit={canEdit}
          presented={presented}
          state={() => inner.current?.state() ?? {}}
          about={`${frame.about} ${inner.current?.about() ?? ""}`}
        />
      </header>
      {problem && <Problem>{problem}</Problem>}
      <div class="vt-tour-view" ref={place} />
      {steps.length > 0 && (
        <footer class="vt-band vt-beside vt-timeline vt-tour-steps" onKeyDownCapture={onKey}>
          <Timeline label="Step of the tour" steps={chapters(steps)} at={step} onStep={go} ms={READING_MS} />
        </footer>
      )}
    </>
  );
}

/** The keyboard goes to the timeline of the tour that a node is in. */
function focusSteps(node: Element): void {
  node.closest(".vt-root")?.querySelector<HTMLElement>(".vt-tour-steps .vt-track")?.focus();
}

interface EditsProps {
  frame: Frame<Traits>;
  canEdit: boolean;
  presented: boolean;
  /** The state of the view below. */
  state: () => Step["state"];
  /** What the tour and the view below are. */
  about: string;
}

function Edits({ frame, canEdit, presented, state, about }: EditsProps) {
  const { set } = frame;
  const remember = (header: Element | null) => {
    const added = { caption: "", state: state() };
    set((now) => withStep(now.steps, now.step, added));
    requestAnimationFrame(() => requestAnimationFrame(() => header?.querySelector("textarea")?.focus()));
  };
  const replace = () => {
    const change = { state: state() };
    set((now) => ({ steps: withChange(now.steps, now.step, change) }));
  };
  const options = (
    <>
      <button type="button" onClick={replace}>
        Replace this step
      </button>
      <button type="button" onClick={() => set((now) => withoutStep(now.steps, now.step))}>
        Remove this step
      </button>
    </>
  );
  const menu = useRef<HTMLSpanElement>(null);
  return (
    <span class="vt-tour-edits" ref={menu}>
      {canEdit && (
        <button type="button" onClick={(event) => remember(event.currentTarget.closest("header"))}>
          Remember this state
        </button>
      )}
      <Menu
        about={about}
        options={canEdit && frame.traits.steps.length > 0 && options}
        isPresented={presented}
        present={() => {
          togglePresented(menu.current!);
          focusSteps(menu.current!);
        }}
      />
    </span>
  );
}

/** While the tour is presented, keys that nothing else on the screen handles step too. */
function useKeysOfARemote(
  presented: boolean,
  place: { current: HTMLElement | null },
  onKey: (event: KeyboardEvent) => void,
): void {
  const newest = useRef(onKey);
  newest.current = onKey;
  useEffect(() => {
    if (!presented) return;
    const root = place.current!.closest(".vt-root");
    const listener = (event: KeyboardEvent) => {
      if (event.target === document.body || event.target === root) newest.current(event);
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, [presented, place]);
}

interface CaptionProps {
  text: string;
  /** Called with what is written; null where nothing can be. */
  onInput: ((text: string) => void) | null;
}

/** The caption as text, or in a field where it can be written. */
function Caption({ text, onInput }: CaptionProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (!field.current) return;
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight + 2}px`;
  });
  if (!onInput)
    return (
      <p class="vt-tour-caption" aria-live="polite">
        {text}
      </p>
    );
  return (
    <textarea
      ref={field}
      class="vt-tour-caption"
      rows={1}
      placeholder="Write a caption"
      aria-label="Caption of this step"
      data-lm-suppress-shortcuts="true"
      value={text}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") focusSteps(event.currentTarget);
        event.stopPropagation();
      }}
    />
  );
}

export default stageView<Traits>({
  name: "tour",
  label: "Guided tour",
  traits: ["steps", "step"],
  draw: Tour,
});
