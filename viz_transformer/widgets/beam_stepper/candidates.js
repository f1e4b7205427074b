// What the beam stepper computes: where a candidate stands, what became of it, where it looked.

import { formatNumber, quoted, runningText, visible } from "../base/js/text.js";
import { decodeWeights } from "../base/js/weights.js";

/** The mark and the word for each fate, so that none is told by its colour alone. */
export const FATES = {
  kept: ["●", "kept"],
  finished: ["■", "finished"],
  pruned: ["✕", "pruned"],
  forbidden: ["⊘", "forbidden"],
};

/** What is asked for; only what matters to the method, so that equal requests are equal. */
export function searchRequest(get) {
  const names =
    get("method") === "sample" ? ["temperature", "top_k", "top_p", "seed"] : ["beam_width", "length_penalty"];
  const request = { text: get("sentence"), method: get("method") };
  for (const name of names) request[name] = get(name) ?? null;
  if (get("checkpoints")?.length) request.checkpoint = get("checkpoint");
  return request;
}

/** The places in a step of the candidates that go on, in the order of the beam. */
export function keptIn(step) {
  return step.flatMap(({ status }, index) => (status === "kept" ? [index] : []));
}

/** The tokens of every candidate of every step, its own last. */
export function beamTexts(steps) {
  let kept = [[]];
  return steps.map((step) => {
    const texts = step.map(({ parent, token }) => [...(kept[parent] ?? []), token]);
    kept = keptIn(step).map((index) => texts[index]);
    return texts;
  });
}

/** In which row of its column each candidate stands: kept ones first, forbidden ones last. */
export function beamRows(step) {
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

/** Which candidate of the step before one continues, or null in the first step. */
export function parentOf(steps, step, index) {
  return step ? (keptIn(steps[step - 1])[steps[step][index].parent] ?? null) : null;
}

/** The candidate that is shown of a step: the chosen, else the best text's own, else the first. */
export function shownIn(reply, step, chosen) {
  if (chosen !== null && chosen < reply.steps[step].length) return chosen;
  const best = reply.hypotheses[0]?.path ?? [];
  return best[step] ?? 0;
}

/** Where an arrow key leads from a candidate: {step, index}, or null for another key. */
export function moveInTree(steps, { step, index }, key) {
  const rows = beamRows(steps[step]);
  const at = (row) => rows.indexOf(Math.min(rows.length - 1, Math.max(0, row)));
  if (key === "ArrowUp") return { step, index: at(rows[index] - 1) };
  if (key === "ArrowDown") return { step, index: at(rows[index] + 1) };
  if (key === "ArrowLeft") {
    const parent = parentOf(steps, step, index);
    return parent === null ? { step, index } : { step: step - 1, index: parent };
  }
  if (key !== "ArrowRight") return null;
  if (step + 1 >= steps.length) return { step, index };
  const place = keptIn(steps[step]).indexOf(index);
  const child = steps[step + 1].findIndex(({ parent }) => parent === place);
  return { step: step + 1, index: Math.max(0, child) }; // from an end, on to the best that goes on
}

/** A log-probability or a score; null stands for −∞. */
export function nats(value, digits = 3) {
  return value === null ? "−∞" : formatNumber(value, digits);
}

/** A candidate in words: its text, what became of it and why, and what it is worth. */
export function fateInWords(candidate, text) {
  return (
    `${quoted(runningText(text))}: ${FATES[candidate.status][1]}, ${visible(candidate.reason)}. ` +
    `Log-probability ${nats(candidate.log_prob)}, score ${nats(candidate.score)}.`
  );
}

/** What the hypothesis of place `parent` looked at in a step: a weight for each key, or null. */
export function looksOf(reply, step, parent, layer, head) {
  const { attention } = reply;
  if (!attention) return null;
  attention.decoded ??= decodeWeights(attention.weights, attention.dtype);
  const { layers, heads, shapes } = attention;
  const start = shapes.slice(0, step).reduce((sum, [many, keys]) => sum + many * keys * layers * heads, 0);
  const [, keys] = shapes[step];
  const of = (each) => {
    const from = start + ((parent * layers + layer) * heads + each) * keys;
    return attention.decoded.subarray(from, from + keys);
  };
  if (head !== null) return of(head);
  const mean = new Float32Array(keys);
  for (let each = 0; each < heads; each++)
    of(each).forEach((weight, key) => {
      mean[key] += weight / heads;
    });
  return mean;
}

/** The tokens that these weights are of: the source, or what a decoder alone had before it. */
export function keysOf(reply, text) {
  return reply.attention?.kind === "cross" ? reply.source : [...reply.prompt, ...text.slice(0, -1)];
}

/** Whose attention it is, in words. */
export function headInWords({ layer, head }, { heads }) {
  if (head !== null) return `head ${head} of layer ${layer}`;
  return heads === 1 ? `the one head of layer ${layer}` : `the mean of the ${heads} heads of layer ${layer}`;
}

/** The probability that a log-probability stands for. */
export function chanceOf(logProb) {
  return logProb === null ? 0 : Math.exp(logProb);
}

/** What words are drawn from, in words. */
export function filtersInWords({ temperature, top_k, top_p }) {
  return `temperature ${temperature}, top-k ${top_k ?? "all"}, top-p ${top_p ?? "all"}`;
}

/** How a search was made, in words. */
export function settingsInWords(request) {
  const name = request.checkpoint ? `${visible(request.checkpoint)}, ` : "";
  if (request.method === "sample") return `${name}${filtersInWords(request)}, seed ${request.seed}`;
  return `${name}beam width ${request.beam_width}, length penalty ${request.length_penalty}`;
}

/** What a page that carries answers knows, in words: beams by their length penalty, draws one by one. */
export function carriedInWords(requests) {
  const widths = new Map();
  const told = new Set();
  for (const request of requests) {
    if (request.method === "sample") {
      told.add(settingsInWords(request));
      continue;
    }
    const name = request.checkpoint ? `${visible(request.checkpoint)}, ` : "";
    const group = `${name}length penalty ${request.length_penalty} with beam width`;
    widths.set(group, new Set([...(widths.get(group) ?? []), request.beam_width]));
  }
  for (const [group, those] of widths) told.add(`${group} ${[...those].sort((a, b) => a - b).join(", ")}`);
  return `Without it, this page knows: ${[...told].join("; ")}.`;
}
