// The timeline: the named steps of a story, a knob to drag along them, and a button that plays them.

import { indexAfterKey } from "./keys.ts";
import { useEffect, useRef, useState } from "preact/hooks";

const STEP_MS = 1100; // of playing

interface TimelineProps {
  /** What a screen reader calls it. */
  label: string;
  /** The names of the steps, in their order. */
  steps: readonly string[];
  /** The step that is shown; null before the first is chosen. */
  at: number | null;
  onStep: (step: number) => void;
  /** The class of the names: `vt-of-query` where they are written words. */
  kind?: string;
  /** How long each step is shown while it plays. */
  ms?: number;
}

/** Stepping and playing: what the buttons and what is dragged have in common. */
export function usePlayer({ at, last, onStep, ms = STEP_MS }: PlayerProps) {
  const [playing, setPlaying] = useState(false);
  const newest = useRef({ at, onStep }); // two keys may come in one frame
  newest.current = { at, onStep };

  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      const { at: shown, onStep: step } = newest.current;
      if (shown >= last) setPlaying(false);
      else step(shown + 1);
    }, ms);
    return () => clearInterval(timer);
  }, [playing, last, ms]);

  const go = (step: number) => {
    setPlaying(false);
    const wanted = Math.min(last, Math.max(0, step));
    if (wanted === newest.current.at) return;
    // A button that goes off would drop the keyboard.
    const held = document.activeElement?.closest(".vt-play");
    if (held && (wanted === 0 || wanted === last))
      held.parentElement?.querySelector<HTMLElement>("[role='slider']")?.focus({ preventScroll: true });
    newest.current.at = wanted;
    onStep(wanted);
  };
  const play = () => {
    if (!playing && at >= last) onStep(0);
    setPlaying(!playing);
  };
  const buttons = <Buttons {...{ at, last, playing, play }} go={(by) => go(newest.current.at + by)} />;
  return { newest, go, buttons };
}

interface PlayerProps {
  at: number;
  last: number;
  onStep: (step: number) => void;
  ms?: number;
}

/** Steps from left to right, in the timeline's zone. */
export function Timeline({ label, steps, at, onStep, kind = "", ms }: TimelineProps) {
  const track = useRef<HTMLDivElement>(null);
  const last = steps.length - 1;
  const now = at ?? -1;
  const { newest, go, buttons } = usePlayer({ at: now, last, onStep, ms });
  const stepAt = (x: number) => {
    const box = track.current?.getBoundingClientRect();
    return box ? Math.round(((x - box.left) / box.width) * steps.length - 0.5) : 0;
  };
  return (
    <>
      {buttons}
      <div
        ref={track}
        class="vt-track"
        style={{ "--n-steps": steps.length, "--passed": now / Math.max(1, last) }}
        role="slider"
        tabIndex={0}
        data-lm-suppress-shortcuts="true"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={Math.max(0, now)}
        aria-valuetext={at === null ? "none chosen" : `${steps[at]}, ${at + 1} of ${steps.length}`}
        onKeyDown={(event) => {
          const step = indexAfterKey(event, Math.max(0, newest.current.at), steps.length);
          if (step === null) return;
          event.preventDefault();
          go(step);
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          go(stepAt(event.clientX));
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) go(stepAt(event.clientX));
        }}
      >
        {steps.map((name, step) => (
          <span
            class={`vt-step ${kind}`}
            key={`${step} ${name}`}
            data-state={step === now ? "now" : step < now ? "past" : "ahead"}
          >
            <span class="vt-step-title">{name}</span>
          </span>
        ))}
      </div>
    </>
  );
}

interface ButtonsProps {
  at: number;
  last: number;
  playing: boolean;
  go: (by: number) => void;
  play: () => void;
}

function Buttons({ at, last, playing, go, play }: ButtonsProps) {
  return (
    <span class="vt-play">
      <button type="button" aria-label="Back" disabled={at <= 0} onClick={() => go(-1)}>
        ◀
      </button>
      <button type="button" class="vt-play-button" aria-label={playing ? "Pause" : "Play"} onClick={play}>
        {playing ? "❚❚" : "▶"}
      </button>
      <button type="button" aria-label="Forward" disabled={at >= last} onClick={() => go(1)}>
        ▶
      </button>
    </span>
  );
}
