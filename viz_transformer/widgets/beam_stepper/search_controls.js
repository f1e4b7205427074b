// The beam stepper's controls: what is searched for and how, and which step is shown.

import { button, choice, element, slider } from "../base/js/controls.js";
import { addTextSizeButtons } from "../base/js/text_size.js";

const ALL = "all";

/**
 * The controls of the search: {set(shown)}; they are there where a model can be asked.
 *
 * `search(text)` hears that another sentence is wanted; the numbers are set as traits.
 */
export function beamBar(parent, { model, view, search }) {
  const form = element(parent, "div", "vt-controls vt-beam-form");
  const fieldLabel = element(form, "label", "vt-field");
  const field = element(fieldLabel, "input", "", {
    type: "text",
    "aria-label": "sentence to translate",
    spellcheck: "false",
    autocomplete: "off",
    "data-lm-suppress-shortcuts": "true",
  });
  const go = button(form, "Search", () => search(field.value));
  // No <form>: JupyterLab keeps the Enter key from submitting one.
  view.listen(field, "keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    search(field.value);
  });
  const names = model.get("checkpoints") ?? [];
  const checkpoint = choice(
    form,
    "checkpoint",
    names.map((name) => [name, name]),
    (name) => view.set({ checkpoint: name, chosen: null }),
  );
  checkpoint.node.hidden = !names.length;
  addTextSizeButtons(form, (trait) => model.get(trait), view.set);

  const bar = element(parent, "div", "vt-controls");
  const change =
    (name, of = (value) => value) =>
    (value) =>
      view.set({ [name]: of(value), chosen: null });
  const method = choice(
    bar,
    "method",
    [
      ["beam", "beam search"],
      ["sample", "sampling"],
    ],
    change("method"),
  );
  const width = slider(
    bar,
    { label: "beam width", min: 1, max: 10, step: 1, digits: 0 },
    change("beam_width"),
  );
  const penalty = slider(
    bar,
    { label: "length penalty", min: 0, max: 2, step: 0.1, digits: 1 },
    change("length_penalty"),
  );
  const temperature = slider(
    bar,
    { label: "temperature", min: 0.1, max: 3, step: 0.1, digits: 1 },
    change("temperature"),
  );
  const topK = slider(
    bar,
    { label: "top-k", min: 0, max: 20, step: 1, digits: 0 },
    change("top_k", (value) => value || null),
  );
  const topP = slider(
    bar,
    { label: "top-p", min: 0.05, max: 1, step: 0.05, digits: 2 },
    change("top_p", (value) => (value < 1 ? value : null)),
  );
  const again = button(bar, "Draw again", () =>
    view.set({ seed: (model.get("seed") ?? 0) + 1, chosen: null }),
  );
  const seed = element(bar, "span", "vt-seed");
  const ofBeam = [width, penalty].map(({ node }) => node);
  const ofSample = [temperature, topK, topP].map(({ node }) => node).concat(again, seed);

  /** A slider's number; one end of it leaves all words, and says so. */
  function setOrAll(control, value, end) {
    control.set(value ?? end);
    if (value === null || value === undefined) control.node.querySelector("output").textContent = ALL;
  }

  function set() {
    const live = Boolean(model.get("live"));
    const sampling = model.get("method") === "sample";
    fieldLabel.hidden = go.hidden = bar.hidden = !live;
    const sentence = model.get("sentence");
    if (field.dataset.of !== sentence) field.value = field.dataset.of = sentence;
    checkpoint.set(model.get("checkpoint"));
    method.set(model.get("method"));
    for (const node of ofBeam) node.hidden = sampling;
    for (const node of ofSample) node.hidden = !sampling;
    width.set(model.get("beam_width"));
    penalty.set(model.get("length_penalty"));
    temperature.set(model.get("temperature"));
    setOrAll(topK, model.get("top_k"), 0);
    setOrAll(topP, model.get("top_p"), 1);
    seed.textContent = `seed ${model.get("seed")}`;
  }

  return { set };
}

/** Which step is shown: {set(step, count)}; `onStep(step)` hears the viewer, counted from 0. */
export function stepBar(parent, onStep) {
  const bar = element(parent, "div", "vt-controls vt-step-bar");
  let [step, count] = [0, 1];
  const back = button(bar, "◀ Back", () => onStep(step - 1));
  const control = slider(bar, { label: "step", min: 1, max: 1, step: 1, digits: 0 }, (value) =>
    onStep(value - 1),
  );
  const next = button(bar, "Next ▶", () => onStep(step + 1));
  const input = control.node.querySelector("input");

  function set(now, of) {
    [step, count] = [now, of];
    input.max = String(count);
    control.set(step + 1);
    control.node.querySelector("output").textContent = `${step + 1} of ${count}`;
    input.setAttribute("aria-valuetext", `${step + 1} of ${count}`);
    back.disabled = step <= 0;
    next.disabled = step >= count - 1;
  }

  return { set };
}
