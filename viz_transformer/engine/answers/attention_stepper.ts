// The attention stepper's answers: what one layer reads of a sentence, and its matrices.
// widgets/attention_stepper/live.py and widgets/attention_stepper/payload.py give the same.

import { UserError } from "../errors.ts";
import { forward } from "../model.ts";
import { concatenated, type Matrix } from "../matrix.ts";
import type { Models } from "../text_model.ts";
import type { Kind } from "../trace.ts";
import { bytesOf } from "./bytes.ts";
import type { Interventions, HeadChange } from "../interventions.ts";
import type { AttentionInputs } from "../watch.ts";

/** The interventions change the whole model, for every sentence. */
export function answerAttentionStepper(
  { "": model }: Models,
  { text, kind, layer }: { text: string; kind: Kind; layer: number },
  { interventions }: { interventions: Interventions },
) {
  refuseOwnHeads(interventions.heads ?? [], kind, layer);
  const trace =
    model.task === "translate" ? model.trace(text, null, interventions) : model.trace(text, interventions);
  const ids = {
    source: model.vocabulary.idsOf(trace.sourceTokens),
    target: model.vocabulary.idsOf(trace.targetTokens),
  };
  const { watched } = forward(model.model, ids, { interventions, watch: { kind, layer } });
  return {
    text,
    kind,
    layer,
    queries: trace.queryTokens(kind),
    keys: trace.keyTokens(kind),
    reads: kind !== "encoder" && trace.outputTokens ? trace.targetTokens : null,
    ...(model.model.config.norm === "pre" ? { normed: true } : {}),
    ...layerReply(watched!, kind),
  };
}

function refuseOwnHeads(heads: HeadChange[], kind: string, layer: number) {
  if (!heads.some((change) => change.kind === kind && change.layer === layer)) return;
  throw new UserError(
    `the interventions change a head of ${kind} layer ${layer}, the layer that the view shows; choose ` +
      "another layer, or change heads elsewhere",
  );
}

/** Arrays are float32 in C order, all heads one after another, and the mask is one byte a place. */
function layerReply(
  { queryInput, keyInput, mask, wQ, wK, wV, wO, bQ, bK, bV, bO }: AttentionInputs,
  kind: string,
) {
  const arrays = (heads: Float32Array[]) => bytesOf(concatenated(heads));
  const matrices = (heads: Matrix[]) => arrays(heads.map(({ data }) => data));
  return {
    heads: wQ.length,
    d_model: queryInput.cols,
    d_head: wQ[0].cols,
    mask: bytesOf(mask),
    x: bytesOf(queryInput.data), // [query, d_model]
    memory: kind === "cross" ? bytesOf(keyInput.data) : null, // [key, d_model]
    w_q: matrices(wQ), // [head, d_model, d_head]
    w_k: matrices(wK),
    w_v: matrices(wV),
    w_o: bytesOf(wO.data), // [head · d_head, d_model]
    b_q: bQ && arrays(bQ), // [head, d_head]
    b_k: bK && arrays(bK),
    b_v: bV && arrays(bV),
    b_o: bO && bytesOf(bO), // [d_model]
  };
}
