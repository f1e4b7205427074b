// The translation of one run at a moment, beside the right one, word by word.

import { element, setText } from "../base/controls.ts";
import { TASKS } from "../base/tasks.ts";
import { visible } from "../base/text.ts";
import { compareWords, describeMoment } from "./runs.js";

/**
 * The words of a run.
 *
 * @param {Element} parent
 * @returns {{ draw: (snapshot: import("./run_panel.js").RunSnapshot) => void }}
 */
export function translationText(parent) {
  const node = element(parent, "div", "vt-run-words");
  const name = element(node, "h3", "vt-title");
  const verdict = element(node, "strong", "vt-verdict");
  const facts = element(node, "p", "vt-facts");
  const lines = element(node, "div", "vt-lines");
  const names = [element(lines, "span", "vt-line-name")];
  const translationLine = element(lines, "div", "vt-line");
  names.push(element(lines, "span", "vt-line-name"));
  const referenceLine = element(lines, "div", "vt-line");
  let written = "";

  function draw({ run, moment, sentence, named, width, longest, theme }) {
    name.hidden = !named;
    setText(name, visible(run.name));
    setText(facts, describeMoment(run, moment, sentence));
    const [translation, reference] = [run.translations[moment][sentence], run.references[sentence]];
    const key = JSON.stringify([translation, reference, width, longest, theme.scale]);
    if (key === written) return;
    written = key;
    const { now, reference: beside } = TASKS[run.task];
    [now, beside].forEach((text, which) => {
      setText(names[which], text);
    });
    const compared = compareWords(translation, reference, run.task);
    writeWords(translationLine, compared.translation);
    writeWords(referenceLine, compared.reference);
    setText(verdict, compared.verdict);
    verdict.classList.toggle("vt-right", compared.right);
    translationLine.title = visible(translation); // a beginner's may be longer than the two lines it has
    // As high as the longest translation of all moments: what stands below it keeps its place.
    const rows = Math.min(2, Math.max(1, Math.ceil(longest / Math.max(80, width - 140))));
    translationLine.style.minHeight = `${1.45 * rows}em`;
  }

  return { draw };
}

/** Write words, each marked that has no partner in the other line. */
function writeWords(line, words) {
  line.replaceChildren();
  for (const [index, { text, differs }] of words.entries()) {
    if (index) line.append(" ");
    element(element(line, differs ? "mark" : "span"), "bdi").textContent = visible(text);
  }
  if (!words.length) element(line, "span", "vt-nothing").textContent = "no word";
}
