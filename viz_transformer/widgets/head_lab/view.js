// The head lab: switch heads of a live translator off or scale them, and see what its words lose.
//
// State lives in the model's traits. What the function behind the view has answered is kept here,
// under what was asked; a frame shows what is known and asks for the next thing that is not.

import { button, element, markedText, slider } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { headGrid } from "./head_switches.js";
import {
  changesInWords,
  effectInWords,
  factorOf,
  movedInWords,
  sameHead,
  shortName,
  withFactor,
} from "./head_changes.js";
import { wordTable, worthTable } from "./tables.js";
import { canonicalJson, NEEDS_KERNEL, NO_ANSWER, connectKernel } from "../base/js/kernel.js";
import { numberTable } from "../base/js/number_table.js";
import { addTextSizeButtons } from "../base/js/text_size.js";
import { visible } from "../base/js/text.js";
import { differences } from "../base/js/text_difference.js";
import { decodeWeights } from "../base/js/weights.js";

const TRAITS = ["sentence", "factors", "kind", "layer", "head", "query", "text_size"];

/** One head's weights out of a reply: {…words, rows, cols, values}, values flat [query, key]. */
export function headOf(reply, { kind, layer, head }) {
  const entry = reply.kinds.find((each) => each.kind === kind);
  const [, heads, rows, cols] = entry.shape;
  entry.decoded ??= decodeWeights(entry.weights, entry.dtype);
  const start = (layer * heads + head) * rows * cols;
  return { ...entry, rows, cols, values: entry.decoded.subarray(start, start + rows * cols) };
}

/** A flat [query, key] matrix as the lines of a table. */
export function linesOf({ values, rows, cols }) {
  return Array.from({ length: rows }, (_, row) => values.subarray(row * cols, (row + 1) * cols));
}

function render({ model, el }) {
  const kernel = connectKernel(model);
  const view = createView({ model, el, name: "head-lab", label: "Head lab", traits: TRAITS, draw });
  const { root } = view;

  const form = element(root, "div", "vt-controls");
  const field = element(element(form, "label", "vt-field"), "input", "", {
    type: "text",
    "aria-label": "sentence to translate",
    spellcheck: "false",
    autocomplete: "off",
    "data-lm-suppress-shortcuts": "true",
  });
  button(form, "Translate", translate);
  addTextSizeButtons(form, (trait) => model.get(trait), view.set);
  const problem = element(root, "p", "vt-problem", { role: "alert" });
  const translations = element(root, "div", "vt-translations");
  const lines = ["as trained", "with your changes"].map((name) => {
    element(translations, "span", "vt-line-name").textContent = name;
    return element(translations, "div", "vt-translation");
  });
  const says = element(root, "p", "vt-says", { role: "status", "aria-live": "polite" });

  const columns = element(root, "div", "vt-lab-columns");
  const part = (name) => {
    const node = element(columns, "section", "vt-lab-part");
    element(node, "h3", "vt-title").textContent = name;
    return node;
  };
  const gridPart = part("Switch heads off");
  const grid = headGrid(gridPart, { onChoose: choose, onToggle: toggleHead });
  const chosenName = element(gridPart, "div", "vt-chosen-name");
  const factor = slider(gridPart, { label: "factor", min: -1, max: 2, step: 0.05 }, (value) =>
    view.set({ factors: withFactor(state().factors, state().chosen, value) }),
  );
  const reset = button(gridPart, "Reset all", () => view.set({ factors: [] }));
  const words = wordTable(part("What each word loses"));
  const worthPart = part("Does attention tell which head matters?");
  const worth = worthTable(worthPart, {
    onAlone: (place) => view.set({ ...place, ...fitted(place), factors: [{ ...place, factor: 0 }] }),
  });
  const verdict = element(worthPart, "p", "vt-verdict");

  const looks = element(root, "section", "vt-looks");
  const looksTitle = element(looks, "h3", "vt-title");
  const looksSays = element(looks, "p", "vt-looks-says");
  const pair = element(looks, "div", "vt-pair");
  const matrices = ["as trained", "with your changes"].map((name) => {
    const box = element(pair, "div", "vt-matrix");
    const caption = element(box, "div", "vt-part-name");
    caption.textContent = name;
    return numberTable(box, {
      label: `Weights of the chosen head, ${name}`,
      onPoint: (cell) => {
        if (cell?.row !== pointed?.row || cell?.col !== pointed?.col) {
          pointed = cell;
          view.redraw();
        }
      },
      onChoose: ({ row }) => view.set({ query: row === state().query ? null : row }),
    });
  });
  const cellSays = element(looks, "p", "vt-cell-says", { role: "status", "aria-live": "polite" });

  // The newest replies, each with what was asked; what is under way, and what of it takes long; what
  // the viewer does here.
  let [base, each, changed, offered, late, typed, typedProblem, pointed] = Array(8).fill(null);
  const failures = new Map(); // what was asked → why there is no answer, until something changes
  let lastState = "";

  function state() {
    const chosen = { kind: model.get("kind"), layer: model.get("layer"), head: model.get("head") };
    return {
      sentence: model.get("sentence"),
      factors: model.get("factors"),
      chosen,
      query: model.get("query") ?? null,
    };
  }

  /** The pinned word is let go where the newly chosen head has other queries. */
  function fitted(place) {
    const encoder = (kind) => kind === "encoder";
    return encoder(place.kind) === encoder(state().chosen.kind) ? {} : { query: null };
  }

  function choose(place) {
    view.set({ ...place, ...fitted(place) });
  }

  function toggleHead(place) {
    const { factors } = state();
    view.set({
      ...place,
      ...fitted(place),
      factors: withFactor(factors, place, factorOf(factors, place) === 0 ? 1 : 0),
    });
  }

  // No <form>: JupyterLab keeps the Enter key from submitting one.
  view.listen(field, "keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    translate();
  });

  function translate() {
    typed = field.value;
    typedProblem = null;
    const asked = typed;
    const request = { sentence: asked, changes: [] };
    const ifNewest = (then) => (value) => {
      if (typed !== asked) return; // another sentence was typed meanwhile
      typed = null;
      then(value);
    };
    kernel
      .ask(request, () => {
        if (typed === asked) tellTyped(NO_ANSWER);
      })
      .then(
        ifNewest((reply) => {
          typedProblem = null;
          base = { ...reply, request, asked: canonicalJson(request) };
          view.set({ sentence: asked, query: null });
        }),
        ifNewest((error) => tellTyped(error.message)),
      );
  }

  function tellTyped(message) {
    typedProblem = message;
    view.redraw();
  }

  /** Ask for the first thing that is not known; its reply asks for a frame, and that for the next. */
  function fetchMissing({ sentence, factors }) {
    const stateNow = canonicalJson([sentence, factors]);
    if (stateNow !== lastState) failures.clear();
    lastState = stateNow;
    const missing = [
      [
        base,
        { sentence, changes: [] },
        (reply) => {
          base = reply;
        },
      ],
      [
        each,
        { sentence, each: 0 },
        (reply) => {
          each = reply;
        },
      ],
      ...(factors.length
        ? [
            [
              changed,
              { sentence, changes: factors },
              (reply) => {
                changed = reply;
              },
            ],
          ]
        : []),
    ]
      .map(([known, request, keep]) => ({ known, request, keep, asked: canonicalJson(request) }))
      .find(({ known, asked }) => known?.asked !== asked && !failures.has(asked));
    if (!missing || offered === missing.asked) return;
    const { request, keep, asked } = missing;
    offered = asked;
    const settle = (then) => (value) => {
      if (offered === asked) offered = null;
      then(value);
      view.redraw();
    };
    kernel.latest(
      request,
      settle((reply) => keep({ ...reply, asked, request })),
      settle((error) => failures.set(asked, error.message)),
      () => {
        late = asked; // still offered: nothing else is asked for in its place
        view.redraw();
      },
    );
  }

  function draw({ theme, width }) {
    const size = model.get("text_size") ?? 1;
    root.style.fontSize = `${14 * size}px`;
    root.dataset.layout = width / size >= 900 ? "wide" : width / size >= 620 ? "medium" : "narrow";
    const now = state();
    fetchMissing(now);
    if (field.dataset.of !== now.sentence) {
      field.dataset.of = now.sentence;
      field.value = now.sentence;
    }
    if (!base) {
      showProblem(now, null);
      return;
    }
    const here = base.request.sentence === now.sentence;
    const wanted = canonicalJson({ sentence: now.sentence, changes: now.factors });
    // Until the newest reply is here, the last one stays, with what it is a picture of.
    const fits = changed?.request.sentence === base.request.sentence;
    const after = !now.factors.length ? base : fits ? changed : base;
    const current = here && after.asked === wanted;
    root.dataset.stale = String(!current || each?.request.sentence !== now.sentence);
    showProblem(now, after);
    showTranslations(after);
    say(says, `${changesInWords(after.request.changes)} ${effectInWords(base, after)}`);

    const kinds = base.kinds.map(({ kind, shape }) => ({ kind, layers: shape[0], heads: shape[1] }));
    grid.set(kinds, now.factors, now.chosen);
    say(chosenName, `Chosen: ${shortName(now.chosen)}`);
    factor.set(factorOf(now.factors, now.chosen));
    reset.disabled = !now.factors.length;
    words.set(base, after);
    if (each) {
      worth.set(each, now.factors, now.chosen);
      say(verdict, `${each.words} Attention is not an explanation.`);
    }
    showLooks(now, after, theme);
  }

  function showProblem({ sentence }, after) {
    const [why = offered && offered === late ? NO_ANSWER : undefined] = failures.values();
    const failure =
      why === NEEDS_KERNEL ? `${why} Without it, this page knows each head alone switched off.` : why;
    const still =
      after && `Shown still: ${visible(after.request.sentence)}. ${changesInWords(after.request.changes)}`;
    const text = typedProblem
      ? `${sentenceEnd(typedProblem)} The picture still shows “${visible(sentence)}”.`
      : failure
        ? [sentenceEnd(failure), still].filter(Boolean).join(" ")
        : "";
    problem.hidden = !text;
    say(problem, text);
  }

  function showTranslations(after) {
    const marks = differences(base.translation, after.translation);
    [base, after].forEach(({ translation }, which) => {
      const told = JSON.stringify([translation, marks[which]]);
      if (lines[which].dataset.told === told) return;
      lines[which].dataset.told = told;
      lines[which].replaceChildren(...markedText(translation, marks[which]));
    });
  }

  function showLooks({ chosen, query, factors }, after, theme) {
    const [first, second] = [base, after].map((reply) => headOf(reply, chosen));
    say(
      looksTitle,
      `Where it looks: ${ATTENTION_KINDS[chosen.kind].label} · layer ${chosen.layer} · head ${chosen.head}`,
    );
    const alone = factors.some((place) => sameHead(place, chosen));
    const why = alone ? " The factor changes what this head says, not where it looks." : "";
    say(
      looksSays,
      after === base
        ? "Rows look, columns are looked at; click a row to pin it."
        : movedInWords(first.values, second.values, first) + why,
    );
    pair.children[1].hidden = after === base;
    [first, second].forEach((entry, which) => {
      matrices[which].set(
        {
          values: linesOf(entry),
          rowNames: entry.queries,
          colNames: entry.keys,
          digits: 2,
          scale: "weight",
          chosen: pointed,
          marked: (row) => (row === query ? "vt-pinned" : ""),
        },
        theme,
      );
    });
    const at = pointed && pointed.row < first.rows && pointed.col < first.cols ? pointed : null;
    say(cellSays, cellInWords(first, second, at, query, after !== base));
  }

  view.listen(field, "input", () => {
    if (!typedProblem) return;
    typedProblem = null;
    view.redraw();
  });

  return () => {
    kernel.close();
    view.close();
  };
}

/** A cell under the pointer, else the pinned row's strongest, in words. */
export function cellInWords(first, second, at, query, changed) {
  const row = at?.row ?? query;
  if (row === null || row >= first.rows) return "";
  const weights = first.values.subarray(row * first.cols, (row + 1) * first.cols);
  const col = at?.col ?? weights.indexOf(Math.max(...weights));
  const rank = 1 + weights.filter((weight) => weight > weights[col]).length;
  const place = row * first.cols + col;
  const now = changed ? `; with your changes ${second.values[place].toFixed(2)}` : "";
  return `${visible(first.queries[row])} to ${visible(first.keys[col])}: ${first.values[place].toFixed(2)}, rank ${rank} of ${first.cols}${now}`;
}

function sentenceEnd(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function say(node, text) {
  if (node.textContent !== text) node.textContent = text; // a screen reader speaks each change once
}

export default { render };
