// The two texts that are compared: greedy search's and this search's, behind their prompt, what differs marked.

import { element, markedText, setText } from "../base/js/controls.js";
import { differences } from "../base/js/text_difference.js";
import { formatNats } from "./candidates.js";

/**
 * The two texts.
 *
 * @param {Element} parent
 * @returns {{ draw: (result: import("./candidates.js").SearchResult) => void }}
 */
export function translationPair(parent) {
  const node = element(parent, "div", "vt-translations");
  const lines = [translationLine(node), translationLine(node)];

  function draw({ greedy, hypotheses, sampled, request, prompt }) {
    const read = prompt.length > 1 ? prompt.filter((token) => token !== "<sos>") : []; // a start alone is no text
    const [best] = hypotheses;
    const marks = greedy ? differences(greedy.tokens, best.tokens) : [[], best.tokens.map(() => false)];
    const beam = request.method === "beam" ? `beam of ${request.beam_width}` : "beam search";
    lines[0].draw("greedy search", greedy, marks[0], sampled, read);
    lines[1].draw(sampled ? "drawn" : beam, best, marks[1], sampled, read);
  }

  return { draw };
}

/** One text with its name and its score; hidden where there is none. */
function translationLine(parent) {
  const name = element(parent, "span", "vt-line-name");
  const text = element(parent, "div", "vt-translation");
  const score = element(parent, "span", "vt-line-score");
  let written = "";

  function draw(label, hypothesis, marks, sampled, read) {
    name.hidden = text.hidden = score.hidden = !hypothesis;
    if (!hypothesis) return;
    const { tokens } = hypothesis;
    setText(name, label);
    setText(
      score,
      sampled
        ? `log-probability ${formatNats(hypothesis.log_prob)}`
        : `score ${formatNats(hypothesis.score)}`,
    );
    const key = JSON.stringify([tokens, marks, read]);
    if (key === written) return; // a screen reader speaks each change once
    written = key;
    const shown = [...read, ...(tokens.length ? tokens : ["(nothing)"])];
    text.replaceChildren(...markedText(shown, [...read.map(() => false), ...marks]));
    for (const node of [...text.children].slice(0, read.length)) node.className = "vt-prompt";
  }

  return { draw };
}
