// The beam stepper's controls: what is searched for and how, and which step is shown.

import { button, choice, element, slider } from "../base/js/controls.js";
import { TASKS } from "../base/js/tasks.js";
import { addTextSizeButtons } from "../base/js/text_size.js";

const METHODS = [
  ["beam", "beam search"],
  ["sample", "sampling"],
];

/**
 * The controls of the search; where no model can be asked, the sentence and the settings are hidden.
 *
 * @param {Element} parent
 * @param {{ model: import("../base/js/kernel.js").Model, view: import("../base/js/view.js").View,
 *   onSearch: (text: string) => void }} options
 * @returns {{ draw: () => void }}
 */
export function searchControls(parent, { model, view, onSearch }) {
  const row = element(parent, "div", "vt-controls vt-beam-form");
  const sentence = sentenceField(row, TASKS[model.get("task")].field, onSearch);
  const checkpoint = checkpointMenu(row, model, view);
  addTextSizeButtons(row, (trait) => model.get(trait), view.set);
  const settings = searchSettings(parent, model, view);

  function draw() {
    const live = Boolean(model.get("live"));
    sentence.draw(model.get("sentence"), live);
    checkpoint.set(model.get("checkpoint"));
    settings.draw(live);
  }

  return { draw };
}

/** The field for another sentence, with its button; `name` says what is typed into it. */
function sentenceField(parent, name, onSearch) {
  const label = element(parent, "label", "vt-field");
  const field = /** @type {HTMLInputElement} */ (
    element(label, "input", "", {
      type: "text",
      "aria-label": name,
      spellcheck: "false",
      autocomplete: "off",
      "data-lm-suppress-shortcuts": "true",
    })
  );
  const search = button(parent, "Search", () => onSearch(field.value));
  // No <form>: JupyterLab keeps the Enter key from submitting one.
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    onSearch(field.value);
  });
  let written = null;

  function draw(sentence, live) {
    label.hidden = search.hidden = !live;
    if (sentence === written) return; // what is typed stays until the sentence changes
    field.value = written = sentence;
  }

  return { draw };
}

/** The menu of the checkpoints, hidden where there is one alone. */
function checkpointMenu(parent, model, view) {
  const names = model.get("checkpoints") ?? [];
  const options = names.map((name) => [name, name]);
  const menu = choice(parent, "checkpoint", options, (name) => view.set({ checkpoint: name, chosen: null }));
  menu.node.hidden = !names.length;
  return menu;
}

/** The method and its numbers. */
function searchSettings(parent, model, view) {
  const row = element(parent, "div", "vt-controls");
  const setter = (trait) => (value) => view.set({ [trait]: value, chosen: null });
  const setTopK = setter("top_k");
  const setTopP = setter("top_p");
  const number = (label, min, max, step, digits, onInput) =>
    slider(row, { label, min, max, step, digits }, onInput);

  const method = choice(row, "method", METHODS, setter("method"));
  const width = number("beam width", 1, 10, 1, 0, setter("beam_width"));
  const penalty = number("length penalty", 0, 2, 0.1, 1, setter("length_penalty"));
  const temperature = number("temperature", 0.1, 3, 0.1, 1, setter("temperature"));
  const topK = number("top-k", 0, 20, 1, 0, (value) => setTopK(value || null));
  const topP = number("top-p", 0.05, 1, 0.05, 2, (value) => setTopP(value < 1 ? value : null));
  const again = button(row, "Draw again", () => setter("seed")((model.get("seed") ?? 0) + 1));
  const seed = element(row, "span", "vt-seed");

  function draw(live) {
    const sampling = model.get("method") === "sample";
    row.hidden = !live;
    method.set(model.get("method"));
    for (const { node } of [width, penalty]) node.hidden = sampling;
    for (const { node } of [temperature, topK, topP]) node.hidden = !sampling;
    again.hidden = seed.hidden = !sampling;
    width.set(model.get("beam_width"));
    penalty.set(model.get("length_penalty"));
    temperature.set(model.get("temperature"));
    setOrAll(topK, model.get("top_k"), 0);
    setOrAll(topP, model.get("top_p"), 1);
    seed.textContent = `seed ${model.get("seed")}`;
  }

  return { draw };
}

/** Set a slider; at one end of it all words are left, and it says so. */
function setOrAll(control, value, end) {
  control.set(value ?? end);
  if (value === null || value === undefined) control.node.querySelector("output").textContent = "all";
}

/**
 * Which step is shown, counted from 0.
 *
 * @param {Element} parent
 * @param {(step: number) => void} onStep
 * @returns {{ draw: (step: number, count: number) => void }}
 */
export function stepBar(parent, onStep) {
  const bar = element(parent, "div", "vt-controls vt-step-bar");
  let [step, count] = [0, 1];
  const back = button(bar, "◀ Back", () => onStep(step - 1));
  const control = slider(bar, { label: "step", min: 1, max: 1, step: 1, digits: 0 }, (value) =>
    onStep(value - 1),
  );
  const next = button(bar, "Next ▶", () => onStep(step + 1));
  const input = control.node.querySelector("input");

  function draw(now, of) {
    [step, count] = [now, of];
    input.max = String(count);
    control.set(step + 1);
    control.node.querySelector("output").textContent = `${step + 1} of ${count}`;
    input.setAttribute("aria-valuetext", `${step + 1} of ${count}`);
    back.disabled = step <= 0;
    next.disabled = step >= count - 1;
  }

  return { draw };
}
