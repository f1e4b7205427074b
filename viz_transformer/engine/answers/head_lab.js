// The head lab's answers: what a model says with heads scaled or switched off. labs/head_lab.py and
// widgets/head_lab/view.py give the same.

import { newestOf } from "../remembered.js";
import { MASK } from "../vocabulary.js";
import { bytesOf } from "./bytes.js";

/** @typedef {{ kind: string, layer: number, head: number, factor: number }} HeadChange */

/**
 * Either the model under some changes, or each head alone at one factor, of all layers or of one.
 *
 * @param {Record<string, any>} models one, under the name ""
 * @param {{ sentence: string, changes?: HeadChange[], each?: number, kind?: string, layer?: number }} request
 */
export function answerHeadLab({ "": model }, { sentence, changes, each, kind, layer }) {
  // Always the log-probabilities of the unchanged model's words, so that they can be compared.
  const target = newestOf(model, sentence, () => model.answer(sentence));
  if (each !== undefined) {
    const judged = model.judge(sentence, target);
    const one = (of) => eachHead(model, sentence, target, judged, each, of);
    if (layer !== undefined) return { each: [one({ kind, layers: [layer] })] }; // the page has the rest
    const all = Object.entries(judged.trace.attention).map(([name, { shape }]) =>
      one({ kind: name, layers: Array.from({ length: shape[0] }, (_, i) => i) }),
    );
    return { ...judgedReply(judged), each: all };
  }
  const interventions = { heads: changes };
  const judged = model.judge(sentence, target, interventions);
  return {
    ...judgedReply(judged),
    translation: changes.length ? model.answer(sentence, interventions) : target,
    output: foundTokens(model.task, judged.trace, target),
  };
}

/** The tokens that the model had to find: those that a decoder writes, or the word in the gap. */
function foundTokens(task, trace, target) {
  return task === "fill" ? [target[trace.sourceTokens.indexOf(MASK)]] : trace.queryTokens("decoder");
}

/** The log-probabilities of the tokens, and each kind's words and weights [layer, head, query, key]. */
function judgedReply({ trace, logProbs }) {
  return {
    log_probs: Array.from(logProbs),
    kinds: Object.entries(trace.attention).map(([kind, { shape, data }]) => ({
      kind,
      queries: trace.queryTokens(kind),
      reads: kind === "encoder" ? trace.sourceTokens : trace.targetTokens,
      keys: trace.keyTokens(kind),
      shape,
      dtype: "float32",
      weights: bytesOf(data),
    })),
  };
}

/** The log-probabilities with one head of a kind at a time changed, [layer, head, token] of some layers. */
function eachHead(model, sentence, target, { trace, logProbs: unchanged }, factor, { kind, layers }) {
  const nHeads = trace.attention[kind].shape[1];
  const found = new Float64Array(layers.length * nHeads * unchanged.length);
  for (let i = 0; i < layers.length * nHeads; i++) {
    const change = { kind, layer: layers[Math.floor(i / nHeads)], head: i % nHeads, factor };
    found.set(model.judge(sentence, target, { heads: [change] }).logProbs, i * unchanged.length);
  }
  return { kind, shape: [layers.length, nHeads, unchanged.length], log_probs: bytesOf(found) };
}
