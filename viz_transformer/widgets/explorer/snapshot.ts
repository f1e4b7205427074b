// The snapshot of one frame: everything that the explorer shows, computed from what is chosen.
//
// What is chosen is in the model's traits, and where the pointer is, which part is zoomed and the
// like in the view's own state. A snapshot is taken of both; layout, drawing and interaction read it.

import { decodeWeights } from "../base/bytes.ts";
import { type KindHeads, type LayerHead, sortedHeads } from "../base/head_grid.ts";
import type { Window } from "../base/heatmap.ts";
import { canAsk, type Model } from "../base/kernel.ts";
import { formatWeight, plainText, visible } from "../base/text.ts";
import type { Memo } from "./caches.ts";
import type { Axis, DisplayedHead, HeadPictures } from "./displayed_head.ts";
import { linkedColumns, type LinkedPlan, placesOf } from "./linked_columns.ts";
import { type Patches, patchesOf } from "./patch_picture.ts";
import { digitsOf, placeOf, readout, restingQuery } from "./readout.ts";
import {
  activeCell,
  type Cell,
  fitSelection,
  foundIn,
  type Picked,
  type Selection,
  within,
} from "./selection.ts";
import { headline } from "./sentences.ts";
import { pairsOf } from "./shown_part.ts";
import type { Entry, WeightStore } from "./weight_store.ts";
import type { HeadPlace } from "../base/kinds.ts";

const [NO_SCORES, NO_IMAGE, NO_KINDS] = [{} as Scores, {} as Image, [] as string[]];
/** The viewer's own scores: by name and kind, float32 [layer · head]. */
type Scores = Record<string, Record<string, DataView>>;

/** A picture's RGB bytes; no width where there is none. */
type Image = { width?: number; height?: number; pixels?: DataView };

const MOST_WORDS = 10; // of a sentence in one line
const MANY_WEIGHTS = 4e6; // of a kind: its heads are measured only where their order needs it

export type Head = HeadPlace;

/** What only this view has: another view of the same model has its own. */
export interface ViewState {
  /** The cell under the pointer. */
  hover: Picked | null;
  hoveredHead: Head | null;
  /** Whether a click adds a head to the selected ones. */
  selectsSeveral: boolean;
  /** Whether Escape leads from a head back to the wall. */
  cameFromWall: boolean;
  /** Of the heatmap. */
  window: Window;
  /** Whether there is room for three columns of words only. */
  isNarrow: boolean;
}

/** What a snapshot is taken from. */
interface Sources {
  model: Model;
  store: WeightStore;
  pictures: HeadPictures;
  memo: Memo;
}

export type Snapshot = ReturnType<typeof takeSnapshot>;

export type Options = ReturnType<typeof readOptions>;

export const INITIAL_STATE: ViewState = {
  hover: null,
  hoveredHead: null,
  selectsSeveral: false,
  cameFromWall: false,
  window: { zoom: 1, row: 0, col: 0 },
  isNarrow: false,
};

/**
 * Take a snapshot. Weights that are not here yet are requested from the store.
 *
 * @param lastHeads of each kind, as of the last snapshot
 */
export function takeSnapshot(
  { model, store, pictures, memo }: Sources,
  state: ViewState,
  lastHeads: Map<string, { layer: number; head: number }>,
) {
  const { entries } = store;
  const options = readOptions(model, entries);
  const chosen = readSelection(model, entries);
  const heads = new Map(lastHeads).set(chosen.kind, { layer: chosen.layer, head: chosen.head });
  const all = Array.from(entries.keys());
  // On a phone three columns fit, of which one may not be the chosen kind's.
  const left = chosen.kind === "decoder" ? "encoder" : "decoder";
  const plan = linkedColumns(state.isNarrow && all.length > 2 ? all.filter((kind) => kind !== left) : all);
  const isSentence = options.picture === "sentence" && fitsSentence(entries);
  // A longer sentence than the picture of it has room for is shown in columns.
  const linked = options.linked || (options.picture === "sentence" && !isSentence) ? plan : null;
  const chosenOf = (kind: string) =>
    kind === chosen.kind ? chosen : headOfKind(kind, chosen, heads, options.linkedHeads, entries);
  const pictureOf = (kind: string) => pictures.show(chosenOf(kind), options);
  const shown = pictureOf(chosen.kind);
  const links = (linked?.links ?? [{ kind: chosen.kind, flip: false }]).map(({ kind, flip }) => ({
    shown: pictureOf(kind),
    flip,
  }));
  const names = columnNames(links);
  const entry = entries.get(chosen.kind) as Entry;
  const pinned = pinnedCell(chosen, shown);
  const active = activeOf(state.hover, pinned, shown, linked, pictureOf);
  const sections = sectionsOf(store, chosen.kind, options, memo);
  const linkNames = links.map((link) => link.shown.name).join();
  const patches = linked ? null : patchesOf(entry, options.grid);
  const lit = litOf(active, shown);
  const snapshot = {
    options,
    ...writtenOf(model),
    state,
    /** Which picture is on the stage. */
    mode: modeOf(options, linked, patches),
    canShowSentence: fitsSentence(entries),
    entries,
    lastHeads: heads,
    chosen,
    entry,
    shown,
    /** The columns of all kinds, where they can be linked; `linked` where they are. */
    plan,
    linked,
    /** The pictures that join the columns of tokens, and the columns' tokens. */
    links,
    names,
    /** Cells {kind, query, key}, in the indices of the pictures. */
    pinned,
    active,
    /** What is active, or before anything is chosen the query that is shown. */
    lit,
    chosenOf,
    pictureOf,
    sections,
    /** Which keys are the patches of a picture; null where they are words, or all kinds are linked. */
    patches,
    /** What the picture shows: every token by itself, also one that is hidden or merged in the heatmap. */
    pictured:
      patches && pictures.show(chosen, { ...options, hideSpecial: false, mergeWords: false, pairs: {} }),
    overviewOf: (kind: string) => overviewOf(store, kind, options),
    /** For each column, 1 for a token that is searched for. */
    found: memo("found", [linkNames, options.search], () =>
      names.map((each) => foundIn(each, options.search)),
    ),
    /** The lit cell, row or column as it is read, at most so many weights of it. */
    read: (most: number) => readOf(snapshot, most, () => exactWeight(store, snapshot)),
    /** What is lit, in short, for screen readers. */
    told: () => toldOf(snapshot),
    problem: store.problem,
    /** Which share of the chosen head's attention this page has left out. */
    lost: store.lost(chosen.kind, chosen.layer, chosen.head),
    /** Where in the columns a cell's tokens stand, the one that paths start from first. */
    placesFor: (cell: Cell & { kind: string }) => placesOf(linked, cell.kind, cell),
  };
  return snapshot;
}

/** Whether a sentence and its translation stand side by side on the stage: of few words, all kinds at hand. */
function fitsSentence(entries: Map<string, Entry>) {
  const cross = entries.get("cross");
  if (!cross || !entries.has("encoder")) return false;
  return cross.limit === null && Math.max(cross.rows, cross.cols) <= MOST_WORDS;
}

function modeOf(
  { wall, picture }: Options,
  linked: LinkedPlan | null,
  patches: Patches | null,
): "wall" | "sentence" | "linked" | "table" | "patches" | "lines" | "matrix" {
  if (wall) return "wall";
  if (linked) return "linked";
  if (picture === "sentence" || picture === "table") return picture;
  if (picture === "lines") return patches ? "patches" : "lines";
  return "matrix";
}

/** What is active; where nothing is, the row of weights that shows most. */
function litOf(active: { query: number | null; key: number | null; kind: string }, shown: DisplayedHead) {
  if (active.query !== null || active.key !== null || shown.limit !== null) return active;
  return { ...active, query: restingQuery(shown), key: null };
}

function readOf(
  { lit, active, pinned, pictureOf }: Pick<Snapshot, "lit" | "active" | "pinned" | "pictureOf">,
  most: number,
  exactOf: () => number | null,
): ReturnType<typeof readout> {
  const shown = pictureOf(lit.kind);
  if (!shown.weights) return { pairs: [], detail: "", sum: "" };
  const read = readout(shown, lit, most);
  const isPinned = (["kind", "query", "key"] as const).every((name) => active[name] === pinned[name]);
  const exact = isPinned && exactOf();
  if (typeof exact !== "number") return read;
  const place = placeOf(shown, pinned.query, pinned.key);
  return { ...read, detail: `${place} = ${digitsOf(exact, { dtype: "float32" })}` };
}

function toldOf(snapshot: Snapshot): string {
  const shown = snapshot.pictureOf(snapshot.active.kind);
  const [first] = shown.weights ? readout(shown, snapshot.active).pairs : [];
  if (!first) return plainText(headline(snapshot));
  const [from, to] = [visible(shown.queries[first.query]), visible(shown.keys[first.key])];
  return `${from} to ${to}: ${formatWeight(first.weight, shown.limit, shown.entry.least)}`;
}

function readOptions(model: Model, entries: Map<string, Entry>) {
  const pair = model.get("linked") ? "all" : (model.get("pair") ?? "all");
  const segments = model.get("segments") ?? [];
  return {
    segments,
    pairs: pairsOf(entries, segments, pair),
    secondsPerFrame: model.get("seconds_per_frame") ?? null,
    attendsBy: model.get("attends_by") ?? "both",
    biased: (canAsk(model) && model.get("biased")) || NO_KINDS,
    threshold: model.get("threshold") ?? 0,
    hideSpecial: Boolean(model.get("hide_special")),
    mergeWords: Boolean(model.get("merge_words")),
    order: model.get("order") ?? "layer",
    search: model.get("search") ?? "",
    linked: Boolean(model.get("linked")),
    wall: Boolean(model.get("wall")),
    picture: model.get("picture") ?? "matrix",
    colourScale: model.get("colour_scale") ?? "linear",
    scores: model.get("scores") ?? NO_SCORES,
    grid: model.get("grid") ?? [],
    image: model.get("image") ?? NO_IMAGE,
    filter: {
      labels: model.get("label_filter") ?? [],
      layers: model.get("layer_filter") ?? [],
      least: model.get("least_score") ?? null,
    },
    linkedHeads: model.get("linked_heads") ?? {},
    compared: (model.get("differences")?.[model.get("shown")] ?? null) as [string, string] | null,
  };
}

function readSelection(model: Model, entries: Map<string, Entry>) {
  const get = (name: string) => model.get(name) ?? undefined;
  return fitSelection(entries, {
    kind: get("kind"),
    layer: get("layer"),
    head: get("head"),
    selected: get("selected"),
    aggregate: get("aggregate"),
    query: get("query") ?? null,
    key: get("key") ?? null,
  });
}

/** What is shown of a kind beside the chosen one: its head that was last seen. */
function headOfKind(
  kind: string,
  chosen: Selection,
  lastHeads: Map<string, { layer: number; head: number }>,
  linkedHeads: Record<string, LayerHead>,
  entries: Map<string, Entry>,
) {
  const { layer, head } = lastHeads.get(kind) ?? chosen;
  const [toLayer, toHead] = linkedHeads[kind] ?? [layer, head];
  const fitted = fitSelection(entries, { ...chosen, kind, layer: toLayer, head: toHead });
  return { ...fitted, selected: [], aggregate: "head" };
}

/** The tokens of each column: the first picture's left side, then every picture's right side. */
function columnNames(links: { shown: DisplayedHead; flip: boolean }[]) {
  const sides = links.map(({ shown: { queries, keys }, flip }) => (flip ? [keys, queries] : [queries, keys]));
  return [sides[0][0], ...sides.map(([, right]) => right)];
}

function pinnedCell({ kind, query, key }: Selection, { queryAxis, keyAxis }: DisplayedHead) {
  const at = (axis: Axis, index: number | null) =>
    index === null || axis.at[index] < 0 ? null : axis.at[index];
  return { kind, query: at(queryAxis, query), key: at(keyAxis, key) };
}

/** The cell under the pointer, else the pinned one. */
function activeOf(
  hover: Picked | null,
  pinned: Cell & { kind: string },
  shown: DisplayedHead,
  linked: LinkedPlan | null,
  pictureOf: (kind: string) => DisplayedHead,
): Picked & { kind: string } {
  const over = within(hover, linked && hover ? pictureOf(hover.kind ?? pinned.kind) : shown);
  return { kind: pinned.kind, ...(linked ? (over ?? pinned) : activeCell(over, pinned)) };
}

/** The kinds with their heads in order, and the viewer's own scores of them. */
function sectionsOf(
  store: WeightStore,
  chosenKind: string,
  { order, scores, wall, pairs, segments }: Options,
  memo: Memo,
): (Entry & KindHeads)[] {
  const entries = Array.from(store.entries.values());
  for (const { kind, layers, heads, rows, cols } of entries) {
    // Not without need, where it would keep Python busy while the viewer waits for the next head.
    if (wall || order !== "layer" || (kind === chosenKind && layers * heads * rows * cols < MANY_WEIGHTS))
      store.measure(kind);
  }
  const measured = entries.map((entry) => Boolean(entry.entropies)).join();
  const pictures = entries.map(({ kind }) => overviewOf(store, kind, { pairs, segments }));
  return memo("sections", [order, scores, measured, ...pictures], () =>
    entries.map((entry) => {
      const own = { ...entry, scores: scoresOf(scores, entry.kind) };
      return {
        ...own,
        slots: order === "layer" ? null : sortedHeads(own, order),
      };
    }),
  );
}

function overviewOf(
  store: WeightStore,
  kind: string,
  { pairs, segments }: Pick<Options, "pairs" | "segments">,
) {
  return store.overview(kind, pairs[kind] ?? "all", segments);
}

function scoresOf(scores: Scores, kind: string) {
  const own = Object.entries(scores).filter(([, kinds]) => kinds[kind]);
  return Object.fromEntries(own.map(([name, kinds]) => [name, decodeWeights(kinds[kind], "float32")]));
}

/** The pinned weight as exact as Python has it, where the page has half precision; null until it is here. */
function exactWeight(
  store: WeightStore,
  {
    chosen,
    shown,
    entry,
    pinned,
    linked,
  }: Pick<Snapshot, "chosen" | "shown" | "entry" | "pinned" | "linked">,
) {
  const isCell = pinned.query !== null && pinned.key !== null;
  if (linked || !isCell || !shown.plain || !shown.weights || entry.dtype !== "float16") return null;
  return store.exactIfHere(chosen.kind, chosen.layer, chosen.head, chosen.query!, chosen.key!);
}

/** A sentence, its tokens, the tokens written for it, and the likeliest words where each of them is written. */
export interface Written {
  text: string;
  source: string[];
  target: string[];
  next: [word: string, share: number][][];
}

/** The sentence before, where it differs from this one in a single word: `word`, at the position `at`. */
export interface Change {
  at: number;
  word: string;
  before: Written;
}

export function writtenOf(model: Model): { written: Written | null; change: Change | null } {
  const [written, before] = (["written", "before"] as const).map((name) => {
    const found: Written | undefined = model.get(name);
    return found?.source ? found : null;
  });
  if (!written || written.source.length !== before?.source.length) return { written, change: null };
  const places = Array.from(written.source.keys()).filter((at) => written.source[at] !== before.source[at]);
  const [at] = places;
  return { written, change: places.length === 1 ? { at, word: before.source[at], before } : null };
}

/** The word that was written before in place of one of this sentence; null where it is the same. */
export function replacedWord(written: Written | null, change: Change | null, at: number): string | null {
  const before = change?.before.target;
  if (!written || before?.length !== written.target.length || before[at] === written.target[at]) return null;
  return before[at] ?? null;
}
