// The leak meter: how much each output of the live model changes when one token is replaced.

import { element, toggle } from "../base/js/controls.js";
import { tokenStrip } from "../base/js/token_strip.js";
import { formatNumber, quoted, shortNumber, visible } from "../base/js/text.js";
import { decodeWeights } from "../base/js/weights.js";
import { whyNotLonger } from "./requests.js";

/** @import { ComposedMask, MaskState } from "./composition.js" */

export const UNMOVED = 1e-4; // smaller changes are the rounding of float32, and no leak

/**
 * @typedef {object} Leaks what was measured
 * @property {(b: number, edited: number, query: number) => number} changes
 * @property {((b: number, query: number) => number) | null} longer with two more padding tokens
 * @property {string[][]} [replacements] [batch][key]
 */

/** @typedef {"leak" | "moved" | "still" | "deaf" | "padding" | "shifted"} Verdict */

/** @typedef {{word: string, written: string | null, change: number, verdict: Verdict}} LeakRow */

/**
 * @param {any} reply
 * @returns {Leaks}
 */
export function readLeaks(reply) {
  const [, keys, queries] = reply.shape;
  const changes = decodeWeights(reply.changes, "float32");
  const longer = reply.longer && decodeWeights(reply.longer, "float32");
  return {
    changes: (b, j, q) => changes[(b * keys + j) * queries + q],
    longer: longer && ((b, q) => longer[b * queries + q]),
    replacements: reply.replacements,
  };
}

/**
 * What it means that an output changed or did not.
 *
 * @param {number} change
 * @param {boolean} isWord whether the query is a word
 * @param {boolean} allowed whether the output may depend on the key
 * @returns {Verdict}
 */
export function verdictOf(change, isWord, allowed) {
  if (!isWord) return "padding";
  const moved = change >= UNMOVED;
  if (allowed) return moved ? "moved" : "deaf";
  return moved ? "leak" : "still";
}

/**
 * Each query of a sentence with its change and verdict, for the chosen edit.
 *
 * @param {Leaks} leaks
 * @param {ComposedMask} composed
 * @param {{sentence: number, edit: string, edited: number, side: string}} state
 * @returns {LeakRow[]}
 */
export function leakRows(leaks, composed, { sentence: b, edit, edited, side }) {
  return composed.queryTokens[b].map((word, q) => {
    const longer = edit === "padding";
    const change = longer ? leaks.longer(b, q) : leaks.changes(b, edited, q);
    const isWord = composed.isWord(word);
    let verdict = verdictOf(change, isWord, !longer && composed.allowed(b, q, edited));
    if (longer && side === "left" && verdict === "leak") verdict = "shifted";
    return { word, written: composed.written?.[b][q] ?? null, change, verdict };
  });
}

/**
 * How many (output, key) pairs of the whole batch leak, of those that must not depend on each other.
 *
 * @param {Leaks} leaks
 * @param {ComposedMask} composed
 */
export function countLeaks(leaks, composed) {
  let [found, places] = [0, 0];
  for (let b = 0; b < composed.sentences; b++) {
    for (let q = 0; q < composed.queries; q++) {
      if (!composed.isWord(composed.queryTokens[b][q])) continue;
      for (let k = 0; k < composed.keys; k++) {
        if (composed.allowed(b, q, k)) continue;
        places++;
        if (leaks.changes(b, k, q) >= UNMOVED) found++;
      }
    }
  }
  return { leaks: found, places };
}

/** @typedef {{sentence: number, edited: number, query: number, count: number}} Leak a token that leaks */

/**
 * The token that leaks to most outputs, of equals the one that moves them most; null where none leaks.
 *
 * `query` is the output that it moves most, and `count` how many it moves that must not depend on it.
 *
 * @param {Leaks} leaks
 * @param {ComposedMask} composed
 * @param {(sentence: number, edited: number) => boolean} [among] the tokens to choose from; by default all
 * @returns {Leak | null}
 */
export function largestLeak(leaks, composed, among = () => true) {
  let [worst, most] = [/** @type {Leak | null} */ (null), 0];
  for (let b = 0; b < composed.sentences; b++) {
    for (let k = 0; k < composed.keys; k++) {
      if (!among(b, k)) continue;
      const rows = leakRows(leaks, composed, { sentence: b, edit: "word", edited: k, side: "" });
      const changes = rows.map(({ verdict, change }) => (verdict === "leak" ? change : 0));
      const [count, largest] = [changes.filter(Boolean).length, Math.max(...changes)];
      if (count < (worst?.count ?? 1) || (count === worst?.count && largest <= most)) continue;
      [worst, most] = [{ sentence: b, edited: k, query: changes.indexOf(largest), count }, largest];
    }
  }
  return worst;
}

/**
 * How many outputs of the whole batch two more padding tokens move.
 *
 * @param {Leaks} leaks with the longer batch
 * @param {ComposedMask} composed
 */
export function countMoved(leaks, composed) {
  const words = composed.queryTokens.flatMap((tokens, b) =>
    tokens.flatMap((token, q) => (composed.isWord(token) ? [leaks.longer(b, q)] : [])),
  );
  return { moved: words.filter((change) => change >= UNMOVED).length, places: words.length };
}

/**
 * The verdict on a whole edit, in two sentences at most; never *No leak* where the gauge counts one.
 *
 * @param {LeakRow[]} rows
 * @param {ComposedMask} composed
 * @param {{sentence: number, edit: string, edited: number} & MaskState} state
 * @param {{worst?: Leak | null, moved?: number}} [batch] what the whole batch shows: the token that
 *   leaks most, and how many outputs more padding moves
 */
export function leakSentence(rows, composed, state, { worst = null, moved = 0 } = {}) {
  const { sentence: b, edit, edited, mistake, kind } = state;
  const named = (verdict) => rows.filter((row) => row.verdict === verdict).map((row) => quoted(row.word));
  const [leaked, deaf] = [named("leak"), named("deaf")];
  const outputs = (count) => `${count} output${count === 1 ? "" : "s"}`;
  if (edit === "padding") {
    if (named("shifted").length) {
      return "Outputs moved, but not through the mask: padding on the left pushes every word to a later position, and this model counts positions from the left. Counting from the first word would fix it.";
    }
    if (leaked.length)
      return `Leak: ${outputs(leaked.length)} moved because of two more padding tokens. What a sentence means must not depend on how far it is padded.`;
    if (moved && state.side === "right")
      return `In this sentence every output stayed as it was. In others ${moved} moved because of two more padding tokens: a leak.`;
    return "No leak: with two more padding tokens every output stayed as it was.";
  }
  const key = quoted(composed.keyTokens[b][edited]);
  if (leaked.length) {
    const why = !composed.isWord(composed.keyTokens[b][edited])
      ? "Padding is not a word: what stands there must not matter."
      : mistake === "source_as_target"
        ? `The decoder has already read ${key} when it has to write it: it can copy, and learns nothing.`
        : kind === "decoder"
          ? "They saw the future: a decoder trained like this only copies the next word."
          : "";
    return `Leak: ${outputs(leaked.length)} moved that must not depend on ${key}: ${leaked.join(", ")}. ${why}`;
  }
  const hidden = deaf.length
    ? ` But ${outputs(deaf.length)} did not move though ${deaf.length === 1 ? "it" : "they"} may depend on it: the mask hides too much.`
    : "";
  const stayed = `every output that must not depend on ${key} stayed as it was.${hidden}`;
  if (!worst) return `No leak: ${stayed}`;
  const where = worst.sentence === b ? "" : `in sentence ${worst.sentence + 1} `;
  const leaky = quoted(composed.keyTokens[worst.sentence][worst.edited]);
  return `This token does not leak: ${stayed} Others do: ${where}${leaky} moves ${outputs(worst.count)} that must not depend on it.`;
}

/**
 * What the gauge counts in the whole batch and what the sentence says of the edit, which never disagree.
 *
 * @param {Leaks} leaks
 * @param {ComposedMask} composed
 * @param {{sentence: number, edit: string, edited: number} & MaskState} state
 */
export function meterInWords(leaks, composed, state) {
  const rows = leakRows(leaks, composed, state);
  if (state.edit === "padding") {
    const { moved, places } = countMoved(leaks, composed);
    return {
      gauge: `Outputs in this batch that more padding moves: ${moved} of ${places}`,
      counted: "counted over the outputs of all words",
      isLeaky: moved > 0 && state.side === "right",
      sentence: leakSentence(rows, composed, state, { moved }),
    };
  }
  const count = countLeaks(leaks, composed);
  return {
    gauge: `Leaks in this batch: ${count.leaks} of ${count.places}`,
    counted: "counted over every token that could be replaced and every output that must not depend on it",
    isLeaky: count.leaks > 0,
    sentence: leakSentence(rows, composed, state, { worst: largestLeak(leaks, composed) }),
  };
}

/**
 * What to select after a change of the mask, so that its leak is seen; null where nothing is better.
 *
 * @param {Leaks} leaks
 * @param {ComposedMask} composed
 * @param {{sentence: number, edit: string, edited: number}} selected
 * @param {"batch" | "sentence"} among the whole batch; or the sentence shown, where its chosen token leaks nothing
 */
export function leakToShow(leaks, composed, { sentence, edit, edited }, among) {
  const isWhole = among === "batch";
  if (!isWhole && (edit !== "word" || largestLeak(leaks, composed, (b, k) => b === sentence && k === edited)))
    return null;
  const worst = largestLeak(leaks, composed, (b) => isWhole || b === sentence);
  if (!worst) return null;
  return { sentence: worst.sentence, edited: worst.edited, key: worst.edited, query: worst.query };
}

const VERDICTS = {
  leak: "LEAK",
  moved: "may move",
  still: "did not move",
  deaf: "cut off",
  padding: "padding",
  shifted: "its position moved",
};

/**
 * A change as it is shown: 0 where float32 only rounded.
 *
 * @param {number} change
 */
export function shownChange(change) {
  if (Number.isNaN(change)) return "NaN";
  if (change < UNMOVED) return "0";
  return change >= 0.005 ? formatNumber(change, 2) : shortNumber(change, 1);
}

/**
 * The meter: `set({leaks, composed, state, problem})`.
 *
 * @param {Element} parent
 * @param {{onEdit: (edit: {edit: string, edited?: number}) => void}} options
 */
export function leakMeter(parent, { onEdit }) {
  const gauge = element(parent, "p", "vt-gauge");
  const asked = element(parent, "p", "vt-asked");
  const strip = tokenStrip(parent, {
    label: "Token to replace",
    onChoose: (index) => onEdit({ edit: "word", edited: index }),
  });
  const more = toggle(parent, "or add two padding tokens", (on) => onEdit({ edit: on ? "padding" : "word" }));
  more.node.classList.add("vt-more");
  const sentence = element(parent, "p", "vt-verdict", { role: "status" });
  const table = element(parent, "table", "vt-leaks");
  const head = element(element(table, "thead"), "tr");
  const heads = ["output of", "writes", "largest change", "verdict"].map((text) => {
    const cell = element(head, "th", "", { scope: "col" });
    cell.textContent = text;
    return cell;
  });
  const body = element(table, "tbody");

  function set({ leaks, composed, state, problem }) {
    const { sentence: b, edit, edited } = state;
    asked.textContent = "Replace a token: which outputs of the live model move?";
    strip.set(composed.keyTokens[b], { chosen: edit === "word" ? edited : null });
    more.set(edit === "padding");
    heads[1].hidden = !composed.written;
    if (!problem && !leaks && body.rows.length) return; // the last reply stays until the next one
    if (problem || !leaks || (edit === "padding" && !leaks.longer)) {
      const refused = leaks && edit === "padding" ? whyNotLonger(composed, state) : "";
      gauge.textContent = "";
      gauge.className = "vt-gauge";
      sentence.textContent = problem || refused || "Asking the model …";
      sentence.className = "vt-verdict vt-waiting";
      table.hidden = true;
      return;
    }
    table.hidden = false;
    const rows = leakRows(leaks, composed, state);
    const told = meterInWords(leaks, composed, state);
    gauge.textContent = told.gauge;
    gauge.title = told.counted;
    gauge.className = told.isLeaky ? "vt-gauge vt-leaky" : "vt-gauge";
    const change =
      edit === "word"
        ? `${quoted(composed.keyTokens[b][edited])} → ${quoted(leaks.replacements[b][edited])}. `
        : "";
    sentence.textContent = change + told.sentence;
    sentence.className = told.isLeaky ? "vt-verdict vt-leaky" : "vt-verdict";
    const top = Math.max(UNMOVED, ...rows.map((row) => row.change || 0));
    body.replaceChildren(...rows.map((row) => leakLine(row, top)));
  }

  return { set };
}

function leakLine({ word, written, change, verdict }, top) {
  const line = document.createElement("tr");
  line.dataset.verdict = verdict;
  const name = element(line, "th", "", { scope: "row" });
  element(name, "bdi").textContent = visible(word);
  if (written !== null)
    element(element(line, "td", "vt-writes"), "bdi").textContent =
      verdict === "padding" ? "" : visible(written);
  const shown = element(line, "td", "vt-change");
  const rail = element(shown, "span", "vt-rail");
  const bar = element(rail, "span", "vt-shift");
  bar.style.width = `${change < UNMOVED ? 0 : Math.max(2, (100 * change) / top)}%`;
  element(shown, "span", "vt-number").textContent = shownChange(change);
  element(line, "td", "vt-says").textContent = VERDICTS[verdict];
  return line;
}
