// The frame of every view: its root element, its theme, redraws on change, and its removal.

import { zoomOf } from "./canvas.ts";
import { addChoices } from "./choices.ts";
import { backgroundBehind, isDark, readTheme, type Theme, watchTheme } from "./colour.ts";
import { element } from "./elements.ts";
import { addFrames } from "./frames.ts";
import { forwardCellKeys, showNewCell } from "./jupyterlab.ts";
import type { Model } from "./kernel.ts";
import { followProse } from "./prose_links.ts";
import { showWaits } from "./waits.ts";

const FONT = 14; // pixels of the text at a `text_size` of 1
/** An event of a view's root: it has been laid out for paper. */
export const ON_PAPER = "vt-paper";
const PAPER = 690; // pixels between the margins of A4 and of Letter, upright

// biome-ignore lint/suspicious/noExplicitAny: an event of any kind, as its listener knows
export type Listen = (target: EventTarget, type: string, handler: (event: any) => void) => void;

export interface View {
  root: HTMLElement;
  /** Asks for a frame. */
  redraw: () => void;
  /** Sets traits, and sends them to Python. */
  set: (change: Record<string, unknown>) => void;
  listen: Listen;
  /** To be called by what render() returns. */
  close: () => void;
}

interface Parts {
  model: Model;
  el: HTMLElement;
  name: string;
  label: string;
  traits: string[];
  draw: (frame: { theme: Theme; width: number; size: number }) => void;
  /** What a change by a word in the prose means besides. */
  whole?: (change: Record<string, unknown>) => Record<string, unknown>;
}

/**
 * Create a view inside `el`; render() returns a function that calls `close`.
 *
 * A change (of a trait in `traits`, the theme, the width) asks for a frame, and one call of
 * `draw({ theme, width, size })` draws everything; `size` is the trait `text_size`, which the root's
 * font already follows. `root.dataset.vtDrawn` counts the frames drawn.
 */
export function createView({ model, el, name, label, traits, draw, whole }: Parts): View {
  const root = element(el, "div", `vt-root vt-staged vt-${name}`, { role: "group", "aria-label": label });
  const stops = [forwardCellKeys(root), showWaits(root, model)];
  const choices = addChoices(model);
  let theme: Theme | null = null;
  let [drawn, width, onPaper] = [0, 0, false];

  function drawFrame() {
    if (!width) return; // not on the page, or hidden: the observer asks again
    theme ??= pageTheme(root);
    const frame = { theme, width, size: model.get("text_size") ?? 1 };
    root.style.fontSize = `${FONT * frame.size}px`;
    draw(frame);
    if (onPaper) fillPaper(root, () => draw(frame));
    if (!drawn) {
      prose.mark();
      stops.push(showNewCell(root));
      const outer = outermost(root);
      if (outer) around.observe(outer);
    }
    root.dataset.vtDrawn = String(++drawn);
  }

  const forget = () => {
    theme = null; // all of it is drawn in the next frame, nothing from memory
  };

  /** Paper is narrower than most screens, light, and nothing can be scrolled on it. */
  function onPrint(printing: boolean) {
    onPaper = printing;
    forget();
    if (!printing) fitPaper(root, false);
    width = widthFor(root, printing);
  }

  const { request: redraw, close: stopFrames } = addFrames(root, drawFrame, { onEmptied: forget, onPrint });
  stops.push(stopFrames);

  const listen: Listen = (target, type, handler) => {
    target.addEventListener(type, handler);
    stops.push(() => target.removeEventListener(type, handler));
  };

  function set(change: Record<string, unknown>) {
    redraw(); // before the choice asks for the frame after which it is sent
    choices.set(change);
  }

  const prose = followProse(root, { model, set, whole }, traits);
  stops.push(prose.close);

  for (const trait of traits) {
    model.on(`change:${trait}`, redraw);
    stops.push(() => model.off(`change:${trait}`, redraw));
  }
  stops.push(
    watchTheme(() => {
      forget();
      redraw();
    }),
  );
  listen(globalThis, "resize", redraw); // a view is no higher than the window
  // It reports the width, so that no frame has to measure it; the height follows from what is drawn.
  const observer = new ResizeObserver((sizes) => {
    const newest = sizes[sizes.length - 1].contentRect.width;
    if (newest === width) return;
    width = newest;
    redraw();
  });
  observer.observe(root);
  const around = new ResizeObserver(redraw); // another view, which may leave less room than it did

  function close() {
    choices.close();
    observer.disconnect();
    around.disconnect();
    for (const stop of stops) stop();
    root.remove();
  }

  return { root, redraw, set, listen, close };
}

/** Give a view the width of paper, or its own again; returns the pixels inside it. */
function widthFor(root: HTMLElement, printing: boolean) {
  root.toggleAttribute("data-paper", printing);
  root.style.width = printing ? `${Math.min(PAPER, root.offsetWidth)}px` : "";
  const { paddingLeft, paddingRight } = getComputedStyle(root);
  return root.clientWidth && root.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
}

/** Draw again what has been laid out for paper, once its pictures know their rooms: no observer reports in time. */
function fillPaper(root: HTMLElement, draw: () => void) {
  root.dispatchEvent(new Event(ON_PAPER));
  draw();
  fitPaper(root, true);
}

const BARS = 121; // pixels of JupyterLab's own bars, and the most that other notebooks have
const FRAMED = 721; // pixels: an exported page in a frame has views of 600

/**
 * How high a view may be, in pixels, so that it is seen whole; inside another view, with what that
 * has around it. What a prediction reveals need not share a screen with the question.
 */
export function heightInSight(root: HTMLElement) {
  const outer = root.closest<HTMLElement>(".vt-presenting") ?? outermost(root, ":not(.vt-prediction)");
  return (heightOfWindow() - (outer ? roomAround(root, outer) : BARS)) / zoomOf(root);
}

/** Pixels of the window. A frame that is as high as its page is none, and what is around it is not known. */
function heightOfWindow() {
  const isFramed = document.documentElement?.dataset?.framed === "" && !document.fullscreenElement;
  return isFramed ? FRAMED : globalThis.innerHeight;
}

/** The view around all others that a view stands in; null where it stands alone. */
function outermost(root: Element, which = ""): Element | null {
  const outer = root.parentElement?.closest(`.vt-root${which}`) ?? null;
  return outer && (outermost(outer, which) ?? outer);
}

function roomAround(root: HTMLElement, outer: Element) {
  const [view, whole] = [root.getBoundingClientRect(), outer.getBoundingClientRect()];
  if (!outer.matches(".vt-presenting")) return BARS + whole.height - view.height;
  if (outer === root) return 0;
  // It is as high as the screen itself, whatever stands in it.
  const beside = Array.from(outer.children).filter((child) => !child.contains(root));
  return beside.reduce((sum, child) => sum + child.getBoundingClientRect().height, 0);
}

/** The colours and fonts of the page, and a function that measures text in them. */
function pageTheme(root: HTMLDivElement) {
  delete root.dataset.theme;
  root.style.setProperty("--vt-behind", backgroundBehind(root)); // where the page names no colours
  root.dataset.theme = isDark(root) ? "dark" : "light"; // the style sheet's accents follow it
  return readTheme(root);
}

/** Make all that is scrolled sideways as narrow as its box, or as wide again as it was. */
export function fitPaper(root: HTMLElement, printing: boolean) {
  for (const part of root.querySelectorAll("[data-vt-printed]")) {
    part.removeAttribute("data-vt-printed");
    (part as HTMLElement).style.zoom = "";
  }
  if (!printing) return;
  const wide = Array.from(root.querySelectorAll("*")).filter(
    (box) => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto",
  );
  for (const box of wide) {
    const zoom = String(box.clientWidth / box.scrollWidth);
    for (const part of box.children as HTMLCollectionOf<HTMLElement>) {
      part.style.zoom = zoom;
      part.dataset.vtPrinted = "";
    }
  }
}
