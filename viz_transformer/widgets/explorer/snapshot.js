// The snapshot of one frame: everything that the explorer shows, computed from what is chosen.
//
// What is chosen is in the model's traits, and where the pointer is, which part is zoomed and the
// like in the view's own state. A snapshot is taken of both; layout, drawing and interaction read it.

import { sortedHeads } from "../base/js/head_grid.js";
import { canAsk } from "../base/js/kernel.js";
import { decodeWeights } from "../base/js/weights.js";
import { linkedColumns, placesOf } from "./linked_columns.js";
import { patchesOf } from "./patch_picture.js";
import { digitsOf, placeOf, readout, restingQuery } from "./readout.ts";
import { activeCell, fitSelection, foundIn, within } from "./selection.js";
import { plainText } from "../base/pieces.ts";
import { headline } from "./sentences.ts";
import { pairsOf } from "./sentence_pair.js";
import { formatWeight, visible } from "../base/js/text.js";

const [NO_SCORES, NO_IMAGE, NO_KINDS] = [{}, {}, []];
const MOST_WORDS = 10; // of a sentence in one line
const MANY_WEIGHTS = 4e6; // of a kind: its heads are measured only where their order needs it

/**
 * @typedef {import("./selection.js").Selection} Selection
 * @typedef {import("./selection.js").Cell} Cell
 * @typedef {import("./displayed_head.js").DisplayedHead} DisplayedHead
 * @typedef {import("./weight_store.js").Entry} Entry
 * @typedef {{kind: string, layer: number, head: number}} Head
 *
 * @typedef {object} ViewState what only this view has: another view of the same model has its own
 * @property {(Cell & {kind?: string}) | null} hover the cell under the pointer
 * @property {Head | null} hoveredHead
 * @property {boolean} selectsSeveral whether a click adds a head to the selected ones
 * @property {boolean} cameFromWall whether Escape leads from a head back to the wall
 * @property {import("../base/js/heatmap.js").Window} window of the heatmap
 * @property {boolean} isNarrow whether there is room for three columns of words only
 *
 * @typedef {object} Sources what a snapshot is taken from
 * @property {import("../base/js/kernel.js").Model} model
 * @property {import("./weight_store.js").WeightStore} store
 * @property {import("./displayed_head.js").HeadPictures} pictures
 * @property {import("./caches.js").Memo} memo
 *
 * @typedef {ReturnType<typeof takeSnapshot>} Snapshot
 * @typedef {ReturnType<typeof readOptions>} Options
 */

/** @type {ViewState} */
export const INITIAL_STATE = {
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
 * @param {Sources} sources
 * @param {ViewState} state
 * @param {Map<string, {layer: number, head: number}>} lastHeads of each kind, as of the last snapshot
 */
export function takeSnapshot({ model, store, pictures, memo }, state, lastHeads) {
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
  const chosenOf = (/** @type {string} */ kind) =>
    kind === chosen.kind ? chosen : headOfKind(kind, chosen, heads, options.linkedHeads, entries);
  const pictureOf = (/** @type {string} */ kind) => pictures.show(chosenOf(kind), options);
  const shown = pictureOf(chosen.kind);
  const links = (linked?.links ?? [{ kind: chosen.kind, flip: false }]).map(({ kind, flip }) => ({
    shown: pictureOf(kind),
    flip,
  }));
  const names = columnNames(links);
  const entry = /** @type {Entry} */ (entries.get(chosen.kind));
  const pinned = pinnedCell(chosen, shown);
  const active = activeOf(state.hover, pinned, shown, linked, pictureOf);
  const sections = sectionsOf(store, chosen.kind, options, memo);
  const linkNames = links.map((link) => link.shown.name).join();
  const patches = linked ? null : patchesOf(entry, options.grid);
  const lit = litOf(active, shown);
  const snapshot = {
    options,
    state,
    /** which picture is on the stage */
    mode: modeOf(options, linked, patches),
    canShowSentence: fitsSentence(entries),
    entries,
    lastHeads: heads,
    chosen,
    entry,
    shown,
    /** the columns of all kinds, where they can be linked; `linked` where they are */
    plan,
    linked,
    /** the pictures that join the columns of tokens, and the columns' tokens */
    links,
    names,
    /** cells {kind, query, key}, in the indices of the pictures */
    pinned,
    active,
    /** what is active, or before anything is chosen the query that is shown */
    lit,
    chosenOf,
    pictureOf,
    sections,
    /** which keys are the patches of a picture; null where they are words, or all kinds are linked */
    patches,
    /** what the picture shows: every token by itself, also one that is hidden or merged in the heatmap */
    pictured:
      patches && pictures.show(chosen, { ...options, hideSpecial: false, mergeWords: false, pairs: {} }),
    overviewOf: (/** @type {string} */ kind) => overviewOf(store, kind, options),
    /** for each column, 1 for a token that is searched for */
    found: memo("found", [linkNames, options.search], () =>
      names.map((each) => foundIn(each, options.search)),
    ),
    /** the lit cell, row or column as it is read, at most so many weights of it */
    read: (/** @type {number} */ most) => readOf(snapshot, most, () => exactWeight(store, snapshot)),
    /** what is lit, in short, for screen readers */
    told: () => toldOf(snapshot),
    problem: store.problem,
    /** Where in the columns a cell's tokens stand, the one that paths start from first. */
    placesFor: (/** @type {Cell & {kind: string}} */ cell) => placesOf(linked, cell.kind, cell),
  };
  return snapshot;
}

/** Whether a sentence and its translation stand side by side on the stage: of few words, all kinds at hand. */
function fitsSentence(entries) {
  const { rows, cols, limit } = entries.get("cross") ?? {};
  return entries.has("encoder") && limit === null && Math.max(rows, cols) <= MOST_WORDS;
}

/** @returns {"wall" | "sentence" | "linked" | "table" | "patches" | "lines" | "matrix"} */
function modeOf({ wall, picture }, linked, patches) {
  if (wall) return "wall";
  if (linked) return "linked";
  if (picture === "sentence" || picture === "table") return picture;
  if (picture === "lines") return patches ? "patches" : "lines";
  return "matrix";
}

/** What is active; where nothing is, the row of weights that shows most. */
function litOf(active, shown) {
  if (active.query !== null || active.key !== null || shown.limit !== null) return active;
  return { ...active, query: restingQuery(shown), key: null };
}

function readOf({ lit, active, pinned, pictureOf }, most, exactOf) {
  const shown = pictureOf(lit.kind);
  if (!shown.weights) return { pairs: [], detail: "", sum: "" };
  const read = readout(shown, lit, most);
  const isPinned = ["kind", "query", "key"].every((name) => active[name] === pinned[name]);
  const exact = isPinned && exactOf();
  if (typeof exact !== "number") return read;
  const place = placeOf(shown, pinned.query, pinned.key);
  return { ...read, detail: `${place} = ${digitsOf(exact, { dtype: "float32" })}` };
}

function toldOf(snapshot) {
  const shown = snapshot.pictureOf(snapshot.active.kind);
  const [first] = shown.weights ? readout(shown, snapshot.active).pairs : [];
  if (!first) return plainText(headline(snapshot));
  const [from, to] = [visible(shown.queries[first.query]), visible(shown.keys[first.key])];
  return `${from} to ${to}: ${formatWeight(first.weight, shown.limit, shown.entry.least)}`;
}

/** The traits that say how it is shown. */
function readOptions(model, entries) {
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
  };
}

/** The traits that say what is chosen, fitted to the trace. */
function readSelection(model, entries) {
  const get = (name) => model.get(name) ?? undefined;
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
function headOfKind(kind, chosen, lastHeads, linkedHeads, entries) {
  const { layer, head } = lastHeads.get(kind) ?? chosen;
  const [toLayer, toHead] = linkedHeads[kind] ?? [layer, head];
  const fitted = fitSelection(entries, { ...chosen, kind, layer: toLayer, head: toHead });
  return { ...fitted, selected: [], aggregate: "head" };
}

/** The tokens of each column: the first picture's left side, then every picture's right side. */
function columnNames(links) {
  const sides = links.map(({ shown: { queries, keys }, flip }) => (flip ? [keys, queries] : [queries, keys]));
  return [sides[0][0], ...sides.map(([, right]) => right)];
}

function pinnedCell({ kind, query, key }, { queryAxis, keyAxis }) {
  const at = (axis, index) => (index === null || axis.at[index] < 0 ? null : axis.at[index]);
  return { kind, query: at(queryAxis, query), key: at(keyAxis, key) };
}

/** The cell under the pointer, else the pinned one. */
function activeOf(hover, pinned, shown, linked, pictureOf) {
  const over = within(hover, linked && hover ? pictureOf(hover.kind) : shown);
  return { kind: pinned.kind, ...(linked ? (over ?? pinned) : activeCell(over, pinned)) };
}

/**
 * The kinds with their heads in order, and the viewer's own scores of them.
 *
 * @returns {(Entry & import("../base/js/head_grid.js").KindHeads)[]}
 */
function sectionsOf(store, chosenKind, { order, scores, wall, pairs, segments }, memo) {
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

/** The thumbnails of a kind, of the sentences that are shown. */
function overviewOf(store, kind, { pairs, segments }) {
  return store.overview(kind, pairs[kind] ?? "all", segments);
}

/** The viewer's own scores of a kind, by name. */
function scoresOf(scores, kind) {
  const own = Object.entries(scores).filter(([, kinds]) => kinds[kind]);
  return Object.fromEntries(own.map(([name, kinds]) => [name, decodeWeights(kinds[kind], "float32")]));
}

/** The pinned weight as exact as Python has it, where the page has half precision; null until it is here. */
function exactWeight(store, { chosen, shown, entry, pinned, linked }) {
  const isCell = pinned.query !== null && pinned.key !== null;
  if (linked || !isCell || !shown.plain || !shown.weights || entry.dtype !== "float16") return null;
  return store.exactIfHere(chosen.kind, chosen.layer, chosen.head, chosen.query, chosen.key);
}
