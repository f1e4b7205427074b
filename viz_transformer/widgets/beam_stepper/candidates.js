// The candidates of a search: their places in the tree, their descriptions, their attention.

import shared from "../../shared.json" with { type: "json" };
import { formatNumber, quoted, runningText, visible } from "../base/js/text.js";
import { weightsIn } from "../base/js/weights.js";

/**
 * A continuation that the search considered. A log-probability or a score of null stands for −∞.
 *
 * @typedef {object} Candidate
 * @property {number} parent the place in the beam that it continues
 * @property {string} token
 * @property {number | null} log_prob of the text so far, in nats
 * @property {number | null} score
 * @property {number | null} token_log_prob
 * @property {"kept" | "finished" | "pruned" | "forbidden"} status
 * @property {string} reason
 * @property {number | null} [share] in sampling, the probability that it could be drawn with
 * @property {number | null} [beaten_by] which candidate took its place
 */

/** @typedef {{ tokens: string[], log_prob: number | null, score: number | null, path: number[] }} Hypothesis */

/**
 * What was asked for, the names as Python has them.
 *
 * @typedef {{ text: string, method: "beam" | "sample", checkpoint?: string, beam_width?: number,
 *   length_penalty?: number, temperature?: number, top_k?: number | null, top_p?: number | null,
 *   seed?: number }} SearchRequest
 */

/**
 * A search as it was answered, with the request and with the tokens of each candidate of each step.
 *
 * @typedef {object} SearchResult
 * @property {SearchRequest} request
 * @property {string[]} source
 * @property {string[]} prompt
 * @property {string} end
 * @property {boolean} sampled whether the text was drawn
 * @property {Hypothesis[]} hypotheses
 * @property {Hypothesis | null} greedy
 * @property {Candidate[][]} steps
 * @property {string[][][]} texts
 * @property {Attention | null} attention
 */

/**
 * The attention of all steps, one after another; `shapes` has each step's [hypotheses, keys].
 *
 * @typedef {{ kind: "cross" | "decoder", layers: number, heads: number, shapes: number[][],
 *   dtype: string, weights: DataView, decoded?: Float32Array }} Attention
 */

/** @typedef {{ step: number, index: number }} Position a candidate of a step */

/** The mark and the word for each status, so that none is shown by its colour alone. */
export const STATUSES = Object.fromEntries(
  Object.entries(shared.statuses).map(([word, mark]) => [word, { mark, word }]),
);

/**
 * The request for what the traits say; only what matters to the method, so that equal requests are
 * equal.
 *
 * @param {(trait: string) => any} get
 * @returns {SearchRequest}
 */
export function searchRequest(get) {
  const names =
    get("method") === "sample" ? ["temperature", "top_k", "top_p", "seed"] : ["beam_width", "length_penalty"];
  return {
    text: get("sentence"),
    method: get("method"),
    ...Object.fromEntries(names.map((name) => [name, get(name) ?? null])),
    ...(get("checkpoints")?.length ? { checkpoint: get("checkpoint") } : {}),
  };
}

/**
 * The indices of the candidates of a step that go on, in the order of the beam.
 *
 * @param {Pick<Candidate, "status">[]} step
 * @returns {number[]}
 */
export function keptIndices(step) {
  return step.flatMap(({ status }, index) => (status === "kept" ? [index] : []));
}

/**
 * The tokens of every candidate of every step, its own last.
 *
 * @param {Candidate[][]} steps
 * @returns {string[][][]}
 */
export function candidateTexts(steps) {
  let kept = [[]];
  return steps.map((step) => {
    const texts = step.map(({ parent, token }) => [...(kept[parent] ?? []), token]);
    kept = keptIndices(step).map((index) => texts[index]);
    return texts;
  });
}

/**
 * In which row of its column each candidate stands: kept ones first, forbidden ones last.
 *
 * @param {Pick<Candidate, "status">[]} step
 * @returns {number[]}
 */
export function candidateRows(step) {
  const below = { kept: 0, finished: 1, pruned: 1, forbidden: 2 };
  const order = step
    .map((_, index) => index)
    .sort((a, b) => below[step[a].status] - below[step[b].status] || a - b);
  const rows = new Array(step.length);
  order.forEach((index, row) => {
    rows[index] = row;
  });
  return rows;
}

/**
 * Which candidate of the step before it one continues, or null in the first step.
 *
 * @param {Candidate[][]} steps
 * @param {number} step
 * @param {number} index
 * @returns {number | null}
 */
export function parentOf(steps, step, index) {
  return step ? (keptIndices(steps[step - 1])[steps[step][index].parent] ?? null) : null;
}

/**
 * The candidate of a step that is shown: the chosen, else the best text's own, else the first.
 *
 * @param {{ steps: unknown[][], hypotheses: { path: number[] }[] }} result
 * @param {number} step
 * @param {number | null} chosen
 * @returns {number}
 */
export function shownCandidate({ steps, hypotheses }, step, chosen) {
  if (chosen !== null && chosen < steps[step].length) return chosen;
  return hypotheses[0]?.path[step] ?? 0;
}

/**
 * Where an arrow key leads from a candidate, or null for another key.
 *
 * @param {Candidate[][]} steps
 * @param {Position} position
 * @param {string} key
 * @returns {Position | null}
 */
export function moveInTree(steps, { step, index }, key) {
  const rows = candidateRows(steps[step]);
  const at = (row) => rows.indexOf(Math.min(rows.length - 1, Math.max(0, row)));
  if (key === "ArrowUp") return { step, index: at(rows[index] - 1) };
  if (key === "ArrowDown") return { step, index: at(rows[index] + 1) };
  if (key === "ArrowLeft") {
    const parent = parentOf(steps, step, index);
    return parent === null ? { step, index } : { step: step - 1, index: parent };
  }
  if (key !== "ArrowRight") return null;
  if (step + 1 >= steps.length) return { step, index };
  const place = keptIndices(steps[step]).indexOf(index);
  const child = steps[step + 1].findIndex(({ parent }) => parent === place);
  return { step: step + 1, index: Math.max(0, child) }; // from an end, on to the best that goes on
}

/**
 * A log-probability or a score; null stands for −∞.
 *
 * @param {number | null} value
 * @param {number} [digits]
 * @returns {string}
 */
export function formatNats(value, digits = 3) {
  return value === null ? "−∞" : formatNumber(value, digits);
}

/**
 * A candidate in words: its text, what became of it and why, and its numbers.
 *
 * @param {Candidate} candidate
 * @param {string[]} text
 * @returns {string}
 */
export function describeCandidate(candidate, text) {
  return (
    `${quoted(runningText(text))}: ${STATUSES[candidate.status].word}, ${visible(candidate.reason)}. ` +
    `Log-probability ${formatNats(candidate.log_prob)}, score ${formatNats(candidate.score)}.`
  );
}

/**
 * What a hypothesis attended to in a step: a weight for each key, or null. `head` null is the mean.
 *
 * @param {Pick<SearchResult, "attention">} result
 * @param {number} step
 * @param {number} hypothesis its place in the beam
 * @param {number} layer
 * @param {number | null} head
 * @returns {Float32Array | null}
 */
export function attentionOf({ attention }, step, hypothesis, layer, head) {
  if (!attention) return null;
  const { layers, heads, shapes } = attention;
  const start = shapes.slice(0, step).reduce((sum, [many, keys]) => sum + many * keys * layers * heads, 0);
  const [, keys] = shapes[step];
  const weightsOf = (each) => {
    const from = start + ((hypothesis * layers + layer) * heads + each) * keys;
    return weightsIn(attention).subarray(from, from + keys); // [key]
  };
  if (head !== null) return weightsOf(head);
  const mean = new Float32Array(keys);
  for (let each = 0; each < heads; each++)
    for (const [key, weight] of weightsOf(each).entries()) mean[key] += weight / heads;
  return mean;
}

/**
 * The tokens that were attended to: the source, or what a decoder alone had before it.
 *
 * @param {Pick<SearchResult, "attention" | "source" | "prompt">} result
 * @param {string[]} text
 * @returns {string[]}
 */
export function attentionKeys({ attention, source, prompt }, text) {
  return attention?.kind === "cross" ? source : [...prompt, ...text.slice(0, -1)];
}

/**
 * A head, or the mean of a layer's heads, in words.
 *
 * @param {{ layer: number, head: number | null }} place
 * @param {{ heads: number }} attention
 * @returns {string}
 */
export function describeHead({ layer, head }, { heads }) {
  if (head !== null) return `head ${head} of layer ${layer}`;
  return heads === 1 ? `the one head of layer ${layer}` : `the mean of the ${heads} heads of layer ${layer}`;
}

/**
 * What tokens are sampled from, in words.
 *
 * @param {Pick<SearchRequest, "temperature" | "top_k" | "top_p">} request
 * @returns {string}
 */
export function describeFilters({ temperature, top_k, top_p }) {
  return `temperature ${temperature}, top-k ${top_k ?? "all"}, top-p ${top_p ?? "all"}`;
}

/**
 * The settings of a search, in words.
 *
 * @param {SearchRequest} request
 * @returns {string}
 */
export function describeSettings(request) {
  const name = request.checkpoint ? `${visible(request.checkpoint)}, ` : "";
  if (request.method === "sample") return `${name}${describeFilters(request)}, seed ${request.seed}`;
  return `${name}beam width ${request.beam_width}, length penalty ${request.length_penalty}`;
}

/**
 * What an exported page knows, in words: beams by their length penalty, samples one by one.
 *
 * @param {SearchRequest[]} requests
 * @returns {string}
 */
export function describeCarried(requests) {
  const widths = new Map();
  const descriptions = new Set();
  for (const request of requests) {
    if (request.method === "sample") {
      descriptions.add(describeSettings(request));
      continue;
    }
    const name = request.checkpoint ? `${visible(request.checkpoint)}, ` : "";
    const group = `${name}length penalty ${request.length_penalty} with beam width`;
    widths.set(group, new Set([...(widths.get(group) ?? []), request.beam_width]));
  }
  for (const [group, those] of widths)
    descriptions.add(`${group} ${[...those].sort((a, b) => a - b).join(", ")}`);
  return `Without the notebook, this page can show: ${[...descriptions].join("; ")}.`;
}
