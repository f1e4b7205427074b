// The weights of the chosen head as a matrix that fills the stage, with a window onto it when it is enlarged.

import { ARROWS } from "../base/keys.ts";
import { pixelRatio } from "../base/canvas.ts";
import { paintPlaceholder } from "../base/head_grid.ts";
import {
  cellAt,
  drawMatrix,
  type HeatmapLayout,
  matrixLayout,
  moveCell,
  offscreenCanvas,
  paintCells,
  reveal,
  WHOLE,
  type Window,
} from "../base/heatmap.ts";
import { addCanvasListeners, addZoom } from "../base/interactive_canvas.ts";
import { visible } from "../base/text.ts";
import { onRoomKey, pin, togglePin } from "./choose.ts";
import { scaled } from "./colour_scale.ts";
import type { DisplayedHead } from "./displayed_head.ts";
import { boxMark, type Mark, type Marks, shadeOf } from "./passage.ts";
import { wordsRead } from "./readout.ts";
import { addRoomCanvas, type Picture, type Room } from "./room.ts";
import type { Snapshot } from "./snapshot.ts";

const LABEL = "Weights of the chosen head: the arrow keys choose query and key, plus and minus zoom";
const LONGEST_LABEL = 40; // characters of a token that are measured
const LARGEST = 150; // of a cell: of few words the numbers would float in it
const STRETCH = 3; // times that a cell is wider than high, so that the matrix fills the stage
const LEAST_ROW = 13; // pixels of a row that has its own name
/** Words along a side: of more, the matrix can be enlarged. */
export const EASY = 16;
const FONT = 15; // the widest labels are written in

/** The matrix, in its place on the stage. */
export class MatrixPicture implements Picture {
  #room;
  #canvas;
  #zoom;
  #cells = offscreenCanvas();
  #layout: HeatmapLayout | undefined;
  #drawn: { name: string; weights: Float32Array | null } | null = null;
  #lastPinned = "";
  close;
  marks: Marks;

  constructor(room: Room, node: HTMLElement) {
    this.#room = room;
    this.#canvas = addRoomCanvas(room, node, LABEL);
    this.close = this.#canvas.close;
    const { canvas, view } = this.#canvas;
    this.marks = { on: canvas, of: (shown, query, key) => this.#markOf(shown, query, key) };
    const scale = () => room.theme.scale;
    this.#zoom = addZoom(view, canvas, {
      scale,
      layout: () => this.#layout,
      onMove: (window) => room.setState({ window }),
    });
    addCanvasListeners(view, canvas, {
      scale,
      hitTest: (x, y) => (this.#layout ? cellAt(this.#layout, x, y) : null),
      onPoint: (hover) => room.setState({ hover }),
      onClick: (cell) => {
        if (!this.#zoom.wasDragged()) togglePin(room, cell);
      },
      onKey: (event) => this.#onKey(event),
      onDrag: this.#zoom.onDrag,
    });
  }

  #onKey(event: KeyboardEvent): boolean {
    const room = this.#room;
    if (this.#zoom.onKey(event) || onRoomKey(room, event, true)) return true;
    if (!ARROWS.includes(event.key)) return false;
    const { shown, pinned } = room.snapshot();
    pin(room, moveCell(pinned, shown.rows, shown.cols, event.key));
    return true;
  }

  /** Enlarge, with the pinned cell in the window if there is one; 0 times shows the whole. */
  zoomBy(times: number): void {
    if (times) this.#zoom.zoomBy(times);
    else this.#room.setState({ window: WHOLE });
    this.#lastPinned = ""; // it is brought into the window
  }

  /** Where it stands, with a cell that has just been pinned in the window. */
  #layOut(snapshot: Snapshot, width: number, maxHeight: number): HeatmapLayout {
    const { shown, pinned, state } = snapshot;
    const { memo, theme } = this.#room;
    const measure = (name: string) => theme.measure(visible(name).slice(0, LONGEST_LABEL), FONT, true);
    const widest = (slot: string, names: string[]): number =>
      memo(slot, [names], () => Math.ceil(Math.max(...names.map(measure))));
    const laidOut = (view: Window) =>
      matrixLayout({
        rows: shown.rows,
        cols: shown.cols,
        width,
        maxHeight,
        rowSeconds: shown.rowSeconds,
        colSeconds: shown.colSeconds,
        rowLabel: widest("rowLabel", shown.rowNames),
        colLabel: widest("colLabel", shown.keys),
        ratio: pixelRatio() * theme.scale * theme.zoom,
        view,
        largest: LARGEST,
        stretch: STRETCH,
      });
    const found = laidOut(state.window);
    const now = `${pinned.query} ${pinned.key}`;
    const isNew = now !== this.#lastPinned;
    this.#lastPinned = now;
    if (!isNew || found.zoom === 1 || (pinned.query === null && pinned.key === null)) return found;
    const window = reveal(found, pinned);
    this.#room.state = { ...this.#room.state, window };
    return laidOut(window);
  }

  /** The cell, if it is in the window. */
  #markOf({ name, limit }: DisplayedHead, query: number, key: number): Mark | null {
    const weights = this.#drawn?.name === name && this.#drawn.weights;
    if (!weights) return null;
    const { left, top, x, y, cell, rowCell, cols, boxWidth, boxHeight } = this.#layout!;
    const [across, down] = [key * cell - x, query * rowCell - y];
    if (across < -cell / 2 || down < -rowCell / 2 || across >= boxWidth || down >= boxHeight) return null;
    return boxMark([left + across, top + down, cell, rowCell], shadeOf(weights[query * cols + key], limit));
  }

  draw(snapshot: Snapshot, box: { width: number; height: number }): void {
    const { shown: plain, active, pinned, entry, options, found, overviewOf, problem } = snapshot;
    const { theme, memo } = this.#room;
    const [width, height] = [box.width / theme.scale, box.height / theme.scale];
    let layout = this.#layOut(snapshot, width, height);
    const missing = plain.rows * (LEAST_ROW / theme.scale - layout.rowCell);
    // Few words are read where they stand; a matrix that is then too high scrolls.
    if (missing > 0 && plain.rows <= EASY) layout = this.#layOut(snapshot, width, height + missing);
    this.#layout = layout;
    const least = options.threshold * (plain.limit ?? 1);
    const shown = scaled(this.#room.moving(plain), options.colourScale, least, memo);
    this.#drawn = { name: plain.name, weights: shown.weights };
    const { cell, rowCell, x, y, boxWidth, boxHeight } = layout;
    const at = [shown.name, cell, rowCell, x, y, boxWidth, boxHeight, least];
    const painted = memo("cells", at, () => {
      if (shown.weights) return paintCells(shown, layout, least, theme, this.#cells);
      const [layer, head] = shown.heads[0];
      return paintPlaceholder(overviewOf(entry.kind), layer * entry.heads + head, entry.signed, theme);
    });
    const marks = {
      active,
      pinned,
      named: wordsRead(plain, active),
      least,
      found: { queries: found[0], keys: found[1] },
      waiting: problem ? "not here" : "loading…",
      numbers: plain.weights,
    };
    drawMatrix(this.#canvas.canvas, layout, painted, shown, marks, theme);
    const { rows, cols } = plain;
    this.#canvas.announce({ rows, cols, row: pinned.query, col: pinned.key, text: snapshot.told() });
  }
}
