// The curtain: what follows an unanswered question, up to the next heading, stays out of sight until it is
// answered. It is drawn over the cells of a notebook and of a page alike, by a class; without scripts nothing
// is hidden.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const CELLS = ".jp-Cell, .cell";
const HEADINGS = "h1, h2, h3, h4";
const TEXT = ".jp-RenderedMarkdown, .text_cell_render";
const PICTURES = ".vt-root:not(.vt-prediction), [data-view], .jp-RenderedImage, .output_png";
const HIDDEN = "vt-curtained";
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

/** The curtain below a question; says what waits behind it. */
export function useCurtain(card: RefObject<Element | null>, isClosed: boolean) {
  const hidden = useRef<Element[]>([]);
  const [waiting, setWaiting] = useState({ cells: 0, pictures: 0 });
  function close(): void {
    hidden.current = following(card.current!);
    for (const each of hidden.current) each.classList.add(HIDDEN);
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
    return () => {
      document.removeEventListener(OPENED, close);
      for (const each of hidden.current) each.classList.remove(HIDDEN);
      document.dispatchEvent(new Event(OPENED));
    };
  }, [isClosed]);
  return waiting;
}

/** What waits behind the curtain, in a sentence; empty if nothing does. */
export function waitingText(cells: number, pictures: number): string {
  if (pictures === 1) return "A picture waits behind this curtain until you answer.";
  if (pictures) return `${pictures} pictures wait behind this curtain until you answer.`;
  return cells ? "The text below waits behind this curtain until you answer." : "";
}
