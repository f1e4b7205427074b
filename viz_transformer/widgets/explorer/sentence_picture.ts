// The sentence and its translation, one below the other: an arc over the words that are read shows where the
// encoder looks, lines between the two rows show where the decoder looks while it writes.

import { ARROWS } from "../base/keys.ts";
import { drawText, fitCanvas, roundBox } from "../base/canvas.ts";
import { colourOf, textColourOn, weightColour } from "../base/colour.ts";
import { ownNumbers } from "../base/head_grid.ts";
import { addCanvasListeners } from "../base/interactive_canvas.ts";
import { pulse } from "../base/motion.ts";
import { elide, percent, visible } from "../base/text.ts";
import { onRoomKey, pinOfKind } from "./choose.ts";
import { type Curve, curveAt, drawDots, pointOf, strokeCurve } from "./columns.ts";
import type { DisplayedHead } from "./displayed_head.ts";
import type { Mark, Marks } from "./passage.ts";
import { wordsRead } from "./readout.ts";
import { addRoomCanvas, type Mount, type Picture, type Room } from "./room.ts";
import { replacedWord, type Snapshot } from "./snapshot.ts";

const LABEL = "The sentence and its translation: the arrow keys go from word to word";
/** Sizes of words, the room on each side of one and between two; the first with which all fit. */
const SIZES: [font: number, padding: number, gap: number][] = [
  ...[24, 20, 17, 14, 12].map((font): [number, number, number] => [font, 16, 14]),
  [14, 8, 6],
  [12, 6, 4],
];
/** The height of a chip, at most and as a share of the picture's; of letters, as a share of the chip's. */
const [CHIP, CHIP_SHARE, LETTERS] = [46, 0.22, 0.55];
const [BETWEEN_ROWS, NARROW_GAP] = [36, 4]; // at least, for a weight beside its line
const MARGIN = 8; // of what is cut to its chip
const [SOURCE, TARGET] = [0.5, 0.86]; // where the rows stand, as shares of the height
const THICKEST = 16;
const FORMER = 15; // letters of the word that was written before
const [FAINT, STRONG] = [0.15, 0.03]; // weights below are not drawn: of all words, of the chosen one

interface Word {
  kind: "encoder" | "cross";
  index: number;
  x: number;
  y: number;
  width: number;
  height: number;
  text: string;
}

interface Line {
  curve: Curve;
  value: number;
  isChosen: boolean;
  kind: "encoder" | "cross";
  query: number;
  key: number;
}

interface Layout {
  words: Word[];
  lines: Line[];
  font: number;
  width: number;
  height: number;
}

export const sentencePicture: Mount = (room, node) => new SentencePicture(room, node);

class SentencePicture implements Picture {
  #room;
  #canvas;
  #layout: Layout | null = null;
  #flow = pulse(700);
  #lastFocus = "";
  #names: string[] = [];
  close;
  marks: Marks;

  constructor(room: Room, node: HTMLElement) {
    this.#room = room;
    this.#canvas = addRoomCanvas(room, node, LABEL);
    this.close = this.#canvas.close;
    const { canvas, view } = this.#canvas;
    this.marks = { on: canvas, of: (shown, query, key) => this.#markOf(shown, query, key) };
    addCanvasListeners<{ kind: string; query: number | null; key: number | null }>(view, canvas, {
      scale: () => room.theme.scale,
      hitTest: (x, y) => this.#cellAt(x, y),
      onPoint: (hover) => room.setState({ hover }),
      onClick: (cell) => pinOfKind(room, cell),
      onKey: (event) => this.#onKey(event),
    });
  }

  #cellAt(x: number, y: number) {
    if (!this.#layout) return null;
    const { words, lines } = this.#layout;
    const word = words.find(
      (each) => Math.abs(x - each.x) <= each.width / 2 && Math.abs(y - each.y) <= each.height / 2,
    );
    if (word) return { kind: word.kind, query: word.index, key: null };
    return curveAt(lines, x, y);
  }

  /** The line of a weight; one that is not drawn thins out on its way to where it would be. */
  #markOf({ name, entry: { kind } }: DisplayedHead, query: number, key: number): Mark | null {
    if (!this.#layout || !this.#names.includes(name)) return null;
    const { words, lines } = this.#layout;
    const line = lines.find((each) => each.kind === kind && each.query === query && each.key === key);
    if (line) return [...line.curve, thickness(line.value), shadeOfLine(line)];
    const wordAt = (of: Word["kind"], index: number) =>
      words.find((word) => word.kind === of && word.index === index)!;
    const [from, to] = [wordAt("encoder", key), wordAt(kind === "cross" ? "cross" : "encoder", query)];
    return [...(kind === "cross" ? between(from, to) : over(from, to)), 0, 0];
  }

  #onKey(event: KeyboardEvent): boolean {
    const room = this.#room;
    if (onRoomKey(room, event, true)) return true;
    if (!ARROWS.includes(event.key)) return false;
    const { lit, pictureOf } = room.snapshot();
    const down = { ArrowUp: "encoder", ArrowDown: "cross" }[event.key];
    const kind = down ?? (lit.kind === "encoder" ? "encoder" : "cross");
    const count = pictureOf(kind).rows;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    pinOfKind(room, { kind, query: Math.min(count - 1, Math.max(0, (lit.query ?? 0) + step)), key: null });
    return true;
  }

  draw(snapshot: Snapshot, box: { width: number; height: number }): void {
    const room = this.#room;
    const { theme } = room;
    const moving = { ...snapshot, pictureOf: (kind: string) => room.moving(snapshot.pictureOf(kind)) };
    const layout = layOut(moving, box.width / theme.scale, box.height / theme.scale, theme.measure);
    this.#layout = layout;
    this.#names = ["encoder", "cross"].map((kind) => snapshot.pictureOf(kind).name);
    const focus = layout.lines
      .flatMap((line) => (line.isChosen ? [line.kind, line.query, line.key] : []))
      .join();
    if (focus !== this.#lastFocus) this.#flow.start();
    this.#lastFocus = focus;
    const context = fitCanvas(this.#canvas.canvas, layout.width, layout.height, theme.scale);
    for (const line of layout.lines) {
      const colour = `rgb(${colourOf(shadeOfLine(line), theme.stops)})`;
      strokeCurve(context, line.curve, colour, thickness(line.value));
    }
    if (this.#flow.isMoving()) {
      for (const { curve, value } of layout.lines.filter(({ isChosen }) => isChosen))
        drawDots(context, curve, this.#flow.share(), {
          colour: theme.roles.paper,
          radius: Math.max(1.2, thickness(value) / 4),
        });
      room.frame.redraw();
    }
    for (const word of layout.words) drawWord(context, word, layout, snapshot, room);
    for (const kind of ["encoder", "cross"] as const) drawShare(context, kind, layout, snapshot, room);
    const { shown, pinned } = snapshot;
    const text = snapshot.told();
    this.#canvas.announce({ rows: shown.rows, cols: shown.cols, row: pinned.query, col: pinned.key, text });
  }
}

/** Which written word and which read one are chosen; the read one is that which the written one looks at most. */
function chosenWords({ lit, pictureOf }: Snapshot) {
  if (lit.kind === "encoder") return { target: null, source: lit.query ?? lit.key };
  const cross = pictureOf("cross");
  const [strongest] = wordsRead(cross, { query: lit.query, key: null }, 1).keys;
  return {
    target: lit.query,
    source: lit.kind === "cross" && lit.key !== null ? lit.key : (strongest ?? null),
  };
}

function layOut(
  snapshot: Snapshot,
  width: number,
  height: number,
  measure: NonNullable<Room["theme"]["measure"]>,
): Layout {
  const [cross, encoder] = [snapshot.pictureOf("cross"), snapshot.pictureOf("encoder")];
  const names = { encoder: encoder.queries.map(visible), cross: cross.queries.map(visible) };
  const widthOf = (texts: string[], [size, around, between]: (typeof SIZES)[number]) =>
    texts.reduce((sum, text) => sum + measure(text, size, true) + 2 * around + between, -between);
  const fits = (size: (typeof SIZES)[number]) =>
    [names.encoder, names.cross].every((texts) => widthOf(texts, size) <= width - 8);
  const chip = Math.min(CHIP, CHIP_SHARE * height);
  const size = SIZES.find((each) => each[0] <= LETTERS * chip && fits(each)) ?? SIZES.at(-1)!;
  const [font, padding, gap] = size;
  const below = snapshot.change ? FORMER + 8 : 3;
  const target = Math.min(TARGET * height, height - chip / 2 - below);
  const source = Math.min(SOURCE * height, target - chip - BETWEEN_ROWS);
  const row = (kind: "encoder" | "cross", y: number): Word[] => {
    const texts = names[kind];
    // Both rows are spread over the same width, so that a word stands above its translation.
    const spare = (width - 8 - widthOf(texts, size)) / Math.max(1, texts.length);
    const slot = (width - 8) / Math.max(1, texts.length);
    let x = 4;
    return texts.map((text, index) => {
      const wanted = measure(text, font, true) + 2 * padding;
      // Of too many words each gets the same room, and the longer ones end in “…”.
      const own = spare < 0 ? Math.min(wanted, slot - NARROW_GAP) : wanted;
      const taken = spare < 0 ? slot : wanted + gap + spare;
      const middle = spare < 0 ? slot / 2 : (spare + wanted) / 2;
      const word = { kind, index, text, width: own, height: chip, x: x + middle, y };
      x += taken;
      return word;
    });
  };
  const [read, written] = [row("encoder", source), row("cross", target)];
  return { words: [...read, ...written], lines: linesOf(snapshot, read, written), font, width, height };
}

function linesOf(snapshot: Snapshot, read: Word[], written: Word[]): Line[] {
  const { pictureOf, lit, options } = snapshot;
  const { target, source } = chosenWords(snapshot);
  const [cross, encoder] = [pictureOf("cross"), pictureOf("encoder")];
  const lines: Line[] = [];
  const add = ({ isChosen, ...line }: Line) => {
    const { kind, key, value } = line;
    if (value < Math.max(options.threshold, isChosen ? STRONG : FAINT)) return;
    const isOther = lit.query !== null && lit.key !== null && lit.kind === kind && lit.key !== key;
    lines.push({ ...line, isChosen: isChosen && !isOther });
  };
  if (cross.weights)
    for (const to of written)
      for (const from of read)
        add({
          ...{ kind: "cross", query: to.index, key: from.index, isChosen: to.index === target },
          ...{ value: cross.weights[to.index * cross.cols + from.index], curve: between(from, to) },
        });
  if (encoder.weights && source !== null)
    for (const from of read)
      if (from.index !== source)
        add({
          ...{ kind: "encoder", query: source, key: from.index, isChosen: true },
          ...{ value: encoder.weights[source * encoder.cols + from.index], curve: over(from, read[source]) },
        });
  return lines.sort((a, b) => Number(a.isChosen) - Number(b.isChosen) || a.value - b.value);
}

/** A curve from a read word down to a written one. */
function between(from: Word, to: Word): Curve {
  const [start, end] = [from.y + from.height / 2, to.y - to.height / 2];
  const middle = (start + end) / 2;
  return [from.x, start, from.x, middle, to.x, middle, to.x, end];
}

/** An arc over the words, the higher the farther they are apart. */
function over(from: Word, to: Word): Curve {
  const y = from.y - from.height / 2;
  const top = y - Math.min(y - 32, 40 + 0.3 * Math.abs(from.x - to.x)) * 1.33;
  return [from.x, y, from.x, top, to.x, top, to.x, y];
}

const thickness = (value: number) => Math.max(1.5, value * THICKEST);
const shadeOfLine = ({ value, isChosen }: Line) => (isChosen ? value : 0.13 * value + 0.04);

function drawWord(
  context: CanvasRenderingContext2D,
  word: Word,
  layout: Layout,
  snapshot: Snapshot,
  room: Room,
): void {
  const { theme } = room;
  const { roles } = theme;
  const { target, source } = chosenWords(snapshot);
  const isChosen = word.index === (word.kind === "cross" ? target : source);
  const isAsking = isChosen && snapshot.lit.kind === "encoder" && snapshot.lit.query !== null;
  const isRead = word.kind === "encoder" && !isAsking;
  context.fillStyle = isRead ? roles["key-tint"] : roles["query-tint"];
  const { x, y, width, height } = word;
  roundBox(context, [x - width / 2, y - height / 2, width, height], height / 2);
  context.fill();
  if (isChosen) {
    [context.strokeStyle, context.lineWidth] = [roles.ink, 2.2];
    context.stroke();
  }
  const measure = (text: string) => theme.measure(text, layout.font, isChosen);
  drawText(context, elide(word.text, width - Math.min(MARGIN, width / 8), measure), x, y, {
    font: `${isChosen ? 700 : 400} ${layout.font}px ${theme.family}`,
    colour: isRead ? roles.key : roles.query,
    align: "center",
  });
  drawChange(context, word, snapshot, room);
}

/** A line under a word that has changed, and below a written one the word that was there before. */
function drawChange(
  context: CanvasRenderingContext2D,
  { kind, index, x, y, width, height }: Word,
  { written, change }: Snapshot,
  { theme }: Room,
): void {
  const former = kind === "cross" ? replacedWord(written, change, index) : null;
  if (former === null && !(kind === "encoder" && change?.at === index)) return;
  const long = Math.max(12, width - height);
  context.fillStyle = theme.roles.you;
  context.fillRect(x - long / 2, y + height / 2 - 7, long, 4);
  if (former === null) return;
  const [text, middle] = [
    elide(visible(former), width, (each) => theme.measure(each, FORMER, false)),
    y + height / 2 + FORMER,
  ];
  drawText(context, text, x, middle, {
    font: `${FORMER}px ${theme.family}`,
    colour: theme.roles.muted,
    align: "center",
  });
  context.fillStyle = theme.roles.muted;
  const struck = theme.measure(text, FORMER, false);
  context.fillRect(x - struck / 2 - 2, middle, struck + 4, 1.5);
}

/** The share of the strongest chosen line of a kind beside it, and whose it is. */
function drawShare(
  context: CanvasRenderingContext2D,
  kind: "encoder" | "cross",
  { lines, words, width: most }: Layout,
  { chosenOf, entries, pictureOf }: Snapshot,
  { theme }: Room,
): void {
  const line = lines.filter((each) => each.isChosen && each.kind === kind).at(-1);
  if (!line) return;
  const { weights, cols } = pictureOf(kind);
  const weight = weights![line.query * cols + line.key]; // not one on its way to it
  const { layer, head } = chosenOf(kind);
  const name = `${kind} head ${ownNumbers(entries.get(kind)!, layer, head).join("·")}`;
  const [x, y] = pointOf(line.curve, 0.5);
  const rgb = weightColour(weight, null, theme);
  const text = percent(weight);
  const width = theme.measure(text, 14, true) + 16;
  const isBeside = kind === "cross"; // of the line, which its name must not cross
  const beside = isBeside ? x + thickness(line.value) / 2 + 6 : x - width / 2;
  const left = Math.max(2, Math.min(beside, most - width - 2));
  context.fillStyle = `rgb(${rgb})`;
  roundBox(context, [left, y - 13, width, 26], 6);
  context.fill();
  [context.strokeStyle, context.lineWidth] = [theme.roles.paper, 2];
  context.stroke();
  drawText(context, text, left + width / 2, y, {
    font: `700 14px ${theme.family}`,
    colour: textColourOn(rgb),
    align: "center",
  });
  const long = theme.measure(name, 12, false);
  const [centred, below] = [left + width / 2 - long / 2, y + 30];
  const [start, , , , , , end] = line.curve;
  const isInside = // the arc, which it must not cross
    Math.abs(end - start) > 2.2 * long &&
    words.every(({ y: middle, height }) => Math.abs(below - middle) > height / 2 + 9);
  const [nameX, nameY] = isBeside ? [left + width + 8, y] : [centred, isInside ? below : y - 24];
  if (nameX < 0 || nameX + long > most || nameY < 8) return; // the inspector has it too
  drawText(context, name, nameX, nameY, {
    font: `12px ${theme.family}`,
    colour: theme.roles.muted,
    behind: theme.roles.paper,
  });
}
