// Columns of words joined by arcs: the queries and keys of one head, or all kinds of attention, linked.
//
// An arc is as wide and as dark as its weight. What is chosen has its path dark and the rest pale.

import { ARROWS } from "../base/keys.ts";
import { drawText, fitCanvas, roundBox } from "../base/canvas.ts";
import { colourOf, textColourOn, weightColour } from "../base/colour.ts";
import { element } from "../base/elements.ts";
import { moveCell } from "../base/heatmap.ts";
import { addCanvasListeners } from "../base/interactive_canvas.ts";
import { pulse } from "../base/motion.ts";
import { elide, formatWeight, isUnchanged, percent, visible } from "../base/text.ts";
import { isMany, pathsOf } from "./attention_paths.ts";
import { onRoomKey, pin, pinOfKind, togglePin, togglePlace, toggleToken } from "./choose.ts";
import {
  type Arc,
  arcAt,
  arcInView,
  type ColumnsLayout,
  columnsLayout,
  curveOf,
  drawDots,
  scrollTo,
  strokeCurve,
  thickness,
  tokenAt,
  tokensInView,
} from "./columns.ts";
import type { DisplayedHead } from "./displayed_head.ts";
import { movePlace, pinOf, type Place } from "./linked_columns.ts";
import type { Mark, Marks } from "./passage.ts";
import { addRoomCanvas, type Mount, type Picture, type Room, type StageTheme } from "./room.ts";
import type { Picked } from "./selection.ts";
import type { Snapshot } from "./snapshot.ts";

const LABEL = "Words and who attends to whom: the arrow keys choose query and key";
const SLIM = 100; // a column whose words get all of its width
const TITLE = 26; // above the columns
const insetOf = (width: number) => (width < SLIM ? 6 : 9); // of a word in its box
const [LARGE, USUAL, SMALL] = [18, 15, 12.5]; // a word; at the usual width 20, 17 and 14 pixels
const PALE = 0.13; // where on the scale of weights the arcs are that are not chosen

type Paths = ReturnType<typeof pathsOf>;

export const columnsPicture: Mount = (room, node) => new ColumnsPicture(room, node);

class ColumnsPicture implements Picture {
  #room;
  #titles;
  #scroller;
  #scrolled;
  #canvas;
  #flow = pulse();
  #layout: Layout | null = null;
  #arcs: DrawnArc[] = [];
  #links: Snapshot["links"] = [];
  #lastPinned = "";
  #lastFocus = "";
  close;
  marks: Marks;

  constructor(room: Room, node: HTMLElement) {
    this.#room = room;
    this.#titles = element(node, "div", "vt-columns", { "aria-hidden": "true" });
    this.#scroller = element(node, "div", "vt-scroll");
    this.#scrolled = element(this.#scroller, "div", "vt-scrolled"); // as high as all words; the canvas stays in view
    this.#canvas = addRoomCanvas(room, this.#scrolled, LABEL);
    this.close = this.#canvas.close;
    const { canvas, view } = this.#canvas;
    this.marks = { on: canvas, of: (shown, query, key) => this.#markOf(shown, query, key) };
    addCanvasListeners<Place | Arc>(view, canvas, {
      scale: () => room.theme.scale,
      hitTest: (x, y) => this.#hitTest(x, y),
      onPoint: (hit) => room.setState({ hover: hit && this.#cellOf(hit) }),
      onClick: (hit) => this.#onClick(hit),
      onKey: (event) => this.#onKey(event),
    });
    view.listen(this.#scroller, "scroll", view.redraw);
  }

  /** How far the words are scrolled. */
  get #top(): number {
    return this.#scroller.scrollTop / this.#room.theme.scale;
  }

  #hitTest(x: number, y: number): Place | Arc | null {
    if (!this.#layout) return null;
    const below = y + this.#top;
    return tokenAt(this.#layout, x, below) ?? arcAt(this.#layout, this.#arcs, x, below);
  }

  /** The arc of a weight, if it is in view; one that is not drawn thins out on its way to where it would be. */
  #markOf({ name, limit }: DisplayedHead, query: number, key: number): Mark | null {
    const at = this.#links.findIndex((link) => link.shown.name === name);
    if (!this.#layout || at < 0) return null;
    const [left, right] = this.#links[at].flip ? [key, query] : [query, key];
    const top = this.#top;
    const arc = this.#arcs.findLast((each) => each.at === at && each.left === left && each.right === right);
    const place = arc ?? { at, left, right, value: 0 };
    if (!arcInView(this.#layout, top, place)) return null;
    const [x0, y0, x1, y1, x2, y2, x3, y3] = curveOf(this.#layout, place);
    const drawn: [number, number] = arc
      ? [thickness(arc.value, this.#layout), shadeOfArc(arc, limit)]
      : [0, 0];
    return [x0, y0 - top, x1, y1 - top, x2, y2 - top, x3, y3 - top, ...drawn];
  }

  /** The cell of an arc, or of a word. */
  #cellOf(hit: Place | Arc): Picked {
    const { linked, links, chosen } = this.#room.snapshot();
    if ("index" in hit) {
      if (linked) return pinOf(linked, hit);
      return hit.column ? { query: null, key: hit.index } : { query: hit.index, key: null };
    }
    const [query, key] = links[hit.at].flip ? [hit.right, hit.left] : [hit.left, hit.right];
    return { kind: linked ? linked.links[hit.at].kind : chosen.kind, query, key };
  }

  #onClick(hit: Place | Arc): void {
    const room = this.#room;
    if ("index" in hit) toggleToken(room, hit);
    else if (room.snapshot().linked) pinOfKind(room, this.#cellOf(hit) as Picked & { kind: string });
    else togglePin(room, this.#cellOf(hit));
  }

  #onKey(event: KeyboardEvent): boolean {
    const room = this.#room;
    if (onRoomKey(room, event, true)) return true;
    if (!ARROWS.includes(event.key) || !this.#layout) return false;
    const { shown, pinned, linked, placesFor } = room.snapshot();
    const [place] = placesFor(pinned);
    if (!linked) pin(room, moveCell(pinned, shown.rows, shown.cols, event.key));
    else togglePlace(room, movePlace(this.#layout.counts, place, event.key) ?? place);
    return true;
  }

  #layOut({ names }: Snapshot, titles: string[], width: number, height: number): Layout {
    const { memo, theme } = this.#room;
    const measure = theme.measure;
    return memo("columns", [...names, titles.join(), width, height], () => {
      const longest = names.map((each, at) =>
        Math.max(
          measure(titles[at], SMALL, false) - 60, // it may stand over the gap
          ...each.map((name: string) => measure(visible(name), LARGE, true)),
        ),
      );
      const counts = names.map((each) => each.length);
      const layout = columnsLayout(counts, longest, { width, height });
      return { ...layout, size: wordSize(names, layout, measure) };
    });
  }

  #showTitles(texts: string[], { xs, widths }: Layout): void {
    const { memo, theme } = this.#room;
    memo("titles", [this.#titles, texts.join(), xs.join()], () => {
      this.#titles.replaceChildren();
      texts.forEach((text, at) => {
        const title = element(this.#titles, "span");
        title.textContent = text;
        title.style.left = `${xs[at] * theme.scale}px`;
        title.style.maxWidth = `${((xs[at + 1] ?? xs[at] + widths[at] + 8) - xs[at] - 8) * theme.scale}px`;
      });
    });
  }

  /** Bring what has just been pinned into view. */
  #reveal({ placesFor, pinned }: Snapshot, layout: Layout): void {
    const places = placesFor(pinned);
    const now = JSON.stringify([places, layout.shown]);
    if (now === this.#lastPinned) return;
    this.#lastPinned = now;
    const { scale } = this.#room.theme;
    for (const { index } of places) this.#scroller.scrollTop = scrollTo(layout, this.#top, index) * scale;
  }

  draw(snapshot: Snapshot, box: { width: number; height: number }): void {
    const { links, lit, linked, placesFor, pinned, shown } = snapshot;
    const room = this.#room;
    const { scale } = room.theme;
    const { canvas } = this.#canvas;
    const titles = linked ? linked.columns.map((one) => one.title) : ["query", "key"];
    const layout = this.#layOut(snapshot, titles, box.width / scale - 4, box.height / scale - TITLE);
    this.#layout = layout;
    this.#titles.style.height = `${TITLE * scale}px`;
    const context = fitCanvas(canvas, layout.width, layout.shown, scale);
    const drawn = `${Math.ceil(parseFloat(canvas.style.height))}px`;
    this.#scroller.style.height = drawn;
    this.#scrolled.style.height = layout.height > layout.shown ? `${layout.height * scale}px` : drawn;
    this.#showTitles(titles, layout);
    this.#reveal(snapshot, layout);
    const places = placesFor(lit);
    const focus = places[0] ?? null;
    const focusNow = JSON.stringify([focus, links.map((link) => link.shown.name)]);
    if (focusNow !== this.#lastFocus) this.#flow.start();
    this.#lastFocus = focusNow;
    const moved = links.map((link) => ({ ...link, shown: room.moving(link.shown) }));
    const paths = pathsIn(snapshot, moved, layout, this.#top, focus, room);
    const others = focus ? pathsIn(snapshot, moved, layout, this.#top, null, room) : paths;
    const arcs = drawnArcs(paths, focus ? others : null, moved, places);
    [this.#arcs, this.#links] = [arcs, links];
    const flow = this.#flow;
    const isMoving = moved.some((link, at) => link.shown !== links[at].shown);
    const told = isMoving && focus ? pathsIn(snapshot, links, layout, this.#top, focus, room, "told") : paths;
    const parts = { snapshot, links: moved, paths, told, arcs, focus, places, flow };
    drawColumns(context, layout, this.#top, parts, room);
    if (flow.isMoving()) room.frame.redraw();
    room.lines = focus ? [] : paths.lines;
    const { rows, cols } = shown;
    this.#canvas.announce({ rows, cols, row: pinned.query, col: pinned.key, text: snapshot.told() });
  }
}

/** An arc, and whether it is not what is chosen. */
type DrawnArc = Arc & { isPale: boolean };

/** The places of the words, and the size of their letters. */
type Layout = ColumnsLayout & { size: number };

/** The paths from a focus, or without one the strongest lines, of many those of the rows in view. */
function pathsIn(
  { names, options }: Snapshot,
  links: { shown: DisplayedHead; flip: boolean }[],
  layout: Layout,
  top: number,
  focus: Place | null,
  { memo }: Room,
  slot = focus ? "paths" : "lines",
): Paths {
  const inView =
    links.some((link) => isMany(link.shown)) && !focus
      ? tokensInView(layout, top, Math.max(...layout.counts))
      : undefined;
  const shownNames = links.map((link) => link.shown.name).join();
  const at = [shownNames, focus?.column, focus?.index, options.threshold, inView?.join()];
  return memo(slot, at, () =>
    pathsOf(
      links,
      names.map((each) => each.length),
      focus,
      options.threshold,
      inView,
    ),
  );
}

function arcsOf({ lines }: Paths, links: { flip: boolean }[]): Arc[] {
  return lines.flatMap((each, at) =>
    Array.from({ length: each?.count ?? 0 }, (_, i) => {
      const { row, col, value } = each!;
      const [left, right] = links[at].flip ? [col[i], row[i]] : [row[i], col[i]];
      return { at, left, right, value: value[i] };
    }),
  );
}

interface Drawn {
  snapshot: Snapshot;
  links: { shown: DisplayedHead; flip: boolean }[];
  paths: Paths;
  /** The paths of the numbers, which do not move. */
  told: Paths;
  arcs: DrawnArc[];
  focus: Place | null;
  places: Place[];
  flow: ReturnType<typeof pulse>;
}

const hasPlace = (places: Place[], column: number, index: number) =>
  places.some((one) => one.column === column && one.index === index);

/** Draw the words and their arcs, as far as they are in view: `top` is scrolled away. */
function drawColumns(
  context: CanvasRenderingContext2D,
  layout: Layout,
  top: number,
  drawn: Drawn,
  room: Room,
): void {
  const { theme } = room;
  const { snapshot, arcs, focus } = drawn;
  context.translate(0, -top);
  const { limit } = snapshot.shown;
  const stops = limit === null ? theme.stops : theme.signedStops;
  for (const arc of arcs) {
    if (!arcInView(layout, top, arc)) continue;
    const colour = `rgb(${colourOf(shadeOfArc(arc, limit), stops)})`;
    strokeCurve(context, curveOf(layout, arc), colour, thickness(arc.value, layout));
  }
  if (focus && drawn.flow.isMoving())
    for (const arc of arcs.filter(({ isPale }) => !isPale))
      drawDots(context, curveOf(layout, arc), drawn.flow.share(), {
        colour: theme.roles.paper,
        radius: Math.max(1, thickness(arc.value, layout) / 4),
        isTurned: !drawn.links[arc.at].flip, // keys stand left where the link is turned
      });
  snapshot.names.forEach((_, at) => {
    drawColumn(context, layout, top, at, drawn, room);
  });
}

/** The arcs in the order in which they are drawn: the pale ones first, and the strongest of each above the others. */
function drawnArcs(
  paths: Paths,
  others: Paths | null,
  links: { flip: boolean }[],
  places: Place[],
): DrawnArc[] {
  const chosen = places.length > 1 ? arcOfCell(places) : null;
  const isChosen = (arc: Arc) =>
    !chosen || (arc.at === chosen.at && arc.left === chosen.left && arc.right === chosen.right);
  const inOrder = (of: Paths, isPale: (arc: Arc) => boolean) =>
    arcsOf(of, links)
      .map((arc) => ({ ...arc, isPale: isPale(arc) }))
      .sort((a, b) => Math.abs(a.value) - Math.abs(b.value));
  return [...(others ? inOrder(others, () => true) : []), ...inOrder(paths, (arc) => !isChosen(arc))];
}

function shadeOfArc({ value, isPale }: DrawnArc, limit: number | null): number {
  if (limit === null) return isPale ? PALE * Math.abs(value) + 0.04 : value;
  const strength = 0.5 * Math.min(1, Math.abs(value)) * (isPale ? 0.3 : 1);
  return value < 0 ? 0.5 - strength : 0.5 + strength;
}

function arcOfCell([one, other]: Place[]): Omit<Arc, "value"> {
  const [left, right] = one!.column < other!.column ? [one!, other!] : [other!, one!];
  return { at: left.column, left: left.index, right: right.index };
}

/** The words of a column, each with how strongly the paths reach it. */
function drawColumn(
  context: CanvasRenderingContext2D,
  layout: Layout,
  top: number,
  at: number,
  drawn: Drawn,
  room: Room,
) {
  const { snapshot, links, paths, told, focus, places } = drawn;
  const { names, placesFor, pinned, found, shown, linked, lit } = snapshot;
  const { theme } = room;
  const { roles } = theme;
  const { xs, widths, pitch, box } = layout;
  const reach = focus?.column === at ? null : paths.reach[at];
  const isKey = linked ? linked.columns[at].axis === "key" : at === 1;
  const written = linked
    ? linked.columns[at].kind !== "encoder" && !(linked.columns[at].kind === "cross" && isKey)
    : false;
  const role = (linked ? written : !isKey) ? roles.query : roles.key;
  const isAsking = (index: number) => lit.query !== null && focus?.column === at && focus.index === index;
  // A difference reaches one step far, and each kind has its own scale.
  const own = reach && shown.limit !== null ? links[Math.min(at, focus!.column)].shown : null;
  const limit = own?.limit ?? null;
  const pins = placesFor(pinned);
  const isClosed = closedIn(drawn, at);
  const isBold = (index: number) => hasPlace(pins, at, index) || hasPlace(places, at, index);
  const inset = insetOf(widths[at]);
  const besideNumber = (number: string) =>
    widths[at] - 2 * inset - (number ? theme.measure(number, SMALL, false) + 8 : 0);
  const fits = (index: number, size: number, number: string) =>
    theme.measure(visible(names[at][index]), size, isBold(index)) <= besideNumber(number);
  const [start, end] = tokensInView(layout, top, names[at].length);
  for (let index = start; index < end; index++) {
    const [x, y, middle] = [xs[at], (index + 0.5) * pitch - box / 2, (index + 0.5) * pitch];
    const isPinned = hasPlace(pins, at, index);
    const weight = reach?.[index] ?? 0;
    const digits = numberIn((reach && told.reach[at]?.[index]) ?? 0, limit, own?.entry.least);
    const rgb = isSeen(weight, limit) ? weightColour(weight, limit, theme) : null;
    context.fillStyle = rgb ? `rgb(${rgb})` : roles.raised;
    roundBox(context, [x + 1, y, widths[at] - 2, box], 6);
    context.fill();
    context.lineWidth = isPinned ? 2.2 : 1;
    context.strokeStyle = isPinned ? roles.ink : roles.line;
    if (isPinned || !rgb) context.stroke();
    if (isClosed(index)) hatch(context, roles.line);
    const bold = isBold(index);
    // Rather a word without its number, which the inspector has, than a part of it.
    const number = fits(index, SMALL, digits) ? digits : "";
    const size = fits(index, layout.size, number) ? layout.size : SMALL;
    const width = besideNumber(number);
    const text = elide(visible(names[at][index]), width, (part: string) => theme.measure(part, size, bold));
    const colour = rgb
      ? textColourOn(rgb)
      : isClosed(index)
        ? roles.muted
        : isAsking(index)
          ? roles.query
          : role;
    drawText(context, text, x + inset, middle, {
      font: `${bold ? 700 : 400} ${size}px ${theme.family}`,
      colour,
      marked: found[at]?.[index] ? colour : false,
    });
    if (number)
      drawText(context, number, x + widths[at] - inset, middle, {
        font: `${SMALL}px ${theme.family}`,
        colour,
        align: "right",
      });
  }
}

/** The largest size of letters at which each word has its share beside it, or else stands whole. */
function wordSize(
  names: string[][],
  { widths, pitch }: ColumnsLayout,
  measure: NonNullable<StageTheme["measure"]>,
): number {
  const sizes = pitch >= 34 ? [LARGE, USUAL, SMALL] : pitch >= 24 ? [USUAL, SMALL] : [SMALL];
  const beside = measure("88%", SMALL, false) + 8;
  const fit = (size: number, room: number) =>
    names.every((words, at) =>
      words.every(
        (word) => measure(visible(word), size, false) <= widths[at] - 2 * insetOf(widths[at]) - room,
      ),
    );
  return sizes.find((size) => fit(size, beside)) ?? (pitch >= 24 && fit(USUAL, 0) ? USUAL : SMALL);
}

/** Whether a path reaches a word more than hardly. */
const isSeen = (weight: number, limit: number | null) => Math.abs(weight) >= 0.005 * (limit ?? 1);

/** How strongly a path reaches a word, as its box says it. */
function numberIn(weight: number, limit: number | null, least?: number): string {
  if (!isSeen(weight, limit)) return "";
  if (limit === null) return percent(Math.min(1, weight));
  return isUnchanged(weight, limit) ? "" : formatWeight(weight, limit, least);
}

/** Which words of a column the mask closes to the query that is lit: those that are not written yet. */
function closedIn({ links, focus, snapshot }: Drawn, at: number): (index: number) => boolean {
  const link = links[at - 1];
  if (!link || link.flip || focus?.column !== at - 1) return () => false;
  const { masked, cols } = link.shown;
  const start = focus.index * cols;
  return (index) => snapshot.lit.query !== null && Boolean(masked?.[start + index]);
}

/** Slanted lines over the box that was drawn last. */
function hatch(context: CanvasRenderingContext2D, colour: string): void {
  const { width, height } = context.canvas;
  context.save();
  context.clip();
  context.beginPath();
  for (let x = -height; x < width; x += 7) {
    context.moveTo(x, height);
    context.lineTo(x + height, 0);
  }
  [context.strokeStyle, context.lineWidth] = [colour, 1.2];
  context.stroke();
  context.restore();
}
