// The head lab: heads of a live model switched off or scaled, and the effect on its words.
//
// The state lives in the model's traits. Each frame reads it once, shows the replies that are
// there, and requests the next one that is missing.

import { button, element, markedText, setText, slider } from "../base/js/controls.js";
import { connectKernel } from "../base/js/kernel.js";
import { TASKS } from "../base/js/tasks.js";
import { differences } from "../base/js/text_difference.js";
import { createView } from "../base/js/view.js";
import { changesInWords, effectInWords, factorOf, shortName, withFactor } from "./head_changes.js";
import { effectsInWords, headEffects } from "./head_effects.js";
import { HeadSwitches } from "./head_switches.js";
import { addHeadWeights } from "./head_weights.js";
import { Replies } from "./replies.js";
import { SentenceForm } from "./sentence_form.js";
import { effectTable, wordTable } from "./tables.js";

/** @import { Factor, Head } from "./head_changes.js" */

const TRAITS = ["sentence", "factors", "kind", "layer", "head", "query", "text_size"];

/** @typedef {{sentence: string, factors: Factor[], chosen: Head, query: number | null}} State */

/**
 * @param {any} model
 * @returns {State}
 */
function stateOf(model) {
  return {
    sentence: model.get("sentence"),
    factors: model.get("factors"),
    chosen: { kind: model.get("kind"), layer: model.get("layer"), head: model.get("head") },
    query: model.get("query") ?? null,
  };
}

function render({ model, el }) {
  const view = createView({ model, el, name: "head-lab", label: "Head lab", traits: TRAITS, draw });
  const { root } = view;
  const kernel = connectKernel(model);
  const replies = new Replies(kernel, view.redraw);
  const form = new SentenceForm(root, { model, view, kernel, replies });
  const translations = addTranslations(root);
  const says = element(root, "p", "vt-says", { role: "status", "aria-live": "polite" });
  const columns = element(root, "div", "vt-lab-columns");
  const heads = addHeads(addPart(columns, "Switch heads off"), model, view);
  const words = wordTable(addPart(columns, "What each word loses"), TASKS[model.get("task")].words);
  const matters = addPart(columns, "Which head matters?");
  const weights = addHeadWeights(columns, model, view);
  const effects = addEffects(matters, element(columns, "p", "vt-verdict"), model, view);

  function draw({ theme, width, size }) {
    root.dataset.layout = width / size >= 780 ? "wide" : width / size >= 620 ? "medium" : "narrow";
    const state = stateOf(model);
    replies.fetchMissing(state);
    const { base } = replies;
    const after = base && replies.after(state);
    form.update(state, after);
    if (!base) return;
    root.dataset.stale = String(!replies.isCurrent(state));
    translations.update(base, after);
    setText(says, `${changesInWords(after.request.changes)} ${effectInWords(base, after)}`);
    heads.update(state, base, theme);
    words.set(base, after);
    if (replies.effects) effects.update(state, replies.effects);
    weights.update(state, base, after, theme);
  }

  return () => {
    kernel.close();
    view.close();
  };
}

function addPart(parent, title) {
  const node = element(parent, "section", "vt-lab-part");
  element(node, "h3", "vt-title").textContent = title;
  return node;
}

/** The two translations, with the words that differ marked. */
function addTranslations(root) {
  const box = element(root, "div", "vt-translations");
  const lines = ["as trained", "with your changes"].map((name) => {
    element(box, "span", "vt-line-name").textContent = name;
    return element(box, "div", "vt-translation");
  });

  function update(base, after) {
    const marks = differences(base.translation, after.translation);
    [base, after].forEach(({ translation }, which) => {
      const shown = JSON.stringify([translation, marks[which]]);
      if (lines[which].dataset.shown === shown) return;
      lines[which].dataset.shown = shown;
      lines[which].replaceChildren(...markedText(translation, marks[which]));
    });
  }

  return { update };
}

/** The switches of all heads, and the factor of the chosen one. */
function addHeads(part, model, view) {
  const grid = new HeadSwitches(part, {
    onChoose: (head) => view.set(selection(model, head)),
    onToggle: (head) => {
      const factors = model.get("factors");
      const toggled = withFactor(factors, head, factorOf(factors, head) === 0 ? 1 : 0);
      view.set({ ...selection(model, head), factors: toggled });
    },
  });
  const name = element(part, "div", "vt-chosen-name");
  const factor = slider(part, { label: "factor", min: -1, max: 2, step: 0.05 }, (value) => {
    const { factors, chosen } = stateOf(model);
    view.set({ factors: withFactor(factors, chosen, value) });
  });
  const reset = button(part, "Reset all", () => view.set({ factors: [] }));

  /** @param {State} state */
  function update({ factors, chosen }, base, theme) {
    const kinds = base.kinds.map(({ kind, shape }) => ({ kind, layers: shape[0], heads: shape[1] }));
    grid.set(kinds, factors, chosen);
    grid.paint(base, theme);
    setText(name, `Chosen: ${shortName(chosen)}`);
    factor.set(factorOf(factors, chosen));
    reset.disabled = !factors.length;
  }

  return { update };
}

/** The table of each head's effect, and what it says of attention. */
function addEffects(part, verdict, model, view) {
  const table = effectTable(part, {
    onAlone: (head) => view.set({ ...selection(model, head), factors: [{ ...head, factor: 0 }] }),
  });
  let [shown, effects] = [null, []];

  /** @param {State} state */
  function update({ factors, chosen }, reply) {
    if (reply !== shown) {
      [shown, effects] = [reply, headEffects(reply)];
      setText(verdict, `${effectsInWords(effects)} A sharp picture proves no importance.`);
    }
    table.set(effects, factors, chosen);
  }

  return { update };
}

/**
 * The traits that choose a head; a pinned query is dropped if the new head has other queries.
 *
 * @param {any} model
 * @param {Head} head
 */
function selection(model, { kind, layer, head }) {
  const sameQueries = (kind === "encoder") === (model.get("kind") === "encoder");
  return { kind, layer, head, ...(sameQueries ? {} : { query: null }) };
}

export default { render };
