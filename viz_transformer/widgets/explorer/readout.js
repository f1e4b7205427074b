// The readout: one weight, row or column in words, with its rank, its row's sum and its place in the trace.

import { traceInPython } from "./attends_by.js";
import { element } from "../base/js/controls.js";
import { quoted, formatWeight, isUnchanged, markMeaning, visible } from "../base/js/text.js";

export const HINT =
  "Point at a cell or a token to see its weight; click to pin it. The arrow keys move the pin, Escape removes it.";
const MOST_LISTED = 8; // heads in a line of Python

/** A weight's rank in its row, among those that are not masked: {rank, of}; 1 is the largest. */
export function rankOf({ weights, cols, masked }, query, key) {
  const start = query * cols;
  const own = Math.abs(weights[start + key]);
  let [rank, of] = [1, 0];
  for (let col = 0; col < cols; col++) {
    if (masked?.[start + col]) continue;
    of += 1;
    if (Math.abs(weights[start + col]) > own) rank += 1;
  }
  return { rank, of };
}

/** The sum of a row. */
export function rowSum({ weights, cols }, query) {
  let sum = 0;
  for (let col = 0; col < cols; col++) sum += weights[query * cols + col];
  return sum;
}

/** The indices of the three strongest of `count` weights, strongest first. */
export function strongestThree(count, weightOf) {
  const found = [];
  for (let index = 0; index < count; index++) {
    const size = Math.abs(weightOf(index));
    const place = found.findIndex((one) => size > Math.abs(weightOf(one)));
    if (place >= 0) found.splice(place, 0, index);
    else if (found.length < 3) found.push(index);
    if (found.length > 3) found.pop();
  }
  return found;
}

/** One cell in words. */
export function describe(shown, query, key) {
  const { entry, weights, cols, masked, limit, keyAxis, queryAxis } = shown;
  const weight = weights[query * cols + key];
  const [word, target] = [quoted(shown.queries[query]), quoted(shown.keys[key])];
  if (masked?.[query * cols + key]) {
    const [from, to] = [queryAxis.groups[query][0], keyAxis.groups[key][0]];
    const why = entry.kind === "decoder" && to > from ? "it comes later" : "the mask closes it";
    return `Position ${from} may not attend to ${target}: ${why}.`;
  }
  let attends = weight < 0.05 ? "hardly attends to" : "attends to";
  let how = "";
  if (entry.unnormalised)
    [attends, how] = ["gives", ` the weight ${formatWeight(weight, limit, entry.least)}`];
  else if (limit !== null) {
    [attends, how] = [
      "attends to",
      isUnchanged(weight, limit)
        ? " as much as before"
        : weight > 0
          ? " more than before"
          : " less than before",
    ];
  }
  const reads = entry.reads && queryAxis.groups[query].map((index) => entry.reads[index]).join(" ");
  if (entry.reads) return `Having read ${quoted(reads)}, it writes ${word} and ${attends} ${target}${how}.`;
  return `Reading ${word}, it ${attends} ${target}${how}.`;
}

/** The line of Python that gives a weight, a row (`key` null) or a column; "" if it were too long. */
export function placeOf({ entry, heads, aggregate, layer, queryAxis, keyAxis }, query, key) {
  const name = `${entry.kind}_attention`;
  const [first, second] = entry.matched
    ? ["one", "two"]
    : ["trace", "other"].map((each) => traceInPython(each, entry.attendsBy));
  const base =
    entry.signed && !entry.unnormalised ? `(${first}.${name} - ${second}.${name})` : `${first}.${name}`;
  const group = (axis, index) => (index === null ? null : axis.groups[index]);
  const [rows, cols] = [group(queryAxis, query), group(keyAxis, key)];
  const one = (indices) => (indices === null ? ":" : indices.length === 1 ? String(indices[0]) : null);
  const simple = one(rows) !== null && one(cols) !== null;
  const list = (numbers) => `[${numbers.join(", ")}]`;
  let [stack, lead] = [base, ""];
  if (aggregate === "head") lead = heads[0].join(", ");
  else if (aggregate === "rollout") {
    if (entry.signed) return "";
    stack =
      entry.kind === "cross"
        ? `vt.analysis.output_rollout(${first}).source`
        : `vt.analysis.rollout(${first}, "${entry.kind}")`;
    lead = String(layer);
  } else {
    if (heads.length > MOST_LISTED || (entry.signed && aggregate === "max")) return "";
    stack = `${base}[${list(heads.map(([at]) => at))}, ${list(heads.map(([, at]) => at))}].${aggregate}(0)`;
  }
  const at = lead && `${lead}, `;
  if (simple) return `${stack}[${at}${one(rows)}, ${one(cols)}]`;
  if (rows === null || cols === null) return "";
  return `${stack}${lead && `[${lead}]`}[${list(rows)}][:, ${list(cols)}].sum(1).mean()`;
}

/** The rows and columns that the readout of an active cell, row or column names, the strongest first. */
export function wordsRead({ weights, rows, cols }, { query, key }) {
  if (!weights || (query === null && key === null)) return { queries: [], keys: [] };
  if (query === null)
    return { queries: strongestThree(rows, (row) => weights[row * cols + key]), keys: [key] };
  const keys = key === null ? strongestThree(cols, (col) => weights[query * cols + col]) : [key];
  return { queries: [query], keys };
}

/**
 * The readout of an active cell, row or column:
 * {pairs: [{from, to, weight, rank, of}], sentence, detail, sum}; the first pair is the one to read.
 */
export function readout(shown, { query, key }) {
  const { weights, cols, limit } = shown;
  const pair = (row, col) => ({
    from: shown.queries[row],
    to: shown.keys[col],
    weight: weights[row * cols + col],
    masked: Boolean(shown.masked?.[row * cols + col]),
    ...rankOf(shown, row, col),
  });
  if (query === null && key === null) return { pairs: [], sentence: HINT, detail: "", sum: "" };
  const detail = placeOf(shown, query, key);
  const { queries, keys } = wordsRead(shown, { query, key });
  if (query === null) {
    const changed = shown.entry.unnormalised ? "Given most by" : "Most changed in";
    const most = limit === null ? "Attended to most by" : changed;
    return {
      pairs: queries.map((row) => pair(row, key)),
      sentence: `${most} ${quoted(shown.queries[queries[0]])}.`,
      detail,
      sum: "",
    };
  }
  return {
    pairs: keys.map((col) => pair(query, col)),
    sentence: describe(shown, query, keys[0]),
    detail: key !== null && detail ? `${detail} = ${digitsOf(weights[query * cols + key], shown)}` : detail,
    sum: sumInWords(shown, query),
  };
}

/** A weight with the digits that its precision guarantees. */
export function digitsOf(weight, { entry }) {
  return Number(weight.toPrecision({ float16: 4, uint8: 2 }[entry.dtype] ?? 6));
}

function sumInWords(shown, query) {
  const sum = formatWeight(rowSum(shown, query), shown.limit, shown.entry.least);
  const { queryAxis, keyAxis, limit } = shown;
  const hidden = keyAxis.at.includes(-1) ? " without the hidden tokens" : "";
  if (limit !== null) {
    const [of, what] = shown.entry.unnormalised ? ["", "weights"] : [" of change", "changes"];
    return `Ranked by size${of}. The ${what} in its row sum to ${sum}${hidden}.`;
  }
  const pieces = queryAxis.groups[query].length > 1 ? " (the mean of its pieces' rows)" : "";
  return `Its row sums to ${sum}${hidden}${pieces}.`;
}

/** The element of the readout, a live region: {node, show(readout, style)}. */
export function addReadout(parent) {
  const node = element(parent, "div", "vt-readout", { role: "status", "aria-live": "polite" });
  const [pairLine, sentenceLine, sumLine, detailLine] = [
    "vt-pairs",
    "vt-sentence",
    "vt-sum",
    "vt-detail",
  ].map((name) => element(node, "div", name));
  let shown = "";

  function show({ pairs, sentence, detail, sum = "" }, { limit = null, least = -1, byKey = false } = {}) {
    const text = JSON.stringify([pairs, sentence, detail, sum]);
    if (shown === text) return; // a screen reader speaks each change once
    shown = text;
    [sentenceLine.textContent, sumLine.textContent, detailLine.textContent] = [sentence, sum, detail];
    pairLine.replaceChildren(
      ...pairs.flatMap((pair, index) =>
        index ? [" ", lesserPair(pair, [limit, least], byKey)] : [firstPair(pair, [limit, least])],
      ),
    );
  }

  return { node, show };
}

function textNode(tag, text) {
  const node = document.createElement(tag);
  node.textContent = text;
  return node;
}

function tokenNode(token) {
  const node = textNode("bdi", visible(token));
  node.title = markMeaning(token) ?? visible(token);
  return node;
}

function firstPair({ from, to, weight, rank, of, masked }, scale) {
  const node = textNode("span", "");
  node.className = "vt-pair";
  const place = masked ? ", masked" : `, rank ${rank} of ${of}`;
  node.append(
    tokenNode(from),
    " to ",
    tokenNode(to),
    ": ",
    textNode("b", formatWeight(weight, ...scale)),
    place,
  );
  return node;
}

/** One of the pairs after the first, in short. */
function lesserPair({ from, to, weight }, scale, byKey) {
  const node = textNode("span", "");
  node.className = "vt-pair vt-lesser";
  node.append(tokenNode(byKey ? from : to), ": ", textNode("b", formatWeight(weight, ...scale)));
  return node;
}
