// The curtain: what follows an unanswered question, up to the next heading, stays out of sight until it is
// answered. It is drawn over the cells of a notebook and of a page alike, by a class; without scripts nothing
// is hidden. In a notebook the code stays, to be read and run, and only what it shows is hidden.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const CELLS = ".jp-Cell, .cell";
const HEADINGS = "h1, h2, h3, h4";
const TEXT = ".jp-RenderedMarkdown, .text_cell_render";
const PICTURES =
  ".vt-root:not(.vt-prediction, .vt-exercise-form), .vt-instead svg, .jp-RenderedImage, .output_png";
const HIDDEN = "vt-curtained";
/** Where a cell of a notebook shows what its code made. */
const OUTPUTS = ".jp-Cell-outputWrapper";
/** An event of the document: a curtain was opened, which may have hidden what lies behind another as well. */
const OPENED = "vt-curtain-opened";

/** What follows a cell up to the next heading: whole cells, and the text above a heading in the last. */
function following(card: Element): Element[] {
  const cell = card.closest(CELLS);
  const all = [...(cell?.closest(".jp-Notebook, main")?.querySelectorAll(CELLS) ?? [])];
  const found: Element[] = [];
  for (const each of cell ? all.slice(all.indexOf(cell) + 1) : []) {
    const parts = [...(each.querySelector(TEXT)?.children ?? [])];
    const heading = parts.findIndex((part) => part.matches(HEADINGS));
    if (heading >= 0) return [...found, ...parts.slice(0, heading)];
    found.push(each);
  }
  return found;
}

/** The line in place of a cell's hidden outputs, with a button that shows them all. */
function noteIn(outputs: Element, show: () => void): Element {
  const note = document.createElement("p");
  note.className = "vt-prediction-note";
  const button = document.createElement("button");
  Object.assign(button, { type: "button", textContent: "show anyway", onclick: show });
  button.dataset.lmSuppressShortcuts = "true"; // its keys are no commands of the notebook
  note.append("Predict first · ", button);
  outputs.append(note);
  return note;
}

/** The curtain below a question, which `show` opens; says what waits behind it. */
export function useCurtain(card: RefObject<Element | null>, isClosed: boolean, show: () => void) {
  const hidden = useRef<Element[]>([]);
  const notes = useRef(new Map<Element, Element>());
  const [waiting, setWaiting] = useState({ cells: 0, pictures: 0 });
  function close(): void {
    hidden.current = following(card.current!);
    for (const each of hidden.current) {
      each.classList.add(HIDDEN);
      const outputs = each.querySelector(OUTPUTS);
      if (outputs && !outputs.querySelector(":scope > .vt-prediction-note"))
        notes.current.set(outputs, noteIn(outputs, show));
    }
    const cells = hidden.current.length;
    const pictures = hidden.current.filter((each) => each.querySelector(PICTURES)).length;
    setWaiting((was) => (was.cells === cells && was.pictures === pictures ? was : { cells, pictures }));
  }
  useLayoutEffect(() => {
    if (isClosed) close(); // with what has come since the last frame
  });
  useLayoutEffect(() => {
    if (!isClosed) return;
    document.addEventListener(OPENED, close);
    // A long notebook brings cells into the page when they come into sight.
    const cells = card.current!.closest(CELLS)?.parentElement;
    const watch = new MutationObserver(close);
    if (cells) watch.observe(cells, { childList: true });
    return () => {
      document.removeEventListener(OPENED, close);
      watch.disconnect();
      for (const each of hidden.current) each.classList.remove(HIDDEN);
      for (const note of notes.current.values()) note.remove();
      notes.current.clear();
      document.dispatchEvent(new Event(OPENED));
    };
  }, [isClosed]);
  return waiting;
}

/** What waits behind the curtain, in a sentence; empty if nothing does. */
export function waitingText(cells: number, pictures: number): string {
  if (pictures === 1) return "A picture is hidden until you answer.";
  if (pictures) return `${pictures} pictures are hidden until you answer.`;
  return cells ? "The text below is hidden until you answer." : "";
}
