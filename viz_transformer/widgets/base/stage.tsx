// The five zones of every view, each in its place: header, heads, stage, inspector and timeline.
//
// A zone that a view does not need is absent, never moved.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Model } from "./kernel.ts";
import { isPresented, togglePresented } from "./present.ts";
import { CopyCode } from "./python_code.tsx";
import type { Piece } from "./text.ts";

// Pixels of a view that has its inspector as a sheet from below.
const [NARROW, NARROW_WITH_TIMELINE] = [900, 1100];
const SIZES = [0.8, 1, 1.25, 1.5, 1.75, 2, 2.5]; // of text
const SMALLEST = 0.7; // of a headline's size

interface StageProps {
  /** The sentence, as chips. */
  header: ComponentChildren;
  heads?: ComponentChildren;
  /** Whether they stand beside a narrow stage too: a strip above it has no room for many layers. */
  headsBeside?: boolean;
  /** A sentence computed from what is shown; it says what is, and never why. */
  headline: ComponentChildren;
  /** One line more. */
  line?: ComponentChildren;
  /** What is set at the stage's top. */
  controls?: ComponentChildren;
  /** Where in the whole this is, one line above the headline: a breadcrumb, a map. */
  trail?: ComponentChildren;
  inspector?: ComponentChildren;
  timeline?: ComponentChildren;
  /** The picture. */
  children: ComponentChildren;
  about: string;
  /** The view's own: an inspector says how it is made. */
  model: Pick<Model, "get">;
  /** What can be set besides, behind the button ⋯. */
  options?: ComponentChildren;
  width: number;
  height: number;
  textSize: number;
  setTextSize: (size: number) => void;
}

/** The zones of a view. */
export function Stage(props: StageProps) {
  const zones = useRef<HTMLDivElement>(null);
  const headline = useRef<HTMLParagraphElement>(null);
  const chips = useRef<HTMLDivElement>(null);
  const handle = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    fitLine(headline.current!);
    fitChips(chips.current!);
  });
  const [open, setOpen] = useState(false);
  const large = Math.max(1, props.textSize); // letters make a view as narrow as its width does
  const isNarrow = props.width / large < (props.timeline ? NARROW_WITH_TIMELINE : NARROW);
  return (
    <div
      class="vt-zones"
      ref={zones}
      style={{ "--vt-height": `${props.height}px`, "--vt-text-size": String(props.textSize) }}
      data-sheet={open ? "open" : "closed"}
      data-inspector={isNarrow ? "sheet" : "side"}
      data-heads={props.headsBeside ? "beside" : "strip"}
    >
      <header class="vt-header vt-beside">
        <div class="vt-chips vt-beside" ref={chips}>
          {props.header}
        </div>
        <Menu
          {...props}
          isPresented={isPresented(zones.current)}
          present={() => {
            togglePresented(zones.current!);
            zones.current?.querySelector<HTMLElement>(".vt-track")?.focus(); // for a presenter's keys
          }}
        />
      </header>
      {props.heads && <nav class="vt-heads">{props.heads}</nav>}
      <div class="vt-stage">
        <div class="vt-told vt-beside">
          {props.trail && <div class="vt-trail vt-beside">{props.trail}</div>}
          <p class="vt-headline" aria-live="polite" ref={headline}>
            {props.headline}
          </p>
          {props.line && <p class="vt-line">{props.line}</p>}
          {props.controls && <div class="vt-controls vt-beside">{props.controls}</div>}
        </div>
        <div class="vt-picture">{props.children}</div>
      </div>
      {props.inspector && (
        <aside
          class="vt-inspector"
          onKeyDown={(event) => {
            if (event.key !== "Escape" || !isNarrow || !open) return;
            event.stopPropagation(); // what is presented stays so
            setOpen(false);
            handle.current?.focus();
          }}
        >
          <button
            type="button"
            class="vt-sheet-handle"
            ref={handle}
            aria-expanded={open}
            onClick={() => setOpen((was) => !was)}
          >
            {open ? "▾" : "▴"} Numbers
          </button>
          <div class="vt-sheet">
            {props.inspector}
            <CopyCode model={props.model} />
          </div>
        </aside>
      )}
      {props.timeline && <footer class="vt-timeline vt-beside">{props.timeline}</footer>}
    </div>
  );
}

/** Keep a line from becoming two where smaller letters do: what is below must not move under the pointer. */
function fitLine(node: HTMLElement): void {
  Object.assign(node.style, { fontSize: "", lineHeight: "", whiteSpace: "nowrap" });
  const share = node.clientWidth / node.scrollWidth;
  const { fontSize, lineHeight } = getComputedStyle(node);
  const isFitted = share < 1 && share >= SMALLEST;
  const size = Math.floor(10 * Number.parseFloat(fontSize) * share) / 10; // both widths are rounded
  const fitted = { fontSize: `${size}px`, lineHeight };
  Object.assign(node.style, { fontSize: "", lineHeight: "", whiteSpace: "" }, isFitted ? fitted : {});
}

/** Chips that take several rows are lower ones, so that the picture keeps its room. */
function fitChips(node: HTMLElement): void {
  delete node.dataset.rows;
  const [first, ...others] = Array.from(node.querySelectorAll<HTMLElement>(".vt-chip"));
  const end = first ? first.offsetTop + first.offsetHeight : 0;
  if (others.some((chip) => chip.offsetTop >= end)) node.dataset.rows = "several";
}

interface MenuProps {
  about: string;
  options?: ComponentChildren;
  textSize?: number;
  /** Absent where another view sets it. */
  setTextSize?: (size: number) => void;
  isPresented: boolean;
  present: () => void;
}

/** Help, text size, presenting and options, at the header's right end. */
export function Menu(props: MenuProps) {
  const { about, options, textSize = 1, setTextSize, present } = props;
  const help = useRef<HTMLDivElement>(null);
  const more = useRef<HTMLDivElement>(null);
  const next = SIZES.find((size) => size > textSize + 0.01) ?? 1; // from the largest back to the usual
  return (
    <div class="vt-menu vt-beside">
      <button
        type="button"
        class="vt-ask"
        aria-label="What am I looking at?"
        title="What am I looking at?"
        onClick={() => help.current?.togglePopover()}
      >
        ?
      </button>
      {setTextSize && (
        <button
          type="button"
          aria-label={`Text size ${textSize}; next ${next}`}
          title="Larger text"
          onClick={() => setTextSize(next)}
        >
          A
        </button>
      )}
      <button type="button" class="vt-present" onClick={present}>
        {props.isPresented ? "Stop presenting" : "Present"}
      </button>
      {options && (
        <button
          type="button"
          aria-label="Options"
          title="Options"
          onClick={() => more.current?.togglePopover()}
        >
          ⋯
        </button>
      )}
      <div class="vt-help" popover="auto" ref={help}>
        {about}
      </div>
      {options && (
        <div class="vt-help vt-options" popover="auto" ref={more}>
          {options}
        </div>
      )}
    </div>
  );
}

/** A sentence whose words have the colours of their roles. */
export function Pieces({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map((piece, at) =>
        typeof piece === "string" ? (
          piece
        ) : (
          <bdi class={`vt-of-${piece.role}`} key={`${at}`}>
            {piece.word}
          </bdi>
        ),
      )}
    </>
  );
}
