// The head lab's answers: what a model says with heads scaled or switched off. widgets/head_lab/live.py and
// widgets/head_lab/view.py give the same.

import { newestOf } from "../remembered.ts";
import type { HeadChange } from "../interventions.ts";
import type { AnyTextModel, Models } from "../text_model.ts";
import type { AttentionWeights, Kind, Trace } from "../trace.ts";
import { MASK } from "../vocabulary.ts";
import { bytesOf } from "./bytes.ts";

type Judged = ReturnType<AnyTextModel["judge"]>;

/** Either the model under some changes, or each head alone at one factor. */
export function answerHeadLab(
  { "": model }: Models,
  { sentence, changes, each }: { sentence: string; changes?: HeadChange[]; each?: number },
) {
  // Always the log-probabilities of the unchanged model's words, so that they can be compared.
  const target = newestOf(model, sentence, () => model.answer(sentence));
  if (each !== undefined) {
    const judged = model.judge(sentence, target);
    return { ...judgedReply(judged), each: eachHead(model, sentence, target, judged, each) };
  }
  const interventions = { heads: changes };
  const judged = model.judge(sentence, target, interventions);
  return {
    ...judgedReply(judged),
    translation: changes?.length ? model.answer(sentence, interventions) : target,
    output: foundTokens(model.task, judged.trace, target),
  };
}

/** The tokens that the model had to find: those that a decoder writes, or the word in the gap. */
function foundTokens(task: string, trace: Trace, target: string[]) {
  return task === "fill" ? [target[trace.sourceTokens.indexOf(MASK)]] : trace.queryTokens("decoder");
}

/** The kinds of attention that a trace has, each with its weights. */
function kindsOf({ attention }: Trace) {
  return Object.entries(attention) as [Kind, AttentionWeights][];
}

/** The log-probabilities of the tokens, and each kind's words and weights [layer, head, query, key]. */
function judgedReply({ trace, logProbs }: Judged) {
  return {
    log_probs: Array.from(logProbs),
    kinds: kindsOf(trace).map(([kind, { shape, data }]) => ({
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

/** The log-probabilities with one head at a time changed, [layer, head, token] for each kind. */
function eachHead(
  model: AnyTextModel,
  sentence: string,
  target: string[],
  { trace, logProbs: unchanged }: Judged,
  factor: number,
) {
  return kindsOf(trace).map(([kind, { shape }]) => {
    const [nLayers, nHeads] = shape;
    const found = new Float64Array(nLayers * nHeads * unchanged.length);
    for (let i = 0; i < nLayers * nHeads; i++) {
      const change = { kind, layer: Math.floor(i / nHeads), head: i % nHeads, factor };
      found.set(model.judge(sentence, target, { heads: [change] }).logProbs, i * unchanged.length);
    }
    return { kind, shape: [nLayers, nHeads, unchanged.length], log_probs: bytesOf(found) };
  });
}
