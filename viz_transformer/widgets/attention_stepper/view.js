// The attention stepper: one query of one head, a step at a time, every number with its origin.
//
// State lives in the model's traits. All numbers are computed here from x and the matrices, so that
// the view works the same in a notebook and in a page without Python.

import { element } from "../base/js/controls.js";
import { connectKernel } from "../base/js/kernel.js";
import { tokenStrip } from "../base/js/token_strip.js";
import { createView } from "../base/js/view.js";
import { argmaxFinite, computeHead } from "./attention_math.js";
import { stepOf } from "./derivation.js";
import { layerControls } from "./layer_controls.js";
import { layerSource } from "./layer_source.js";
import { followedCell, isSmall, planOf, resultOf, traitsFollowing } from "./layout.js";
import { numberReadout, stepNarration } from "./readout.js";
import { openStage } from "./stage.js";
import { stepTabs } from "./step_tabs.js";

/** @typedef {import("./attention_math.js").Layer} Layer */
/** @typedef {import("./attention_math.js").Choice} Choice */
/** @typedef {import("./derivation.js").Cell} Cell */
/** @typedef {import("./stage.js").Snapshot} Snapshot */

const CHOICES = ["step", "head", "query", "key", "column", "scale", "mask", "temperature"];
const TRAITS = ["data", "places", ...CHOICES, "text", "kind", "layer"];

/**
 * The choices made to fit a layer, as Python fits them.
 *
 * @param {Layer} layer
 * @param {Record<string, any>} traits
 * @returns {Choice & { step: number }}
 */
export function fitChoice(layer, { step, head, query, key, column, scale, mask, temperature }) {
  const inside = (index, count) => Math.min(Math.max(index ?? 0, 0), count - 1);
  return {
    step: inside(step, layer.steps.length),
    head: inside(head, layer.heads),
    query: inside(query, layer.queries.length),
    key: key === null || key >= layer.keys.length ? null : key,
    column,
    scale,
    mask,
    temperature,
  };
}

function render({ model, el }) {
  const kernel = connectKernel(model);
  const view = createView({
    model,
    el,
    name: "stepper",
    label: "Attention, step by step",
    traits: TRAITS,
    draw,
  });
  const { root } = view;
  const layers = layerSource(model, kernel, {
    onLayer: (place) => {
      controls.setProblem("");
      view.set(place);
    },
    onError: (message) => controls.setProblem(message),
  });
  const snapshots = snapshotMaker(model, layers);
  const controls = layerControls(root, { onChange: view.set, onRequest: layers.request });
  const queries = queryStrip(root, (query) => view.set({ query }));
  const tabs = stepTabs(root, goTo);
  const narration = stepNarration(root, {
    onBack: () => goTo(model.get("step") - 1),
    onNext: () => goTo(model.get("step") + 1),
  });
  const stage = openStage(root, {
    onPoint: (cell) => snapshots.point(cell) && view.redraw(),
    onChoose: (cell) => follow(cell),
  });
  const readout = numberReadout(root, () => {
    snapshots.toggleTerms();
    view.redraw();
  });

  function goTo(step) {
    snapshots.unpoint();
    view.set({ step: Math.min(layers.current().steps.length - 1, Math.max(0, step)) });
  }

  /** Follow a number of this step; of a number that another step computed, go there. */
  function follow(cell) {
    const traits = followed(snapshots.layerAndChoice(), cell);
    if (!traits) return;
    snapshots.unpoint();
    view.set(traits);
  }

  function draw({ theme, width }) {
    const snapshot = snapshots.take();
    const { layer, chosen, step } = snapshot;
    controls.draw(layer, chosen, model.get("places"));
    queries.set(layer.queries, { chosen: chosen.query });
    tabs.draw(snapshot, width, theme);
    narration.draw(snapshot);
    stage.draw(snapshot, width, theme);
    readout.draw(snapshot);
    root.dataset.step = step;
    root.toggleAttribute("data-large", isSmall(layer));
  }

  return () => {
    kernel.close();
    view.close();
  };
}

/** The words to choose the query from. */
function queryStrip(parent, onChoose) {
  const row = element(parent, "div", "vt-looking");
  element(row, "span").textContent = "Query:";
  return tokenStrip(row, { label: "The query: the word that attends", onChoose });
}

/** The traits to set when a cell of the stage is clicked, or null if no step computed it. */
function followed({ layer, chosen }, cell) {
  const made = stepOf(layer, cell.name);
  if (made === null) return null;
  const step = layer.steps[chosen.step];
  const own = [resultOf(layer, step), ...(planOf(layer, step).rows ?? [])];
  return {
    ...traitsFollowing(layer, cell),
    step: own.includes(cell.name) ? chosen.step : layer.steps.indexOf(made),
  };
}

/**
 * What each frame shows, and the cell that is pointed at meanwhile.
 *
 * The head is worked through again only when something that its numbers depend on has changed.
 */
function snapshotMaker(model, layers) {
  let [worked, workedLayer, workedKey] = [null, null, ""];
  let [pointed, whole, pointedKey] = [null, false, ""];

  function layerAndChoice() {
    const layer = layers.current();
    const traits = Object.fromEntries(CHOICES.map((name) => [name, model.get(name) ?? null]));
    return { layer, chosen: fitChoice(layer, traits) };
  }

  /** @returns {Snapshot} */
  function take() {
    const { layer, chosen } = layerAndChoice();
    const step = layer.steps[chosen.step];
    const { head, query, scale, mask, temperature } = chosen;
    const place = [layer.text, layer.kind, layer.layer];
    const key = JSON.stringify([...place, head, query, scale, mask, temperature]);
    if (key !== workedKey || layer !== workedLayer)
      [worked, workedLayer, workedKey] = [computeHead(layer, chosen), layer, key];
    if (`${step} ${key}` !== pointedKey) {
      unpoint();
      [whole, pointedKey] = [false, `${step} ${key}`];
    }
    const matrix = pointed && worked[pointed.name];
    const inside = matrix && pointed.row < matrix.rows && pointed.col < matrix.cols;
    const best = argmaxFinite(worked.weights.values);
    const cell = inside ? pointed : followedCell(layer, worked, chosen, step, best);
    return { layer, worked, chosen, step, cell, whole };
  }

  /** Point at a cell, or at none; whether that is new. */
  function point(cell) {
    if (JSON.stringify(cell) === JSON.stringify(pointed)) return false;
    [pointed, whole] = [cell, false];
    return true;
  }

  function unpoint() {
    pointed = null;
  }

  function toggleTerms() {
    whole = !whole;
  }

  return { layerAndChoice, take, point, unpoint, toggleTerms };
}

export default { render };
