// Beam search, with every candidate of every step; viz_transformer/decoding/beam.py does the same.

import shared from "../../shared.json" with { type: "json" };
import { repr, UserError } from "../errors.ts";
import type { Model } from "../model.ts";
import type { Vocabulary } from "../vocabulary.ts";
import {
  type Beam,
  type Finished,
  type Found,
  type Hypothesis,
  logSumExp,
  recordStep,
  type Row,
  type Search,
  type Step,
  topIds,
} from "./candidates.ts";
import { isWhole, openText, type TextOptions } from "./constraints.ts";

const { beam: MOST_BEAMS, length_penalty: MOST_PENALTY } = shared.limits;

export interface BeamOptions extends TextOptions {
  beamWidth?: number;
  /** 0 favours short texts. */
  lengthPenalty?: number;
}

/**
 * Write a text, following the `beamWidth` most probable beginnings.
 *
 * At each step the continuations of all hypotheses are ranked by log-probability; of equal ones the
 * earlier hypothesis comes first, then the lower id. Among the first `beamWidth` those that end with
 * `<eos>` are finished; the best `beamWidth` of the others are kept. The search ends as soon as
 * `beamWidth` hypotheses are finished; they are ranked by score. Width 1 is greedy search.
 */
export function beamSearch(
  model: Model,
  given: number[],
  vocabulary: Vocabulary,
  options: BeamOptions = {},
): Search {
  const { beamWidth = 4, lengthPenalty = 0.6 } = options;
  checkBeam(beamWidth, lengthPenalty);
  const text = openText(model, given, vocabulary, options);
  const beam: Beam = {
    width: beamWidth,
    norm: (length: number) => lengthNorm(length, lengthPenalty),
    ...text,
  };
  let live: Hypothesis[] = [{ ids: [], path: [], logProb: 0 }];
  let finished: Finished[] = [];
  const steps: Step[] = [];
  let words = [text.firstId];
  while (live.length && finished.length < beamWidth) {
    const rows = text.steps.step(words).map((logits) => ({ logits, total: logSumExp(logits) }));
    const found = rankedCandidates(rows, live, steps.length, beam);
    const ranks = found.map((_, rank) => rank);
    const ends = (rank: number) => found[rank].token === vocabulary.eosId;
    const kept = ranks.filter((rank) => !ends(rank)).slice(0, beamWidth);
    const norm = beam.norm(steps.length + 1);
    finished.push(
      ...ranks
        .slice(0, beamWidth)
        .filter(ends)
        .map((rank) => finishedHypothesis(found[rank], rank, live, norm, vocabulary)),
    );
    finished = finished.sort((one, other) => other.score - one.score).slice(0, beamWidth);
    steps.push(recordStep(rows, found, kept, live, steps.length, beam));
    text.steps.select(kept.map((rank) => found[rank].parent));
    words = kept.map((rank) => found[rank].token);
    live = kept.map((rank) => continued(found[rank], rank, live));
  }
  return {
    sourceTokens: text.sourceTokens,
    promptTokens: text.promptTokens,
    endToken: vocabulary.tokens[vocabulary.eosId],
    promptAttention: (options.attention && text.steps.promptAttention) || null,
    hypotheses: finished,
    steps,
  };
}

/** Twice as many continuations of all hypotheses as the beam has places, the best first. */
function rankedCandidates(rows: Row[], live: Hypothesis[], step: number, { constraints, width }: Beam) {
  const candidates = rows.flatMap(({ logits, total }, parent) =>
    topIds(constraints.forbid(logits, step), 2 * width).map((token) => ({
      parent,
      token,
      logProb: live[parent].logProb + (logits[token] - total),
    })),
  );
  // Stable: of equal sums the earlier hypothesis is first, and then the lower id.
  return candidates.sort((one, other) => other.logProb - one.logProb).slice(0, 2 * width);
}

function continued({ parent, token, logProb }: Found, rank: number, live: Hypothesis[]) {
  return { ids: [...live[parent].ids, token], path: [...live[parent].path, rank], logProb };
}

function finishedHypothesis(
  { parent, logProb }: Found,
  rank: number,
  live: Hypothesis[],
  norm: number,
  vocabulary: Vocabulary,
) {
  const { ids, path } = live[parent];
  return { ids, tokens: vocabulary.tokensOf(ids), logProb, score: logProb / norm, path: [...path, rank] };
}

/**
 * What a log-probability is divided by, so that long and short texts compare; `length` counts `<eos>`.
 *
 * Source: Wu et al. 2016, section 7, equation 14.
 */
export function lengthNorm(length: number, lengthPenalty: number) {
  return ((5 + length) / 6) ** lengthPenalty;
}

function checkBeam(beamWidth: number, lengthPenalty: number) {
  if (!isWhole(beamWidth, 1)) {
    throw new UserError(`beam_width=${repr(beamWidth)} must be a whole number of at least 1`);
  }
  if (beamWidth > MOST_BEAMS) {
    throw new UserError(
      `beam_width=${repr(beamWidth)} is too large: a wider beam finds no better texts; give at most 1,000`,
    );
  }
  if (!Number.isFinite(lengthPenalty) || lengthPenalty < 0 || lengthPenalty > MOST_PENALTY) {
    throw new UserError(`length_penalty=${repr(lengthPenalty)} must be a number from 0 to ${MOST_PENALTY}`);
  }
}
