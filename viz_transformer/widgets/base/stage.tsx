// The five zones of every view, each in its place: header, heads, stage, inspector and timeline.
//
// A zone that a view does not need is absent, never moved.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { nextTextSize } from "./js/text_size.js";

interface StageProps {
  /** The sentence, as chips. */
  header: ComponentChildren;
  heads?: ComponentChildren;
  /** A sentence computed from what is shown; it says what is, and never why. */
  headline: ComponentChildren;
  /** One line more. */
  line?: ComponentChildren;
  /** What is set at the stage's top. */
  controls?: ComponentChildren;
  inspector?: ComponentChildren;
  timeline?: ComponentChildren;
  /** The picture. */
  children: ComponentChildren;
  about: string;
  height: number;
  textSize: number;
  setTextSize: (size: number) => void;
}

/** The zones of a view. */
export function Stage(props: StageProps) {
  const zones = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  return (
    <div
      class="vt-zones"
      ref={zones}
      style={{ "--vt-height": `${props.height}px`, "--vt-text-size": String(props.textSize) }}
      data-sheet={open ? "open" : "closed"}
    >
      <header class="vt-header">
        <div class="vt-chips">{props.header}</div>
        <Menu {...props} present={() => present(zones.current)} />
      </header>
      {props.heads && <nav class="vt-heads">{props.heads}</nav>}
      <div class="vt-stage">
        <div class="vt-told">
          <p class="vt-headline" aria-live="polite">
            {props.headline}
          </p>
          {props.line && <p class="vt-line">{props.line}</p>}
          {props.controls && <div class="vt-controls">{props.controls}</div>}
        </div>
        <div class="vt-picture">{props.children}</div>
      </div>
      {props.inspector && (
        <aside class="vt-inspector">
          <button
            type="button"
            class="vt-sheet-handle"
            aria-expanded={open}
            onClick={() => setOpen((was) => !was)}
          >
            {open ? "▾" : "▴"} Numbers
          </button>
          <div class="vt-sheet">{props.inspector}</div>
        </aside>
      )}
      {props.timeline && <footer class="vt-timeline">{props.timeline}</footer>}
    </div>
  );
}

/** Help, text size and presenting, at the header's right end. */
function Menu({ about, textSize, setTextSize, present }: StageProps & { present: () => void }) {
  const help = useRef<HTMLDivElement>(null);
  const larger = nextTextSize(textSize, 1);
  const next = larger > textSize ? larger : 1; // from the largest back to the usual
  return (
    <div class="vt-menu">
      <button
        type="button"
        aria-label="What am I looking at?"
        title="What am I looking at?"
        onClick={() => help.current?.togglePopover()}
      >
        ?
      </button>
      <button
        type="button"
        aria-label={`Text size ${textSize}; next ${next}`}
        title="Larger text"
        onClick={() => setTextSize(next)}
      >
        A
      </button>
      <button type="button" class="vt-present" onClick={present}>
        Present
      </button>
      <div class="vt-help" popover="auto" ref={help}>
        {about}
      </div>
    </div>
  );
}

/** Show the view on the whole screen, or in the page again. */
function present(zones: HTMLElement | null): void {
  if (document.fullscreenElement) document.exitFullscreen();
  else zones?.requestFullscreen?.().catch(() => {}); // a host may forbid it
}
