// The head lab's answers: what a model says with heads scaled or switched off. widgets/head_lab/live.py and
// widgets/head_lab/view.py give the same.

import type { HeadChange } from "../interventions.ts";
import { newestOf } from "../reuse.ts";
import type { AnyTextModel, Models } from "../text_model.ts";
import type { AttentionWeights, Kind, Trace } from "../trace.ts";
import { MASK } from "../vocabulary.ts";
import { bytesOf } from "./bytes.ts";

type Judged = ReturnType<AnyTextModel["judge"]>;

interface Request {
  sentence: string;
  changes?: HeadChange[];
  each?: number;
  /** With `each`: of this layer alone. */
  kind?: Kind;
  layer?: number;
}

/** Either the model under some changes, or each head alone at one factor. */
export function answerHeadLab({ "": model }: Models, { sentence, changes, each, kind, layer }: Request) {
  // Always the log-probabilities of the unchanged model's words, so that they can be compared.
  const target = newestOf(model, sentence, () => model.answer(sentence));
  if (each !== undefined) {
    const judged = model.judge(sentence, target);
    const kinds = kindsOf(judged.trace).filter(([name]) => layer === undefined || name === kind);
    const alone = kinds.map(([name, { shape }]) => {
      const places = {
        kind: name,
        first: layer ?? 0,
        nLayers: layer === undefined ? shape[0] : 1,
        nHeads: shape[1],
      };
      return eachHead(model, sentence, target, places, each);
    });
    return layer === undefined ? { ...judgedReply(judged), each: alone } : { each: alone }; // the page has the rest
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

/** The log-probabilities with one head at a time changed, [layer, head, token] of some layers. */
function eachHead(
  model: AnyTextModel,
  sentence: string,
  target: string[],
  { kind, first, nLayers, nHeads }: { kind: Kind } & Record<"first" | "nLayers" | "nHeads", number>,
  factor: number,
) {
  const changes = Array.from({ length: nLayers * nHeads }, (_, i) => {
    return { kind, layer: first + Math.floor(i / nHeads), head: i % nHeads, factor };
  });
  const found = changes.map((change) => model.judge(sentence, target, { heads: [change] }).logProbs);
  const nTokens = found[0]?.length ?? 0;
  const all = new Float64Array(found.length * nTokens);
  for (const [i, logProbs] of found.entries()) all.set(logProbs, i * nTokens);
  return { kind, shape: [nLayers, nHeads, nTokens], log_probs: bytesOf(all) };
}
