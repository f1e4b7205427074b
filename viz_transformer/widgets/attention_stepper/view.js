// The attention stepper: one query of one head, a step at a time, every number with its origin.
//
// State lives in the model's traits. All numbers are computed here from x and the matrices, so that
// the view works the same in a notebook and in a page without Python.

import { button, choice, element, slider, toggle } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import { connectKernel } from "../base/js/kernel.js";
import { stepBar } from "./step_bar.js";
import { formulaOf, lineOf, madeIn, placeOf } from "./derivation.js";
import { largest, unpackSteps, workThrough } from "./attention_math.js";
import { followedBy, followedCell, isSmall, planOf, resultOf } from "./layout.js";
import { openStage } from "./stage.js";
import { layerName, meaningOf, sentenceOf, titleOf } from "./narration.js";
import { tokenStrip } from "../base/js/token_strip.js";

const TRAITS = [
  "data",
  "places",
  "step",
  "head",
  "query",
  "key",
  "column",
  "scale",
  "mask",
  "temperature",
  "text",
  "kind",
  "layer",
];
const KINDS = { encoder: "Encoder", decoder: "Decoder", cross: "Cross" };

/** The choices made to fit a layer, as Python's own fitting does. */
export function fitChosen(layer, { step, head, query, key, column, scale, mask, temperature }) {
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

/** A number to six digits, for those who compare. */
export function exactly(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : value > 0 ? "inf" : "-inf";
}

export function render({ model, el }) {
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
  const second = element(root, "span", "vt-term-b", { hidden: "" }); // its colour, as the canvas needs it
  let [carried, unpacked, worked, workedFor, pointed, whole, followed] = [
    null,
    null,
    null,
    "",
    null,
    false,
    "",
  ];
  let missed = "";

  const top = element(root, "div", "vt-controls vt-top");
  const title = element(top, "div", "vt-title", { role: "heading", "aria-level": "3" });
  const placeBox = element(top, "div");
  const headBox = element(top, "div");
  const asking = element(root, "form", "vt-controls vt-asking");
  const field = element(asking, "input", "vt-field", {
    type: "text",
    "aria-label": "Sentence",
    "data-lm-suppress-shortcuts": "true",
  });
  const show = button(asking, "Show", () => {});
  show.type = "submit";
  const controls = element(root, "div", "vt-controls vt-switches");
  const problem = element(root, "div", "vt-problem", { role: "alert" });
  problem.hidden = true;
  const scale = toggle(controls, "÷ √d_k", (on) => view.set({ scale: on }));
  const mask = toggle(controls, "mask", (on) => view.set({ mask: on }));
  const warmth = slider(controls, { label: "temperature", min: 0.1, max: 5, step: 0.1, digits: 1 }, (value) =>
    view.set({ temperature: value }),
  );
  const looking = element(root, "div", "vt-looking");
  element(looking, "span").textContent = "Who looks:";
  const words = tokenStrip(looking, {
    label: "The word that looks",
    onChoose: (query) => view.set({ query }),
  });
  const bar = stepBar(root, goTo);
  const told = element(root, "div", "vt-told");
  const back = button(told, "← Back", () => goTo(model.get("step") - 1));
  const says = element(told, "div", "vt-says", { role: "status", "aria-live": "polite" });
  const [heading, sentence] = [element(says, "div", "vt-step-title"), element(says, "p")];
  const next = button(told, "Next →", () => goTo(model.get("step") + 1));
  next.classList.add("vt-next");
  const stage = openStage(root, { onPoint: point, onChoose: choose });
  const readout = element(root, "div", "vt-readout", { "aria-live": "polite" });
  const [meaning, formula, code] = [
    element(readout, "div", "vt-meaning"),
    element(readout, "div", "vt-formula"),
    element(readout, "pre", "vt-code"),
  ];
  element(readout, "div", "vt-hint").textContent =
    "Point at any number to see where it comes from. Click one to follow it; one that an earlier step made leads there.";

  view.listen(asking, "submit", (event) => {
    event.preventDefault();
    askFor({ text: field.value });
  });
  view.listen(field, "keydown", (event) => event.stopPropagation());
  view.listen(field, "input", () => {
    problem.hidden = true;
  });
  view.listen(formula, "click", (event) => {
    if (!event.target.closest(".vt-more")) return;
    whole = !whole;
    view.redraw();
  });

  function goTo(step) {
    const { steps } = layerNow();
    pointed = null;
    view.set({ step: Math.min(steps.length - 1, Math.max(0, step)) });
  }

  function point(cell) {
    if (JSON.stringify(cell) === JSON.stringify(pointed)) return;
    [pointed, whole] = [cell, false];
    view.redraw();
  }

  /** Follow a number of this step; of a number that another step made, go there. */
  function choose(cell) {
    const layer = layerNow();
    const here = layer.steps[chosenNow(layer).step];
    const made = madeIn(layer, cell.name);
    if (made === null) return;
    pointed = null;
    const shown = [resultOf(layer, here), ...(planOf(layer, here).rows ?? [])];
    const step = shown.includes(cell.name) ? model.get("step") : layer.steps.indexOf(made);
    view.set({ ...followedBy(layer, cell), step });
  }

  /** Ask for another sentence, kind or layer. */
  function askFor(change) {
    const place = { text: model.get("text"), kind: model.get("kind"), layer: model.get("layer"), ...change };
    kernel.latest(
      place,
      (reply) => {
        problem.hidden = true;
        carried = reply;
        view.set(place);
      },
      (error) => {
        problem.textContent = error.message;
        problem.hidden = false;
      },
    );
  }

  function layerNow() {
    const [text, kind, index] = ["text", "kind", "layer"].map((name) => model.get(name));
    const fits = (data) => data?.text === text && data.kind === kind && data.layer === index;
    const found = [model.get("data"), carried].find(fits);
    const place = JSON.stringify([text, kind, index]);
    if (!found && missed !== place) askFor({}); // a tour sets another place without its numbers
    missed = found ? "" : place;
    const data = found ?? model.get("data");
    if (unpacked?.from !== data) unpacked = { from: data, layer: unpackSteps(data) };
    return unpacked.layer;
  }

  function chosenNow(layer) {
    return fitChosen(
      layer,
      Object.fromEntries(TRAITS.slice(2, 10).map((name) => [name, model.get(name) ?? null])),
    );
  }

  function draw({ theme, width }) {
    theme.second = getComputedStyle(second).color;
    const layer = layerNow();
    const chosen = chosenNow(layer);
    const { head, query } = chosen;
    const step = layer.steps[chosen.step];
    const wanted = JSON.stringify([
      layer.text,
      layer.kind,
      layer.layer,
      head,
      query,
      chosen.scale,
      chosen.mask,
      chosen.temperature,
    ]);
    if (wanted !== workedFor || worked.layer !== layer) {
      [worked, workedFor] = [workThrough(layer, chosen), wanted];
      worked.layer = layer;
    }
    const best = largest(worked.weights.values);
    const now = `${step} ${wanted}`;
    if (now !== followed) [followed, pointed, whole] = [now, null, false];
    const inside =
      pointed &&
      worked[pointed.name] &&
      pointed.row < worked[pointed.name].rows &&
      pointed.col < worked[pointed.name].cols;
    const cell = inside ? pointed : followedCell(layer, worked, chosen, step, best);
    const state = { layer, worked, chosen, step, cell, index: chosen.step };
    setControls(layer, chosen);
    bar.draw(state, width, theme);
    tell(says, () => {
      heading.textContent = `${chosen.step + 1}. ${titleOf(step)}`;
      sentence.textContent = sentenceOf(layer, worked, chosen, step);
    }, [step, sentenceOf(layer, worked, chosen, step)]);
    back.disabled = chosen.step === 0;
    next.disabled = chosen.step === layer.steps.length - 1;
    stage.draw(state, width, theme);
    explain(state);
    root.dataset.step = step;
    root.toggleAttribute("data-large", isSmall(layer));
  }

  function setControls(layer, { head, query, scale: scaled, mask: masked, temperature }) {
    title.textContent = layerName(layer, head);
    const places = model.get("places");
    asking.hidden = !places.length;
    title.classList.toggle("vt-unseen", places.length > 0); // the menus beside it say the same
    if (document.activeElement !== field) field.value = layer.text;
    menu(
      placeBox,
      "attention",
      places.map(([kind, index]) => [`${kind} ${index}`, `${KINDS[kind]}, layer ${index}`]),
      `${layer.kind} ${layer.layer}`,
      (value) => {
        const [kind, index] = value.split(" ");
        askFor({ kind, layer: Number(index) });
      },
    );
    menu(
      headBox,
      "head",
      layer.heads > 1 ? Array.from({ length: layer.heads }, (_, i) => [String(i), String(i)]) : [],
      String(head),
      (value) => view.set({ head: Number(value) }),
    );
    scale.set(scaled);
    mask.set(masked);
    mask.node.hidden = !layer.steps.includes("masked");
    warmth.set(temperature);
    words.set(layer.queries, { chosen: query });
  }

  /** A number of the stage: what it is, its sum with the terms, and the line that makes it. */
  function explain({ layer, worked, chosen, cell }) {
    const value = worked[cell.name].at(cell.row, cell.col);
    const parts = formulaOf(layer, worked, chosen, cell, whole);
    const line = lineOf(layer, worked, chosen, cell.name);
    const place = placeOf(layer, chosen, cell);
    tell(readout, () => {
      meaning.textContent = `${place} is ${meaningOf(layer, chosen, cell)}:`;
      formula.replaceChildren(
        ...parts.map(([kind, text]) => {
          const span = document.createElement(kind === "more" ? "button" : "span");
          span.className = kind === "more" ? "vt-more" : `vt-term-${kind}`;
          span.textContent = text;
          return span;
        }),
      );
      if (whole) {
        const fewer = element(formula, "button", "vt-more");
        fewer.textContent = "fewer terms";
      }
      code.textContent = `${line ? `${line}\n` : ""}${place}  # ${exactly(value)}`;
    }, [place, parts, line, whole]);
  }

  return () => {
    kernel.close();
    view.close();
  };
}

/** A native menu that is built anew only when its options change. */
function menu(box, label, options, value, onChange) {
  const wanted = JSON.stringify(options);
  if (box.dataset.options !== wanted) {
    box.dataset.options = wanted;
    box.replaceChildren();
    box.menu = options.length ? choice(box, label, options, onChange) : null;
  }
  box.menu?.set(value);
}

/** Change what is told only if it is new: a screen reader speaks each change once. */
function tell(node, write_, what) {
  const text = JSON.stringify(what);
  if (node.told === text) return;
  node.told = text;
  write_();
}

export default { render };
