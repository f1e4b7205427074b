// The mask lab: compose a mask, paint it, and see what leaks through it in a live model.
//
// State lives in the model's traits; the mask is composed here from them. Replies of the kernel
// are kept with the request that they answer, and shown only while that is still the state.

import { choice, button, element, slider, toggle } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import { canonicalJson, connectKernel } from "../base/js/kernel.js";
import { maskCode } from "./mask_code.js";
import { maskGrid } from "./mask_grid.js";
import { leakMeter, readLeaks } from "./leak_meter.js";
import { libraryTable, readLibraries } from "./library_table.js";
import {
  cellText,
  composeMask,
  describeMaskCell,
  emptyRows,
  firstLook,
  paintCell,
  presetOf,
  PRESETS,
  quoted_,
} from "./mask_rules.js";
import { shapesPicture } from "./broadcasting.js";

const MASK_TRAITS = ["kind", "side", "padding", "causal", "mistake", "lengths", "painted"];
const CHOSEN = ["polarity", "sentence", "query", "key", "edit", "edited"];
const POLARITY_TEXT = {
  may: "True = may attend",
  may_not: "True = may NOT attend",
  additive: "0 or −∞, added to scores",
};
const POLARITY_NOTE = {
  may: "True = may attend: in viz_transformer and in F.scaled_dot_product_attention.",
  may_not: "True = may NOT attend: in nn.MultiheadAttention, for attn_mask and key_padding_mask.",
  additive: "0 = may attend, −∞ = may not: a float mask that is added to the scores, in all of torch.",
};

function render({ model, el }) {
  const stateNow = () => Object.fromEntries(MASK_TRAITS.map((name) => [name, model.get(name)]));
  const view = createView({
    model,
    el,
    name: "mask-lab",
    label: "Mask lab",
    traits: ["words", ...MASK_TRAITS, ...CHOSEN],
    draw,
  });
  const parts = buildParts(view.root);
  const asked = ["leaks", "libraries", "eager"].map((ask) => openReplies(model, ask, view.redraw));
  let hover = null;

  // --- what the viewer does -------------------------------------------------------------------

  /** A change of what the mask is made of; what is chosen is brought inside the new mask. */
  function change(changes, look = null) {
    const state = { ...stateNow(), ...changes };
    const composed = composeMask(model.get("words"), state);
    const inside = (name, size) => Math.min(model.get(name) ?? 0, size - 1);
    const kept = {
      sentence: inside("sentence", composed.sentences),
      edited: inside("edited", composed.keys),
      query: model.get("query") === null ? null : inside("query", composed.queries),
      key: model.get("key") === null ? null : inside("key", composed.keys),
    };
    view.set({ ...kept, ...(look ? { ...firstLook(look, composed), edit: "word" } : {}), ...changes });
  }
  function paint({ row, col }, value) {
    const state = stateNow();
    view.set({ painted: paintCell(model.get("words"), state, [model.get("sentence"), row, col], value) });
  }

  const presets = PRESETS.map((preset) => {
    const pressed = toggle(preset.right ? parts.right : parts.mistakes, preset.name, () =>
      change({ ...preset.state, painted: [] }, preset),
    );
    return { preset, pressed };
  });
  const kind = choice(
    parts.controls,
    "Attention",
    [
      ["encoder", "encoder, self"],
      ["decoder", "decoder, self"],
      ["cross", "cross"],
    ],
    (value) => change({ kind: value, mistake: "none", painted: [] }),
  );
  const padding = toggle(parts.controls, "hide padding", (on) => change({ padding: on }));
  const causal = toggle(parts.controls, "hide what comes later", (on) => change({ causal: on }));
  const side = choice(
    parts.controls,
    "Padding stands",
    [
      ["right", "right of the words"],
      ["left", "left of the words"],
    ],
    (value) => change({ side: value, painted: [] }),
  );
  const polarity = choice(parts.controls, "Cells say", Object.entries(POLARITY_TEXT), (value) =>
    view.set({ polarity: value }),
  );
  const sentences = choice(parts.batch, "Sentence", [], (value) => view.set({ sentence: Number(value) }));
  const length = slider(
    parts.batch,
    { label: "tokens kept", min: 1, max: 2, step: 1, digits: 0 },
    (value) => {
      const lengths = [...model.get("lengths")];
      lengths[model.get("sentence") % lengths.length] = value;
      change({ lengths, painted: [] });
    },
  );
  const clear = button(parts.batch, "clear paint", () => view.set({ painted: [] }));
  const grid = maskGrid(parts.grid, {
    label: "The mask. Space or a click paints a cell; arrow keys move.",
    onPoint: (cell) => {
      hover = cell;
      if (composed) parts.readout.textContent = readout();
    },
    onPaint: paint,
    onChoose: ({ row, col }) => view.set({ query: row, key: col }),
  });
  grid.node.after(parts.readout, parts.rows);
  const leaks = leakMeter(parts.leaks, { onEdit: (edit) => view.set(edit) });
  const shapes = shapesPicture(parts.shapes);
  const libraries = libraryTable(parts.libraries);

  // --- what is shown --------------------------------------------------------------------------

  let composed = null;
  function readout() {
    // What is under the pointer, or chosen, may be gone from a mask that became smaller.
    const has = (cell) =>
      cell &&
      cell.row !== null &&
      cell.col !== null &&
      cell.row < composed.queries &&
      cell.col < composed.keys;
    const cell = [hover, { row: model.get("query"), col: model.get("key") }].find(has);
    if (!cell) return "Point at a cell, or move with the arrow keys. A click or Space paints it.";
    return describeMaskCell(
      composed,
      Math.min(model.get("sentence"), composed.sentences - 1),
      cell.row,
      cell.col,
    );
  }

  function draw({ theme, width }) {
    const state = stateNow();
    const chosen = Object.fromEntries(CHOSEN.map((name) => [name, model.get(name)]));
    composed = composeMask(model.get("words"), state);
    for (const [name, size] of [
      ["sentence", composed.sentences],
      ["edited", composed.keys],
    ])
      chosen[name] = Math.min(chosen[name], size - 1);
    const { sentence } = chosen;
    view.root.dataset.layout = width >= 1000 ? "wide" : width >= 740 ? "medium" : "narrow";
    const shown = presetOf(state);
    for (const { preset, pressed } of presets) pressed.set(preset === shown);
    parts.told.textContent = `${shown?.text ?? "A mask of your own making."}${composed.painted.length ? " Underlined cells are painted by hand." : ""}`;
    kind.set(state.kind);
    side.set(state.side);
    padding.set(state.padding);
    causal.set(state.causal);
    polarity.set(chosen.polarity);
    setSentences(sentences, composed, sentence);
    const base = sentence % state.lengths.length;
    const input = length.node.querySelector("input");
    const words = model.get("words");
    input.max = String(Math.max(words.source[base].length, words.target[base].length));
    length.set(state.lengths[base]);
    clear.disabled = state.painted.length === 0;

    const empty = emptyRows(composed, sentence);
    grid.set({
      rowNames: composed.queriesOf[sentence],
      colNames: composed.keysOf[sentence],
      may: composed.may[sentence],
      textOf: (may) => cellText(may, chosen.polarity),
      labelOf: (row, col) =>
        `${cellText(composed.may[sentence][row][col], chosen.polarity)}. ${describeMaskCell(composed, sentence, row, col)}`,
      painted: new Set(composed.painted.filter(([b]) => b === sentence).map(([, q, k]) => `${q},${k}`)),
      empty,
      edited: chosen.edit === "word" ? chosen.edited : null,
      chosen: { row: chosen.query, col: chosen.key },
    });
    parts.readout.textContent = readout();
    parts.rows.textContent = `${emptySentence(empty, composed, sentence)} ${POLARITY_NOTE[chosen.polarity]}`;

    const [leak, library, eager] = asked.map((replies) => replies.of(state));
    leaks.set({
      leaks: leak.reply && readLeaks(leak.reply),
      composed,
      state: { ...state, ...chosen },
      problem: leak.problem,
    });
    const anywhere = composed.may.some((rows) => rows.some((row) => !row.some(Boolean)));
    const theirs = anywhere ? eager.ask() : null; // loading it takes seconds, and elsewhere all agree
    const query = Math.min(chosen.query ?? empty[0] ?? composed.queries, composed.queries - 1);
    for (const [section, { reply, problem }] of [
      [parts.leaks, leak],
      [parts.libraries, library],
    ]) {
      section.setAttribute("aria-busy", String(!reply && !problem)); // what is shown is that of the last state
    }
    libraries.set(
      {
        libraries: library.reply && [
          ...readLibraries(library.reply),
          ...(theirs?.reply ? readLibraries(theirs.reply) : []),
        ],
        composed,
        sentence,
        query,
        empty: empty.includes(query),
        problem: library.problem,
      },
      theme,
    );
    shapes.set(composed, chosen, theme, parts.shapes.clientWidth || width);
    for (const [name, place] of Object.entries(parts.code)) {
      const lines = maskCode(composed, chosen.polarity, name).join("\n");
      if (place.textContent !== lines) place.textContent = lines;
    }
  }

  return () => {
    for (const replies of asked) replies.close();
    view.close();
  };
}

/** The kernel's replies to one question: `of(state)` is {reply, problem} and asks where it must. */
function openReplies(model, ask, changed) {
  const kernel = connectKernel(model);
  let [want, have] = ["", { at: "", reply: null, problem: "" }];
  const current = (request) => {
    const at = canonicalJson(request);
    if (at !== want) {
      want = at;
      const keep = (reply, problem) => {
        have = { at, reply, problem };
        changed();
      };
      kernel.latest(
        request,
        (reply) => keep(reply, ""),
        (error) => keep(null, error.message),
      );
    }
    return have.at === at ? have : { reply: null, problem: "" };
  };
  return {
    of(state) {
      const request = { ask, ...state };
      return ask === "eager" ? { ask: () => current(request) } : current(request);
    },
    close: kernel.close,
  };
}

function buildParts(root) {
  const section = (parent, className, title) => {
    const node = element(parent, "section", className, { "aria-label": title });
    element(node, "div", "vt-heading").textContent = title;
    return node;
  };
  const start = element(root, "div", "vt-presets");
  const group = (title) => {
    const node = element(start, "div", "vt-controls", { role: "group", "aria-label": title });
    element(node, "span", "vt-label").textContent = title;
    return node;
  };
  const [right, mistakes] = [group("Right masks"), group("Mistakes from tutorials")];
  const told = element(root, "p", "vt-told", { role: "status" });
  const controls = element(root, "div", "vt-controls");
  const columns = element(root, "div", "vt-columns");
  const grid = section(columns, "vt-grid", "The mask");
  const batch = element(grid, "div", "vt-controls");
  const leaks = section(columns, "vt-meter", "Leak meter");
  const readout = element(grid, "p", "vt-readout", { role: "status" });
  const rows = element(grid, "p", "vt-rows");
  const lower = element(root, "div", "vt-columns vt-lower");
  const shapes = section(lower, "vt-shapes", "How the shapes are joined");
  const code = section(lower, "vt-code", "The code that makes this mask");
  const listing = (title) => {
    element(code, "div", "vt-label").textContent = title;
    return element(code, "pre", "", { tabindex: "0", "data-lm-suppress-shortcuts": "true" });
  };
  const libraries = section(root, "vt-libraries", "What each library does with a row");
  return {
    right,
    mistakes,
    told,
    controls,
    batch,
    grid,
    readout,
    rows,
    leaks,
    shapes,
    libraries,
    code: { ours: listing("viz_transformer"), torch: listing("torch") },
  };
}

function setSentences(sentences, composed, chosen) {
  const select = sentences.node.querySelector("select");
  const names = composed.keysOf.map(
    (tokens, b) => `${b + 1} of ${composed.sentences}: ${tokens.filter(composed.isWord).join(" ")}`,
  );
  if (select.dataset.names !== names.join("\n")) {
    select.dataset.names = names.join("\n");
    select.replaceChildren(
      ...names.map((name, b) => {
        const option = document.createElement("option");
        option.value = String(b);
        option.textContent = name;
        return option;
      }),
    );
  }
  sentences.set(String(chosen));
}

function emptySentence(empty, composed, sentence) {
  if (!empty.length) return "Every query has something to look at.";
  const names = empty.map((q) => `${quoted_(composed.queriesOf[sentence][q])} (position ${q})`);
  return `∅ ${empty.length === 1 ? "One row" : `${empty.length} rows`} may look at nothing: ${names.join(", ")}.`;
}

export default { render };
