// The controls of a layer: which attention and head, which sentence, which switches.

import { button, choice, element, slider, toggle } from "../base/js/controls.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { layerName } from "./narration.js";

/**
 * The controls; `onChange` gets traits to set, `onRequest` another sentence, kind or layer.
 *
 * @param {Element} parent
 * @param {{ onChange: (traits: Record<string, unknown>) => void,
 *   onRequest: (place: import("./layer_source.js").Place) => void }} listeners
 * @returns {{ draw: (layer: import("./attention_math.js").Layer, chosen: import("./attention_math.js").Choice,
 *   places: [string, number][]) => void, setProblem: (message: string) => void }}
 */
export function layerControls(parent, { onChange, onRequest }) {
  const menus = layerMenus(parent, { onChange, onRequest });
  const sentence = sentenceForm(parent, onRequest, () => setProblem(""));
  const switches = headSwitches(parent, onChange);
  const problem = element(parent, "div", "vt-problem", { role: "alert" });
  problem.hidden = true;

  function setProblem(message) {
    if (message) problem.textContent = message;
    problem.hidden = !message;
  }

  function draw(layer, chosen, places) {
    menus.draw(layer, chosen, places);
    sentence.draw(layer, places.length > 0);
    switches.draw(layer, chosen);
  }

  return { draw, setProblem };
}

/** The title, and the menus of the attention and of the head. */
function layerMenus(parent, { onChange, onRequest }) {
  const row = element(parent, "div", "vt-controls vt-top");
  const title = element(row, "div", "vt-title", { role: "heading", "aria-level": "3" });
  const attentions = menu(row, "attention", (value) => {
    const [kind, index] = value.split(" ");
    onRequest({ kind, layer: Number(index) });
  });
  const heads = menu(row, "head", (value) => onChange({ head: Number(value) }));

  function draw(layer, { head }, places) {
    title.textContent = layerName(layer, head);
    title.classList.toggle("vt-unseen", places.length > 0); // the menus beside it say the same
    attentions.draw(
      places.map(([kind, index]) => [`${kind} ${index}`, `${ATTENTION_KINDS[kind].name}, layer ${index}`]),
      `${layer.kind} ${layer.layer}`,
    );
    const count = layer.heads > 1 ? layer.heads : 0;
    heads.draw(
      Array.from({ length: count }, (_, i) => [String(i), String(i)]),
      String(head),
    );
  }

  return { draw };
}

/** A menu that is built again only when its options change, and is absent without any. */
function menu(parent, label, onSelect) {
  const box = element(parent, "div");
  let [built, select] = ["[]", null];

  function draw(options, value) {
    const key = JSON.stringify(options);
    if (key !== built) {
      built = key;
      box.replaceChildren();
      select = options.length ? choice(box, label, options, onSelect) : null;
    }
    select?.set(value);
  }

  return { draw };
}

/** The field for another sentence. */
function sentenceForm(parent, onRequest, onInput) {
  const form = element(parent, "form", "vt-controls vt-asking");
  const field = /** @type {HTMLInputElement} */ (
    element(form, "input", "vt-field", {
      type: "text",
      "aria-label": "Sentence",
      "data-lm-suppress-shortcuts": "true",
    })
  );
  button(form, "Show", () => {}).type = "submit";
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onRequest({ text: field.value });
  });
  field.addEventListener("keydown", (event) => event.stopPropagation());
  field.addEventListener("input", onInput);

  function draw(layer, shown) {
    form.hidden = !shown;
    if (document.activeElement !== field) field.value = layer.text;
  }

  return { draw };
}

/** What changes the chosen head: scaling, mask and temperature. */
function headSwitches(parent, onChange) {
  const row = element(parent, "div", "vt-controls vt-switches");
  const scale = toggle(row, "÷ √d_k", (on) => onChange({ scale: on }));
  const mask = toggle(row, "mask", (on) => onChange({ mask: on }));
  const range = { label: "temperature", min: 0.1, max: 5, step: 0.1, digits: 1 };
  const temperature = slider(row, range, (value) => onChange({ temperature: value }));

  function draw(layer, chosen) {
    scale.set(chosen.scale);
    mask.set(chosen.mask);
    mask.node.hidden = !layer.steps.includes("masked");
    temperature.set(chosen.temperature);
  }

  return { draw };
}
