// The beam stepper's answers: a search, and greedy search's text beside it. widgets/beam_stepper/live.py and
// widgets/beam_stepper/payload.py give the same.

import type { Candidate, Finished, Search } from "../decoding/candidates.ts";
import { concatenated } from "../matrix.ts";
import type { WritingModel } from "../text_model_base.ts";
import { bytesOf } from "./bytes.ts";

/** What the view asks for: `method` says which of the numbers there are. */
interface Request {
  text: string;
  method: "beam" | "sample";
  checkpoint?: string;
  beam_width?: number;
  length_penalty?: number;
  temperature?: number;
  top_k?: number | null;
  top_p?: number | null;
  seed?: number;
}

export function answerBeamStepper(models: Record<string, WritingModel>, request: Request) {
  const model = models[request.checkpoint ?? ""];
  const search = searchFor(model, request);
  const greedy = model.decode(request.text, { beamWidth: 1, lengthPenalty: request.length_penalty ?? 0 });
  return searchReply(search, greedy.hypotheses[0]);
}

function searchFor(
  model: WritingModel,
  { text, method, beam_width, length_penalty, temperature, top_k, top_p, seed }: Request,
) {
  if (method === "sample") return model.sample(text, { temperature, topK: top_k, topP: top_p, seed });
  return model.decode(text, { beamWidth: beam_width, lengthPenalty: length_penalty, attention: true });
}

/** A search as the view reads it: plain values, and the attention as bytes. */
function searchReply(search: Search, greedy: Finished) {
  return {
    source: search.sourceTokens,
    prompt: search.promptTokens,
    end: search.endToken,
    hypotheses: search.hypotheses.map(hypothesisReply),
    greedy: hypothesisReply(greedy),
    steps: search.steps.map(({ candidates }) => candidates.map(candidateReply)),
    attention: attentionReply(search.steps),
  };
}

function hypothesisReply({ tokens, logProb, score, path }: Finished) {
  return { tokens, log_prob: numberOrNull(logProb), score: numberOrNull(score), path };
}

function candidateReply({
  parent,
  token,
  logProb,
  score,
  tokenLogProb,
  status,
  reason,
  share,
  beatenBy,
}: Candidate) {
  return {
    parent,
    token,
    log_prob: numberOrNull(logProb),
    score: numberOrNull(score),
    token_log_prob: numberOrNull(tokenLogProb),
    status,
    reason,
    share: share ?? null,
    beaten_by: beatenBy ?? null,
  };
}

/** All steps' attention in one row of bytes; each step has its counts of hypotheses and keys. */
function attentionReply(steps: Search["steps"]) {
  const kinds = ["crossAttention", "decoderAttention"] as const;
  const name = kinds.find((each) => steps.every((step) => step[each]));
  if (!name) return null;
  const recorded = steps.map((step) => step[name]!); // each [hypothesis, layer, head, key]
  const [, layers, heads] = recorded[0].shape;
  return {
    kind: name.replace("Attention", ""),
    layers,
    heads,
    shapes: recorded.map(({ shape }) => [shape[0], shape[3]]),
    dtype: "float32",
    weights: bytesOf(concatenated(recorded.map(({ data }) => data))),
  };
}

/** A number that JSON has: the log-probability −∞ is null. */
function numberOrNull(value: number) {
  return Number.isFinite(value) ? value : null;
}
