// The curtain: what follows an unanswered question, up to the next heading, stays out of sight until it is
// answered. It is drawn over the cells of a notebook and of a page alike, by a class; without scripts nothing
// is hidden.

const CELLS = ".jp-Cell, .cell";
const HEADINGS = "h1, h2, h3, h4";
const TEXT = ".jp-RenderedMarkdown, .text_cell_render";
const PICTURES = ".vt-root:not(.vt-prediction), [data-view], .jp-RenderedImage, .output_png";
const HIDDEN = "vt-curtained";
/** An event of the document: a curtain was opened, which may have hidden what lies behind another as well. */
const OPENED = "vt-curtain-opened";

export interface Curtain {
  /** Hides what follows; returns how many cells and how many pictures that are. */
  close: () => { cells: number; pictures: number };
  open: () => void;
  /** Opens it, and forgets it. */
  remove: () => void;
}

/** What follows a cell up to the next heading: whole cells, and the text above a heading in the last. */
function following(root: Element): Element[] {
  const cell = root.closest(CELLS);
  const all = [...(cell?.closest(".jp-Notebook, main")?.querySelectorAll(CELLS) ?? [])];
  const found: Element[] = [];
  for (const each of cell ? all.slice(all.indexOf(cell) + 1) : []) {
    const text = each.querySelector(TEXT);
    const parts = [...(text?.children ?? [])];
    const heading = parts.findIndex((part) => part.matches(HEADINGS));
    if (heading >= 0) return [...found, ...parts.slice(0, heading)];
    found.push(each);
  }
  return found;
}

/** The curtain below a question. */
export function addCurtain(root: Element): Curtain {
  let hidden: Element[] = [];
  let closed = false;

  function close() {
    closed = true;
    hidden = following(root);
    for (const each of hidden) each.classList.add(HIDDEN);
    const pictures = hidden.reduce(
      (sum, each) => sum + Math.min(1, each.querySelectorAll(PICTURES).length),
      0,
    );
    return { cells: hidden.length, pictures };
  }

  function open(): void {
    if (!closed) return;
    closed = false;
    for (const each of hidden) each.classList.remove(HIDDEN);
    document.dispatchEvent(new Event(OPENED));
  }

  const closeAgain = () => closed && close();
  document.addEventListener(OPENED, closeAgain);
  return {
    close,
    open,
    remove() {
      open();
      document.removeEventListener(OPENED, closeAgain);
    },
  };
}

/** What waits behind the curtain, in a sentence; empty if nothing does. */
export function waitingText(cells: number, pictures: number): string {
  if (pictures === 1) return "A picture waits behind this curtain until you answer.";
  if (pictures) return `${pictures} pictures wait behind this curtain until you answer.`;
  return cells ? "The text below waits behind this curtain until you answer." : "";
}
