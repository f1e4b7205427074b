// The beam stepper's answers: a search, and greedy search's text beside it. labs/beam_stepper.py and
// widgets/beam_stepper/payload.py give the same.

/**
 * What the view asks for: `method` says which of the numbers there are.
 *
 * @typedef {{ text: string, method: "beam" | "sample", checkpoint?: string, beam_width?: number,
 *   length_penalty?: number, temperature?: number, top_k?: number | null, top_p?: number | null,
 *   seed?: number }} Request
 */

/**
 * @param {Record<string, any>} models one under the name "", or checkpoints by their names
 * @param {Request} request
 */
export function answerBeamStepper(models, request) {
  const model = models[request.checkpoint ?? ""];
  const search = searchFor(model, request);
  const greedy = model.decode(request.text, { beamWidth: 1, lengthPenalty: request.length_penalty ?? 0 });
  return searchReply(search, greedy.hypotheses[0]);
}

/** @param {any} model @param {Request} request */
function searchFor(model, { text, method, beam_width, length_penalty, temperature, top_k, top_p, seed }) {
  if (method === "sample") return model.sample(text, { temperature, topK: top_k, topP: top_p, seed });
  return model.decode(text, { beamWidth: beam_width, lengthPenalty: length_penalty, attention: true });
}

/** A search as the view reads it: plain values, and the attention as bytes. */
function searchReply(search, greedy) {
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

function hypothesisReply({ tokens, logProb, score, path }) {
  return { tokens, log_prob: numberOrNull(logProb), score: numberOrNull(score), path };
}

function candidateReply({ parent, token, logProb, score, tokenLogProb, status, reason, share, beatenBy }) {
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
function attentionReply(steps) {
  const kind = ["cross", "decoder"].find((name) => steps.every((step) => step[`${name}Attention`]));
  if (!kind) return null;
  const recorded = steps.map((step) => step[`${kind}Attention`]); // each [hypothesis, layer, head, key]
  const [, layers, heads] = recorded[0].shape;
  const weights = new Float32Array(recorded.reduce((sum, { data }) => sum + data.length, 0));
  let end = 0;
  for (const { data } of recorded) {
    weights.set(data, end);
    end += data.length;
  }
  return {
    kind,
    layers,
    heads,
    shapes: recorded.map(({ shape }) => [shape[0], shape[3]]),
    dtype: "float32",
    weights: new DataView(weights.buffer),
  };
}

/** A number that JSON has: the log-probability −∞ is null. */
function numberOrNull(value) {
  return Number.isFinite(value) ? value : null;
}
