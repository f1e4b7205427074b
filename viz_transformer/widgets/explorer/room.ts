// What the explorer's parts share: the weights, what is chosen, and how it changes.
//
// One way for the data: the model's traits and this view's own state → a snapshot → what is drawn. Interaction
// reads a snapshot, and changes traits or state alone.

import { zoomOf } from "../base/canvas.ts";
import type { Theme } from "../base/colour.ts";
import { addCanvas } from "../base/interactive_canvas.ts";
import { canAsk } from "../base/kernel.ts";
import { type Tween, tween } from "../base/motion.ts";
import type { Frame } from "../base/stage_view.tsx";
import { createMemo } from "./caches.ts";
import { createHeadPictures, type DisplayedHead } from "./displayed_head.ts";
import { type Marks, Passage } from "./passage.ts";
import { INITIAL_STATE, type Snapshot, takeSnapshot, type ViewState } from "./snapshot.ts";
import type { Traits as Declared } from "./traits.ts";
import { WeightStore } from "./weight_store.ts";

/** The traits, with what Python's declarations leave open. */
export interface Traits extends Declared {
  selected: [number, number][];
  linked_heads: Record<string, [number, number]>;
  grid: number[];
  image: object;
}

/** The page's colours and fonts, and those of the roles, for canvases; lengths are in units of `scale` pixels. */
export type StageTheme = Theme & { roles: Record<Role, string> };
const ROLES = [
  ...(["query", "query-tint", "key", "key-tint", "weight"] as const),
  ...(["ink", "muted", "line", "raised", "paper", "you"] as const),
];
type Role = (typeof ROLES)[number];

const NARROW = 600; // pixels of the view; stage.css has the same
const FONT = 14; // the unit that the pictures' lengths were chosen for

export class Room {
  readonly store: WeightStore;
  readonly memo = createMemo();
  readonly sources;
  readonly moving = createMoving(() => this.frame.redraw());
  readonly passage = new Passage(this);
  state: ViewState = INITIAL_STATE;
  theme!: StageTheme;
  /** The lines between the columns, as they were drawn last. */
  lines: ({ count: number; all: number } | null)[] = [];
  frame: Frame<Traits>;
  /** Draws the picture on the stage once more. */
  draw = () => {};
  /** Where the picture is on the page. */
  place: HTMLElement | null = null;
  #page: Theme | null = null;
  #heads = new Map<string, { layer: number; head: number }>();

  constructor(frame: Frame<Traits>) {
    this.frame = frame;
    this.store = new WeightStore(frame.model, frame.redraw);
    this.sources = {
      model: frame.model,
      store: this.store,
      memo: this.memo,
      pictures: createHeadPictures(this.store),
    };
  }

  begin(frame: Frame<Traits>): Snapshot {
    this.frame = frame;
    if (this.store.load()) {
      this.sources.pictures.clear();
      this.memo.clear();
      this.state = { ...INITIAL_STATE, selectsSeveral: this.state.selectsSeveral };
    }
    this.state = { ...this.state, isNarrow: frame.width < NARROW };
    const snapshot = this.snapshot();
    this.#heads = snapshot.lastHeads;
    return snapshot;
  }

  /** What is shown at this moment: two keys may come in one frame. */
  snapshot(): Snapshot {
    return takeSnapshot(this.sources, this.state, this.#heads);
  }

  /** Take the colours and the unit of the zones, once they are on the page. */
  measure(zones: HTMLElement): void {
    const { theme: page, unit } = this.frame;
    const zoom = zoomOf(zones);
    const scale = unit / FONT;
    if (this.#page === page && this.theme.scale === scale && this.theme.zoom === zoom) return;
    this.#page = page;
    this.memo.clear();
    const style = getComputedStyle(zones);
    const roles = Object.fromEntries(ROLES.map((role) => [role, style.getPropertyValue(`--${role}`).trim()]));
    roles.paper = page.background; // as the browser has resolved it
    this.theme = { ...page, scale, zoom, roles: roles as Record<Role, string> };
  }

  setState(change: Partial<ViewState>): void {
    this.state = { ...this.state, ...change };
    this.frame.redraw();
  }

  set(change: Partial<Traits>): void {
    this.frame.set(change);
  }

  /** Whether what is not here can be asked for. */
  get canAsk(): boolean {
    return canAsk(this.frame.model);
  }

  close(): void {
    this.store.close();
    this.passage.end();
  }
}

const MOST = 4096; // weights that are moved one by one

/** A function that gives a head as it is shown in this frame, and asks for the next one while it moves. */
export function createMoving(redraw: () => void) {
  const motions = new Map<string, Tween>();

  const moving = (shown: DisplayedHead): DisplayedHead => {
    const { weights, entry } = shown;
    if (!weights || weights.length > MOST) return shown;
    const motion = motions.get(entry.kind) ?? tween();
    motions.set(entry.kind, motion);
    const values = motion.at(Array.from(weights));
    if (!motion.isMoving()) return shown;
    redraw();
    return {
      ...shown,
      weights: Float32Array.from(values),
      name: `${shown.name} moving ${performance.now()}`,
    };
  };
  /** Be at the next weights at once. */
  const settle = () => motions.clear();
  return Object.assign(moving, { settle });
}

/** A picture in its place. */
export interface Picture {
  /** Draws a snapshot into a box of so many pixels. */
  draw: (snapshot: Snapshot, box: { width: number; height: number }) => void;
  /** Where the marks of weights are, if they can move to those of another picture. */
  marks?: Marks;
  close: () => void;
}

/** Puts a picture into a node of the page. */
export type Mount = (room: Room, node: HTMLElement) => Picture;

/** A canvas of the explorer. */
export const addRoomCanvas = (room: Room, node: HTMLElement, label: string) =>
  addCanvas(node, label, () => room.frame.redraw());
