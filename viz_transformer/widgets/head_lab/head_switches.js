// All heads of the model as buttons: a click switches one off and on again.

import { element } from "../base/js/controls.js";
import { moveHead } from "../base/js/head_grid.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { factorOf, headName, sameHead, shortFactor } from "./head_changes.js";

const HEAD_ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

/** What a head's button says to those who hear it: its name, and the text that it shows. */
export function headState(place, factor) {
  return `${headName(place)}, ${factor === 0 ? "off" : `factor ${shortFactor(factor)}`}`;
}

/**
 * The grid: `set(kinds, factors, chosen)` with kinds [{kind, layers, heads}].
 *
 * One button is in the Tab order; arrow keys choose, Enter, Space and a click toggle.
 */
export function headGrid(parent, { onChoose, onToggle }) {
  const node = element(parent, "div", "vt-head-grid", {
    role: "group",
    "aria-label": "All heads: arrow keys choose, Enter switches off and on",
  });
  let [built, kinds, buttons] = ["", [], []];

  const placeAt = (event) => buttons.find(({ button }) => button === event.target.closest("button"))?.place;

  node.addEventListener("click", (event) => {
    const place = placeAt(event);
    if (place) onToggle(place);
  });
  node.addEventListener("keydown", (event) => {
    const place = placeAt(event);
    if (!place || !HEAD_ARROWS.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = moveHead(kinds, place, event.key);
    buttons.find((each) => sameHead(each.place, to)).button.focus();
    onChoose(to);
    event.preventDefault();
    event.stopPropagation();
  });

  function build() {
    buttons = [];
    node.replaceChildren();
    for (const { kind, layers, heads } of kinds) {
      const part = element(node, "div", "vt-head-kind");
      element(part, "div", "vt-part-name").textContent = ATTENTION_KINDS[kind].label;
      const table = element(part, "div", "vt-head-rows");
      table.style.gridTemplateColumns = `1.4em repeat(${heads}, minmax(0, 3.1em))`;
      const numbers = (text, top) => {
        const name = element(table, "span", "vt-head-number", { "aria-hidden": "true" });
        name.textContent = text;
        if (top) name.classList.add("vt-top");
      };
      numbers("", true);
      for (let head = 0; head < heads; head++) numbers(String(head), true);
      for (let layer = 0; layer < layers; layer++) {
        numbers(String(layer), false);
        for (let head = 0; head < heads; head++) {
          const button = element(table, "button", "vt-head-button", {
            type: "button",
            "data-lm-suppress-shortcuts": "true",
          });
          buttons.push({ place: { kind, layer, head }, button });
        }
      }
    }
  }

  function set(newKinds, factors, chosen) {
    const wanted = JSON.stringify(newKinds);
    if (wanted !== built) {
      [built, kinds] = [wanted, newKinds];
      build();
    }
    for (const { place, button } of buttons) {
      const factor = factorOf(factors, place);
      const state = headState(place, factor);
      button.tabIndex = sameHead(place, chosen) ? 0 : -1;
      if (button.getAttribute("aria-label") !== state) {
        button.setAttribute("aria-label", state);
        button.title = state;
        button.setAttribute("aria-pressed", String(factor === 0));
        button.textContent = factor === 0 ? "off" : shortFactor(factor);
        button.classList.toggle("vt-off", factor === 0);
        button.classList.toggle("vt-scaled", factor !== 0 && factor !== 1);
      }
      button.classList.toggle("vt-chosen", sameHead(place, chosen));
    }
  }

  return { node, set };
}
