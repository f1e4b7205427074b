// The mask lab: a mask composed from parts or painted, and what leaks through it in a live model.
//
// The state lives in the model's traits. Each frame reads it once into a snapshot, with the mask
// that it makes, and hands that to every part of the view.

import { element } from "../base/js/controls.js";
import { addFolds } from "../base/js/folds.js";
import { marksExplained, quoted } from "../base/js/text.js";
import { createView } from "../base/js/view.js";
import {
  cellText,
  composeMask,
  describeMaskCell,
  emptyRows,
  MASK_TRAITS,
  maskStateOf,
  paintCell,
} from "./composition.js";
import { addBatchControls, addMaskControls, addPresets } from "./mask_controls.js";
import { maskCode } from "./mask_code.js";
import { MaskGrid } from "./mask_grid.js";
import { leakMeter, leakToShow, readLeaks } from "./leak_meter.js";
import { libraryTable, readLibraries } from "./library_table.js";
import { firstLook } from "./presets.js";
import { createReplies } from "./replies.js";
import { shapesPicture } from "./broadcasting.js";

/**
 * @import { Answer } from "./replies.js"
 * @import { ComposedMask, MaskState, Words } from "./composition.js"
 * @import { Cell } from "../base/js/number_table.js"
 * @import { Preset } from "./presets.js"
 */

const SELECTION_TRAITS = ["polarity", "sentence", "query", "key", "edit", "edited", "unfolded"];
const POLARITY_NOTE = {
  may: "True = may attend: in viz_transformer and in F.scaled_dot_product_attention.",
  may_not: "True = may NOT attend: in nn.MultiheadAttention, for attn_mask and key_padding_mask.",
  additive: "0 = may attend, −∞ = may not: a float mask that is added to the scores, in all of torch.",
};

/**
 * @typedef {object} Snapshot all that one frame shows
 * @property {Words} words
 * @property {MaskState} state
 * @property {ComposedMask} composed
 * @property {string} polarity
 * @property {number} sentence
 * @property {number | null} query
 * @property {number | null} key
 * @property {"word" | "padding"} edit
 * @property {number} edited
 * @property {number[]} empty the sentence's queries that may attend to nothing
 */

/** @returns {Snapshot} */
function snapshotOf(model) {
  const [words, state] = [model.get("words"), maskStateOf(model)];
  const composed = composeMask(words, state);
  const sentence = Math.min(model.get("sentence"), composed.sentences - 1);
  return {
    words,
    state,
    composed,
    sentence,
    polarity: model.get("polarity"),
    query: model.get("query"),
    key: model.get("key"),
    edit: model.get("edit"),
    edited: Math.min(model.get("edited"), composed.keys - 1),
    empty: emptyRows(composed, sentence),
  };
}

function render({ model, el }) {
  const view = createView({
    model,
    el,
    name: "mask-lab",
    label: "Mask lab",
    traits: ["words", ...MASK_TRAITS, ...SELECTION_TRAITS],
    draw,
  });
  const sections = addSections(view.root);
  const panels = addPanels(model, view);
  /** @type {"batch" | "sentence" | null} where the token that leaks most is looked for, once its reply is here */
  let seeking = null;
  const change = (changes, preset = null) => {
    seeking = preset ? "batch" : "sentence";
    view.set(changeOf(model, changes, preset));
  };
  const kinds = model.get("kinds");
  const presets = addPresets(sections.right, sections.mistakes, kinds, change);
  const controls = [
    addMaskControls(sections.controls, kinds, change, view.set),
    addBatchControls(sections.controls, model, change, view.set),
  ];
  const grid = createGrid(sections, model, view);
  const meter = leakMeter(sections.leaks, {
    onEdit: (edit) => {
      seeking = null;
      view.set(edit);
    },
  });
  const shapes = shapesPicture(panels.shapes.body);
  const table = libraryTable(panels.libraries.body);
  const replies = {
    leaks: createReplies(model, "leaks", view.redraw),
    formulas: createReplies(model, "formulas", view.redraw),
    libraries: createReplies(model, "libraries", view.redraw),
    eager: createReplies(model, "eager", view.redraw),
  };

  function draw({ theme, width }) {
    const snapshot = snapshotOf(model);
    view.root.dataset.layout = width >= 1000 ? "wide" : width >= 740 ? "medium" : "narrow";
    sections.told.textContent = presets.update(snapshot);
    for (const each of controls) each.update(snapshot);
    grid.update(snapshot);
    sections.rows.textContent = rowsSentence(snapshot);
    const leaks = replies.leaks.of(snapshot.words, snapshot.state);
    showLeaks(meter, sections.leaks, leaks, snapshot);
    if (seeking && leaks.reply) {
      const found = leakToShow(readLeaks(leaks.reply), snapshot.composed, snapshot, seeking);
      seeking = null;
      if (found) view.set(found);
    }
    panels.update(snapshot);
    if (panels.libraries.isOpen()) showLibraries(table, panels.libraries.body, replies, snapshot, theme);
    if (panels.shapes.isOpen())
      shapes.set(snapshot.composed, snapshot, theme, panels.shapes.body.clientWidth || width);
    showCode(panels.listings, snapshot);
  }

  return () => {
    for (const each of Object.values(replies)) each.close();
    view.close();
  };
}

/**
 * A change of what the mask is made of, with what is selected brought inside the new mask.
 *
 * @param {Partial<MaskState>} changes
 * @param {Preset | null} preset whose point is then selected
 */
function changeOf(model, changes, preset) {
  const composed = composeMask(model.get("words"), { ...maskStateOf(model), ...changes });
  const inside = (name, size) => Math.min(model.get(name) ?? 0, size - 1);
  const kept = {
    sentence: inside("sentence", composed.sentences),
    edited: inside("edited", composed.keys),
    query: model.get("query") === null ? null : inside("query", composed.queries),
    key: model.get("key") === null ? null : inside("key", composed.keys),
  };
  return { ...kept, ...(preset ? { ...firstLook(preset, composed), edit: "word" } : {}), ...changes };
}

/** The grid and the sentence on the cell under the pointer: {update(snapshot)}. */
function createGrid(sections, model, view) {
  const selected = () => ({ query: model.get("query"), key: model.get("key") });
  /** @type {Cell | null} */
  let hover = null;
  /** @type {Snapshot | null} */
  let shown = null;
  const grid = new MaskGrid(sections.grid, {
    label: "The mask. Space or a click paints a cell; arrow keys move.",
    onPoint: (cell) => {
      hover = cell;
      if (shown) sections.readout.textContent = readout({ ...shown, ...selected() }, hover);
    },
    onPaint: ({ row, col }, value) => {
      const cell = /** @type {[number, number, number]} */ ([model.get("sentence"), row, col]);
      view.set({ painted: paintCell(model.get("words"), maskStateOf(model), cell, value) });
    },
    onChoose: ({ row, col }) => view.set({ query: row, key: col }),
  });
  grid.node.after(sections.readout, sections.rows);

  function update(snapshot) {
    shown = snapshot;
    grid.set(gridOf(snapshot));
    sections.readout.textContent = readout(snapshot, hover);
  }

  return { update };
}

/** @param {Snapshot} snapshot */
function gridOf({ composed, sentence, polarity, query, key, edit, edited, empty }) {
  const may = composed.may[sentence];
  return {
    rowNames: composed.queryTokens[sentence],
    colNames: composed.keyTokens[sentence],
    may,
    textOf: (value) => cellText(value, polarity),
    labelOf: (row, col) =>
      `${cellText(may[row][col], polarity)}. ${describeMaskCell(composed, sentence, row, col)}`,
    painted: new Set(composed.painted.filter(([b]) => b === sentence).map(([, q, k]) => `${q},${k}`)),
    empty,
    edited: edit === "word" ? edited : null,
    chosen: { row: query, col: key },
  };
}

/**
 * The cell under the pointer, or the selected one, in words.
 *
 * @param {Snapshot} snapshot
 * @param {Cell | null} hover
 */
function readout({ composed, sentence, query, key }, hover) {
  // The mask may have become smaller than the place of either.
  const has = (cell) =>
    cell && cell.row !== null && cell.col !== null && cell.row < composed.queries && cell.col < composed.keys;
  const cell = [hover, { row: query, col: key }].find(has);
  if (!cell) return "Point at a cell, or move with the arrow keys. A click or Space paints it.";
  return describeMaskCell(composed, sentence, cell.row, cell.col);
}

/** @param {Snapshot} snapshot */
function rowsSentence({ empty, composed, sentence, polarity }) {
  const marks = marksExplained([...composed.queryTokens[sentence], ...composed.keyTokens[sentence]]);
  if (!empty.length) return `Every query has a key to attend to. ${POLARITY_NOTE[polarity]} ${marks}`.trim();
  const names = empty.map((q) => `${quoted(composed.queryTokens[sentence][q])} (position ${q})`);
  const count = empty.length === 1 ? "One row" : `${empty.length} rows`;
  return `∅ ${count} may attend to nothing: ${names.join(", ")}. ${POLARITY_NOTE[polarity]} ${marks}`.trim();
}

/** @param {Answer} answer */
function isAwaited({ reply, problem }) {
  return !reply && !problem;
}

/** Mark a section whose numbers are those of an earlier state, until the replies are here. */
function setBusy(section, answers) {
  section.setAttribute("aria-busy", String(answers.some(isAwaited)));
}

/** @param {Snapshot} snapshot */
function showLeaks(meter, section, { reply, problem }, snapshot) {
  const { state, composed, sentence, edit, edited } = snapshot;
  meter.set({
    leaks: reply && readLeaks(reply),
    composed,
    state: { ...state, sentence, edit, edited },
    problem,
  });
  setBusy(section, [{ reply, problem }]);
}

/** @param {Snapshot} snapshot */
function showLibraries(table, section, replies, snapshot, theme) {
  const { words, state, composed, sentence, query, empty } = snapshot;
  const formulas = replies.formulas.of(words, state);
  const libraries = replies.libraries.of(words, state);
  const anyEmpty = composed.may.some((rows) => rows.some((row) => !row.some(Boolean)));
  // Hugging Face's takes seconds to load, and differs only where a row is empty.
  const eager = anyEmpty ? replies.eager.of(words, state) : null;
  const row = Math.min(query ?? empty[0] ?? composed.queries, composed.queries - 1);
  setBusy(section, [formulas, libraries]);
  const replied = isAwaited(libraries) ? [] : [formulas, libraries, eager].map((each) => each?.reply);
  const found = replied.filter(Boolean).flatMap(readLibraries);
  table.set(
    {
      libraries: found.length ? found : null,
      missing: formulas.problem ? "" : missingRows(libraries.problem || eager?.problem),
      composed,
      sentence,
      query: row,
      empty: empty.includes(row),
      problem: formulas.problem,
    },
    theme,
  );
}

/** Which rows are not shown, and why; nothing where nothing went wrong. */
function missingRows(problem) {
  return problem ? `What torch and Hugging Face make of this row is not shown. ${problem}` : "";
}

/** @param {Snapshot} snapshot */
function showCode(places, snapshot) {
  const { composed, polarity } = snapshot;
  for (const [library, place] of Object.entries(places)) {
    const lines = maskCode(composed, polarity, library).join("\n");
    if (place.textContent !== lines) place.textContent = lines;
  }
}

function addSections(root) {
  const section = (parent, className, title) => {
    const node = element(parent, "section", className, { "aria-label": title });
    element(node, "div", "vt-heading").textContent = title;
    return node;
  };
  const start = element(root, "div", "vt-presets");
  const about = root.querySelector(":scope > .vt-about");
  if (about) start.after(about); // beside the sentence below, which wraps around it
  const group = (title) => {
    const node = element(start, "div", "vt-controls", { role: "group", "aria-label": title });
    element(node, "span", "vt-label").textContent = title;
    return node;
  };
  const [right, mistakes] = [group("Right masks"), group("Tutorial mistakes")];
  const told = element(root, "p", "vt-told", { role: "status" });
  const controls = element(root, "div", "vt-controls");
  const columns = element(root, "div", "vt-columns");
  const grid = section(columns, "vt-grid", "The mask");
  const leaks = section(columns, "vt-meter", "Leak meter");
  const readout = element(grid, "p", "vt-readout", { role: "status" });
  const rows = element(grid, "p", "vt-rows");
  return { right, mistakes, told, controls, grid, readout, rows, leaks };
}

/** The panels below the mask; each is filled when it is open. */
function addPanels(model, view) {
  const folds = addFolds(view.root, { model, view });
  const shapes = folds.add("shapes", "How the shapes join");
  const code = folds.add("code", "The code for this mask");
  const libraries = folds.add("libraries", "What each library does");
  const listing = (title) => {
    element(code.body, "div", "vt-label").textContent = title;
    return element(code.body, "pre", "", { tabindex: "0", "data-lm-suppress-shortcuts": "true" });
  };
  const listings = { ours: listing("viz_transformer"), torch: listing("torch") };

  /** @param {Snapshot} snapshot */
  function update({ composed, empty }) {
    folds.update();
    const parts = composed.parts.map(({ shape }) => `[${shape.join(", ")}]`).join(" & ");
    const whole = `[${composed.sentences}, 1, ${composed.queries}, ${composed.keys}]`;
    shapes.summarize(parts ? `${parts} → ${whole}` : whole);
    code.summarize("viz_transformer, torch");
    libraries.summarize(empty.length ? "an empty row: they disagree" : "they agree");
  }

  return { shapes, libraries, listings, update };
}

export default { render };
