// The live part of the position lab: words in another order, and how far their vectors move.

import { button, choice, element, toggle } from "../base/js/controls.js";
import { shuffleSentence } from "./narration.js";
import { tokenStrip } from "../base/js/token_strip.js";
import { formatWeight, visible } from "../base/js/text.js";

const FARTHEST = 2; // vectors of one length, turned to opposite ways, differ by two lengths
const OWN = "own"; // the choice's value for an order that is not among those offered

/** The order with the words of two places exchanged; the same order at the ends. */
export function exchanged(order, place, other) {
  if (other < 0 || other >= order.length) return order;
  const next = [...order];
  [next[place], next[other]] = [next[other], next[place]];
  return next;
}

/** A random order (Fisher and Yates), never the same as before where there are others. */
export function shuffled(order, random = Math.random) {
  const next = [...order];
  for (let last = next.length - 1; last > 0; last--) {
    const place = Math.floor(random() * (last + 1));
    [next[last], next[place]] = [next[place], next[last]];
  }
  const same = next.every((word, place) => word === order[place]);
  return same && next.length > 1 ? exchanged(next, 0, 1) : next;
}

/** The part of the page; `draw()` brings it to the model's state and asks for what is not known. */
export function openShuffle(parent, { model, view, kernel }) {
  const { sentence, orders } = model.get("data");
  const fixed = Boolean(model.get("answers")?.length) || !model.get("live"); // a page without its kernel
  const order = () => model.get("order");
  let place = 0; // of the word to be moved

  element(parent, "p", "vt-quiet").textContent =
    `A live translator, with ${model.get("data").live_encoding} positions of its own. How far does each word's output vector move, in shares of its length?`;
  const controls = element(parent, "div", "vt-controls");
  const positions = toggle(controls, "positions on", (on) => view.set({ positions_on: on }));
  const text = (words) => words.map((word) => visible(sentence[word])).join(" ");
  const offered = [
    ...orders.map((each, index) => [String(index), text(each)]),
    [OWN, "an order of your own"],
  ];
  const orderChoice = choice(controls, "read as", offered, (value) => {
    if (value !== OWN) view.set({ order: [...orders[Number(value)]] });
  });
  const strip = tokenStrip(parent, {
    label: "The words in the order in which they are read",
    onChoose: (index) => {
      place = index;
      view.redraw();
    },
  });
  const moves = element(parent, "div", "vt-controls");
  const move = (step) => {
    const next = exchanged(order(), place, place + step);
    if (next === order()) return;
    place += step;
    view.set({ order: next });
  };
  const [left, right] = [
    button(moves, "← word to the left", () => move(-1)),
    button(moves, "word to the right →", () => move(1)),
  ];
  button(moves, "shuffle", () => view.set({ order: shuffled(order()) }));
  moves.hidden = fixed;
  strip.node.hidden = fixed;
  const note = element(parent, "p", "vt-quiet");
  note.hidden = !fixed;
  note.textContent = "This page knows the orders in the list; any other needs the running notebook.";
  const bars = element(parent, "div", "vt-moved", {
    role: "list",
    "aria-label": "How far each word's vector moved",
  });
  const translation = element(parent, "p", "vt-spanish");
  const told = element(parent, "p", "", { role: "status", "aria-live": "polite" });

  let asked = "";
  function showReply(request, reply) {
    const on = request.positions_on;
    bars.replaceChildren();
    for (const word of request.order) {
      const row = element(bars, "div", "vt-row", { role: "listitem" });
      element(row, "bdi").textContent = visible(sentence[word]);
      const track = element(row, "span", "vt-track", { "aria-hidden": "true" });
      element(track, "span", "vt-fill").style.width =
        `${Math.min(100, (100 * reply.moved[word]) / FARTHEST)}%`;
      element(row, "span", "vt-amount").textContent = formatWeight(reply.moved[word]);
    }
    const tag = reply.language_tag || "";
    translation.replaceChildren(
      reply.language ? `In ${reply.language}: ` : "Translation: ",
      translated(reply.translation, tag),
      " (as written: ",
      translated(reply.as_written, tag),
      ")",
    );
    told.className = "";
    told.textContent = shuffleSentence(sentence, { order: request.order, on }, reply);
    parent.dataset.shown = JSON.stringify([request.order, on]);
  }

  function showProblem(request, error) {
    bars.replaceChildren();
    translation.replaceChildren();
    told.className = "vt-problem";
    told.textContent = error.message;
    parent.dataset.shown = JSON.stringify([request.order, request.positions_on]);
  }

  function draw() {
    const on = Boolean(model.get("positions_on"));
    const request = { order: [...order()], positions_on: on };
    positions.set(on);
    positions.node.textContent = on ? "positions on" : "positions off";
    const known = orders.findIndex((each) => each.join() === request.order.join());
    orderChoice.set(known < 0 ? OWN : String(known));
    place = Math.min(place, request.order.length - 1);
    strip.set(
      request.order.map((word) => sentence[word]),
      { chosen: fixed ? null : place },
    );
    left.disabled = place === 0;
    right.disabled = place === request.order.length - 1;
    const wanted = JSON.stringify(request);
    if (wanted === asked) return;
    asked = wanted;
    kernel.latest(
      request,
      (reply) => showReply(request, reply),
      (error) => showProblem(request, error),
    );
  }

  return { draw };
}

function translated(words, tag) {
  const node = document.createElement("b");
  node.lang = tag;
  node.textContent = words;
  return node;
}
