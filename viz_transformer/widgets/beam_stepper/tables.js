// The tables of a step: its candidates, and the distribution that a word is drawn from.

import { chanceOf, FATES, nats } from "./candidates.js";
import { element } from "../base/js/controls.js";
import { runningText, visible } from "../base/js/text.js";

/** A table with a caption that can be scrolled: {box, caption, body}. */
function tableIn(parent, name, columns) {
  const box = element(parent, "div", `vt-list ${name}`);
  const table = element(box, "table");
  const caption = element(table, "caption");
  const head = element(element(table, "thead"), "tr");
  for (const column of columns) element(head, "th", "", { scope: "col" }).textContent = column;
  return { box, caption, body: element(table, "tbody") };
}

function fateCell(line, { status, reason, share }) {
  const cell = element(line, "td", "vt-fate");
  const [mark, word] = FATES[status];
  element(cell, "span", "vt-mark", { "aria-hidden": "true" }).textContent = `${mark} `;
  // A word that was not drawn has not been pruned: there the reason says all.
  if ((share ?? null) === null) element(cell, "b").textContent = `${word}: `;
  element(cell, "bdi").textContent = visible(reason);
}

/**
 * The candidates of a step: {node, set({ candidates, texts, step, steps, at, best })}.
 *
 * `onChoose(index)` hears which one the viewer wants.
 */
export function candidateTable(parent, { onChoose }) {
  const { box, caption, body } = tableIn(parent, "vt-candidates", [
    "text so far",
    "log-probability",
    "score",
    "what became of it",
  ]);
  let shown = null;

  function set({ candidates, texts, step, steps, at, best }) {
    if (candidates !== shown) {
      shown = candidates;
      caption.textContent = `Candidates of step ${step + 1} of ${steps}, the best log-probability first; all in nats`;
      body.replaceChildren();
      candidates.forEach((candidate, index) => {
        const line = element(body, "tr", `vt-${candidate.status}${index === best ? " vt-best" : ""}`);
        const link = element(element(line, "th", "", { scope: "row" }), "button", "vt-link", {
          type: "button",
          "data-lm-suppress-shortcuts": "true",
        });
        element(link, "bdi").textContent = runningText(texts[index]);
        link.addEventListener("click", () => onChoose(index));
        element(line, "td").textContent = nats(candidate.log_prob);
        element(line, "td").textContent = nats(candidate.score);
        fateCell(line, candidate);
      });
    }
    Array.from(body.children).forEach((line, index) => {
      line.classList.toggle("vt-chosen", index === at);
      line.querySelector("button").setAttribute("aria-pressed", String(index === at));
    });
  }

  return { node: box, set };
}

/** The bars of the words of a step, before and after what sampling leaves: {node, set}. */
export function distributionTable(parent) {
  const { box, caption, body } = tableIn(parent, "vt-distribution", [
    "next word",
    "bars",
    "model's probability",
    "to draw from",
    "what became of it",
  ]);
  let shown = null;

  function set({ candidates, step, steps, settings }) {
    const told = `Step ${step + 1} of ${steps}, the most probable words. Upper bar: as the model has them; lower bar: what ${settings} leaves`;
    if (caption.textContent !== told) caption.textContent = told;
    if (candidates === shown) return;
    shown = candidates;
    body.replaceChildren();
    for (const candidate of candidates) {
      const [chance, share] = [chanceOf(candidate.token_log_prob), candidate.share ?? 0];
      const drawn = candidate.status === "kept" || candidate.status === "finished";
      const line = element(body, "tr", `vt-${candidate.status}${drawn ? " vt-best" : ""}`);
      element(element(line, "th", "", { scope: "row" }), "bdi").textContent = visible(candidate.token);
      const bars = element(line, "td", "vt-bars");
      for (const [name, value] of [
        ["vt-before", chance],
        ["vt-after", share],
      ]) {
        const fill = element(element(bars, "div", `vt-track ${name}`), "div", "vt-fill");
        fill.style.width = `${100 * value}%`;
      }
      element(line, "td").textContent = chance.toFixed(3);
      element(line, "td").textContent = share.toFixed(3);
      fateCell(line, candidate);
    }
  }

  return { node: box, set };
}
