// The two towers of boxes, the encoder's and the decoder's, and the way between them.

import { element, setText } from "../base/js/controls.js";
import { addMemoryPath, boxWithin } from "./memory_path.js";
import { addPartBox } from "./part_box.js";

/**
 * @import { Part } from "./model_parts.js"
 */

const MOST_SHEETS = 6; // of a stack, drawn behind its layer

/**
 * Add the towers. `update(parts, total, { marked, part })` shows them, and `place()` draws the way
 * of the memory once the boxes stand; `onChoose(index)` is called on a click.
 *
 * @param {Element} parent
 * @param {Part[]} parts
 * @param {(index: number) => void} onChoose
 */
export function addTowers(parent, parts, onChoose) {
  const machine = element(parent, "div", "vt-machine");
  const towers = ["encoder", "decoder"].map((stack) => addTower(machine, stack));
  const boxes = parts.map((part, index) => {
    const tower = towers[part.stack === "encoder" ? 0 : 1];
    return addPartBox(tower.placeOf(part), part, () => onChoose(index));
  });
  const drawMemory = addMemoryPath(machine);
  const cross = boxes[parts.findIndex(({ name }) => name === "cross-attention")].node;

  function update(newest, total, { marked, part }) {
    newest.forEach((each, index) => {
      boxes[index].update(each, total, { marked, chosen: index === part });
    });
    for (const tower of towers) tower.update(newest, marked === "n_layers");
  }

  /** @param {Part[]} newest */
  function place(newest, wide) {
    const within = machine.getBoundingClientRect();
    const encoder = boxWithin(towers[0].layer, within);
    const [target, decoder] = [boxWithin(cross, within), boxWithin(towers[1].layer, within)];
    const gutter = wide ? decoder.left - 14 : decoder.left - 10;
    const memory = newest.find(({ stack, name }) => stack === "encoder" && name === "Add & Norm");
    const shape = memory.shapes.output.map(({ length }) => length).join(", ");
    drawMemory({ encoder, cross: target, gutter }, `memory [${shape}]`);
  }

  return { update, place };
}

/** One tower: parts below the layer, the layer, and parts above it. */
function addTower(machine, stack) {
  const tower = element(machine, "section", `vt-tower vt-${stack}`, { "aria-label": stack });
  // From the bottom up on the page, and in this order for the keyboard and for screen readers.
  const column = element(tower, "div", "vt-column");
  const [before, layer, after] = ["", "vt-layer", ""].map((name) => element(column, "div", name));
  const title = element(layer, "div", "vt-layer-title");
  let group = null; // a part of a layer and its Add & Norm, with the way around the part

  function placeOf(part) {
    if (!part.inLayer) return group ? after : before;
    if (part.name === "Add & Norm") return group;
    group = element(layer, "div", "vt-residual");
    layer.append(title); // above the last of them
    return group;
  }

  function update(parts, marked) {
    const { times } = parts.find((part) => part.stack === stack && part.inLayer);
    setText(title, `${stack} layer, × ${times}`);
    title.dataset.marked = String(marked);
    const sheets = Array.from({ length: Math.min(times, MOST_SHEETS) - 1 }, (_, at) => 3 * (at + 1));
    layer.style.boxShadow = sheets
      .map((by) => `${by}px ${-by}px 0 -1px var(--vt-background), ${by}px ${-by}px 0 0 var(--vt-border)`)
      .join(", ");
  }

  return { layer, placeOf, update };
}
