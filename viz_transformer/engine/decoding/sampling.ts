// Sampling: words drawn from the distribution, or from its top k or top p;
// viz_transformer/decoding/sampling.py does the same, and draws the same words with the same seed.

import { repr, UserError } from "../errors.ts";
import type { Model } from "../model.ts";
import { makeRandom } from "../random.ts";
import type { Vocabulary } from "../vocabulary.ts";
import {
  type Hypothesis,
  logProbabilities,
  probabilities,
  type Search,
  type Step,
  topIds,
} from "./candidates.ts";
import { isWhole, type OpenText, openText, type TextOptions } from "./constraints.ts";

const N_SHOWN = 12; // how much of each distribution's top is kept

export interface SampleOptions extends Omit<TextOptions, "attention"> {
  temperature?: number;
  topK?: number | null;
  topP?: number | null;
  seed?: number;
}

/**
 * Write a text by drawing words.
 *
 * Logits are divided by the temperature, then all but the `topK` most probable words are left out, then
 * all but the fewest that together have a probability of `topP`; one of the rest is drawn by its share.
 */
export function sample(
  model: Model,
  given: number[],
  vocabulary: Vocabulary,
  options: SampleOptions = {},
): Search {
  const { temperature = 1, topK = null, topP = null, seed = 0 } = options;
  checkFilters(temperature, topK, topP, seed);
  const { constraints, firstId, ...text } = openText(model, given, vocabulary, options);
  const random = makeRandom(seed);
  const hypothesis: Hypothesis = { ids: [], path: [], logProb: 0 };
  const steps: Step[] = [];
  for (let drawn: number = firstId; !steps.length || drawn !== vocabulary.eosId; ) {
    const [logits] = text.steps.step([drawn]); // [vocab]
    const shares = keptProbabilities(constraints.forbid(logits, steps.length), temperature, topK, topP);
    drawn = draw(shares, random());
    const logProbs = logProbabilities(logits); // [vocab]
    const shown = topIds(logProbs, N_SHOWN);
    if (!shown.includes(drawn)) shown.push(drawn);
    const because = { leftOutBy: leftOutBy(topK, topP), constraints, step: steps.length };
    steps.push(recordDraw(shown, drawn, logProbs, shares, hypothesis.logProb, because));
    hypothesis.path.push(shown.indexOf(drawn));
    hypothesis.logProb += logProbs[drawn];
    if (drawn !== vocabulary.eosId) hypothesis.ids.push(drawn);
  }
  const tokens = vocabulary.tokensOf(hypothesis.ids);
  return {
    sourceTokens: text.sourceTokens,
    promptTokens: text.promptTokens,
    endToken: vocabulary.tokens[vocabulary.eosId],
    promptAttention: null,
    hypotheses: [{ ...hypothesis, tokens, score: hypothesis.logProb }],
    steps,
  };
}

/**
 * With which probability each word of logits [vocab] is drawn; those left out have 0. Of equally probable words
 * at the edge the lower ids stay.
 */
function keptProbabilities(
  logits: ArrayLike<number>,
  temperature: number,
  topK: number | null,
  topP: number | null,
) {
  const scaled = probabilities(Float64Array.from(logits, (logit) => logit / temperature)); // [vocab]
  if (topK === null && topP === null) return scaled;
  const ranked = Array.from(scaled.keys()).sort((one, other) => scaled[other] - scaled[one]);
  let left = ranked.slice(0, topK ?? undefined);
  if (topP !== null && topP < 1) {
    const total = sumOf(left, scaled);
    let before = 0;
    // A word stays while those before it have not reached topP: the one that does, stays too.
    left = left.filter((id) => {
      const stays = before < topP;
      before += scaled[id] / total;
      return stays;
    });
  }
  const total = sumOf(left, scaled);
  const kept = new Float64Array(scaled.length); // [vocab]
  for (const id of left) kept[id] = scaled[id] / total;
  return kept;
}

/** The word that a random number from 0 up to 1 draws, by the sums of the shares up to each id. */
function draw(shares: Float64Array, random: number) {
  let sum = 0;
  const sums = shares.map((share) => {
    sum += share;
    return sum;
  });
  const id = sums.findIndex((upTo) => upTo > random * sum);
  return id === -1 ? sums.length - 1 : id;
}

/** The candidates of a step: its most probable words, and the one that was drawn. */
function recordDraw(
  shown: number[],
  drawn: number,
  logProbs: Float64Array,
  shares: Float64Array,
  before: number,
  { leftOutBy, constraints, step }: { leftOutBy: string; constraints: OpenText["constraints"]; step: number },
): Step {
  const { eosId, tokens } = constraints.vocabulary;
  const whatBecame = (id: number) => {
    if (id === drawn) return { status: id === eosId ? "finished" : "kept", reason: "drawn" };
    if (shares[id] > 0) return { status: "pruned", reason: "not drawn" };
    const reason = constraints.whyForbidden(id, step) ?? `left out by ${leftOutBy}`;
    return { status: "forbidden", reason };
  };
  return {
    candidates: shown.map((id) => ({
      parent: 0,
      token: tokens[id],
      logProb: before + logProbs[id],
      score: before + logProbs[id],
      ...whatBecame(id),
      tokenLogProb: logProbs[id],
      beatenBy: null,
      margin: null,
      share: shares[id],
    })),
    probable: [shown.map((id) => ({ token: tokens[id], logProb: logProbs[id] }))],
    decoderAttention: null,
    crossAttention: null,
  };
}

function leftOutBy(topK: number | null, topP: number | null) {
  const names = [topK === null ? "" : `top_k=${repr(topK)}`, topP === null ? "" : `top_p=${repr(topP)}`];
  return names.filter(Boolean).join(" and ") || "rounding";
}

function sumOf(ids: number[], values: Float64Array) {
  return ids.reduce((sum, id) => sum + values[id], 0);
}

function checkFilters(temperature: number, topK: number | null, topP: number | null, seed: number) {
  if (!Number.isFinite(temperature) || temperature <= 0) {
    throw new UserError(
      `temperature=${repr(temperature)} must be a number above 0; for the most probable word each time, ` +
        "use greedy",
    );
  }
  if (topK !== null && !isWhole(topK, 1)) {
    throw new UserError(`top_k=${repr(topK)} must be a whole number of at least 1, or None for all`);
  }
  if (topP !== null && !(Number.isFinite(topP) && topP > 0 && topP <= 1)) {
    throw new UserError(`top_p=${repr(topP)} must be above 0 and at most 1, or None for all`);
  }
  if (!isWhole(seed, 0)) {
    throw new UserError(
      `seed=${repr(seed)} must be a whole number of at least 0, or one for each of the 1 sentences`,
    );
  }
}
