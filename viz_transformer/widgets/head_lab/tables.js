// The head lab's tables: what each word loses, and what each head is worth.

import { element } from "../base/js/controls.js";
import { headName, sameHead, shortName } from "./head_changes.js";
import { formatNumber, formatSigned, visible } from "../base/js/text.js";

/** How long a bar is, as a share of its track, when `least` fills it: log-probabilities are ≤ 0. */
export function barShare(logProb, least) {
  return Math.min(1, Math.max(0, logProb / least));
}

/** The log-probability at the far end of the bars: the least there is, but no less than a nat away. */
export function leastOf(before, after) {
  return Math.min(-1, ...before, ...after);
}

/** A table of the words: `set(before, after)` takes two replies for the same words. */
export function wordTable(parent) {
  const box = element(parent, "div", "vt-word-table");
  const table = element(box, "table");
  element(table, "caption").textContent =
    "log-probability of each word of the unchanged translation, in nats";
  const head = element(element(table, "thead"), "tr");
  element(head, "th", "", { scope: "col" }).textContent = "writes";
  const axis = element(
    element(head, "th", "", { scope: "col", title: "Bars grow to the left from 0" }),
    "div",
    "vt-axis",
  );
  const [farEnd, zero] = ["span", "span"].map((tag) => element(axis, tag));
  zero.textContent = "0";
  for (const text of ["before", "after", "change"])
    element(head, "th", "", { scope: "col" }).textContent = text;
  const body = element(table, "tbody");
  const foot = element(element(table, "tfoot"), "tr");
  let [rows, words] = [[], ""];

  function addRow(line, token) {
    const name = element(line, "th", "", { scope: "row" });
    element(name, "bdi").textContent = token;
    const place = line === foot ? null : element(line, "td", "vt-bars");
    if (!place) name.setAttribute("colspan", "2"); // the loss has no bar: it is no log-probability
    const bars = place
      ? ["vt-before", "vt-after"].map((which) => element(place, "div", `vt-track ${which}`))
      : [];
    const cells = ["", "", "vt-change"].map((className) => element(line, "td", className));
    return { cells, fills: bars.map((bar) => element(bar, "div", "vt-fill")) };
  }
  const total = addRow(foot, "loss: the mean of −log p");

  function fill({ cells }, before, after) {
    const texts = [formatNumber(before, 3), formatNumber(after, 3), formatSigned(after - before, 3)];
    texts.forEach((text, i) => {
      cells[i].textContent = text;
    });
    cells[2].classList.toggle("vt-strong", Math.abs(after - before) >= 0.01);
  }

  function set(before, after) {
    const wanted = JSON.stringify(before.output);
    if (wanted !== words) {
      words = wanted;
      body.replaceChildren();
      rows = before.output.map((token) => addRow(element(body, "tr"), visible(token)));
    }
    const least = leastOf(before.log_probs, after.log_probs);
    farEnd.textContent = formatNumber(least, 1);
    rows.forEach((row, i) => {
      fill(row, before.log_probs[i], after.log_probs[i]);
      [before, after].forEach(({ log_probs }, which) => {
        row.fills[which].style.width = `${100 * barShare(log_probs[i], least)}%`;
      });
    });
    fill(total, before.loss, after.loss);
  }

  return { node: box, set };
}

/** A table of the heads, by what each alone is worth; `onAlone(place)` hears a click on one. */
export function worthTable(parent, { onAlone }) {
  const box = element(parent, "div", "vt-worth-table", {
    tabindex: "0",
    role: "region",
    "aria-label": "Each head alone switched off",
    "data-lm-suppress-shortcuts": "true",
  });
  const table = element(box, "table");
  const top = element(element(table, "thead"), "tr");
  for (const [text, title] of [
    ["off alone", "Click a head to switch it off, and no other"],
    ["loss change", "How the loss changes without it, in nats per token"],
    ["rank", "Its place by the size of that change"],
    ["confidence", "How surely it looks: the mean of its rows' largest weights"],
    ["rank", "Its place by confidence: what attention alone would have predicted"],
  ])
    element(top, "th", "", { scope: "col", title }).textContent = text;
  const body = element(table, "tbody");
  let [shown, lines] = [null, []];

  function set(each, factors, chosen) {
    if (each !== shown) {
      shown = each;
      body.replaceChildren();
      const widest = Math.max(...each.heads.map((place) => Math.abs(place.loss_change)));
      lines = each.heads.map((place) => {
        const line = element(body, "tr");
        const name = element(element(line, "th", "", { scope: "row" }), "button", "vt-link", {
          type: "button",
          "data-lm-suppress-shortcuts": "true",
        });
        name.textContent = shortName(place);
        name.title = `${headName(place)}: switch it off, and no other`;
        name.addEventListener("click", () =>
          onAlone({ kind: place.kind, layer: place.layer, head: place.head }),
        );
        const change = element(line, "td", "vt-change");
        change.textContent = formatSigned(place.loss_change, 3);
        change.title = `${place.loss_change} nats per token`;
        change.classList.toggle("vt-strong", Math.abs(place.loss_change) >= 0.05 * widest && widest > 0.001);
        for (const text of [
          place.rank,
          place.confidence === null ? "none" : place.confidence.toFixed(2),
          place.confidence_rank,
        ])
          element(line, "td").textContent = String(text);
        return { place, line, name };
      });
    }
    const only = factors.length === 1 && factors[0].factor === 0 ? factors[0] : null;
    for (const { place, line, name } of lines) {
      line.classList.toggle("vt-chosen", sameHead(place, chosen));
      name.setAttribute("aria-pressed", String(Boolean(only) && sameHead(place, only)));
    }
  }

  return { node: box, set };
}
