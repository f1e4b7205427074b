// The candidates of a beam search's step, and what became of each: viz_transformer/decoding/recorder.py
// does the same.

import { repr } from "../errors.ts";
import { concatenated } from "../matrix.ts";
import { joinTokens } from "../spelling.ts";
import type { AttentionWeights } from "../trace.ts";
import type { OpenText } from "./constraints.ts";

const N_PROBABLE = 8; // how much of each distribution's top is kept

/** What a search returns, or a draw, which has one hypothesis. */
export interface Search {
  sourceTokens: string[];
  promptTokens: string[];
  endToken: string;
  promptAttention: AttentionWeights | null;
  /** The finished ones, best first. */
  hypotheses: Finished[];
  steps: Step[];
}

/** A text that is being written: its ids, and at each step the rank of its candidate. */
export interface Hypothesis {
  ids: number[];
  path: number[];
  logProb: number;
}

export type Finished = Hypothesis & { tokens: string[]; score: number };

export interface Step {
  /** Best first, then those that were forbidden. */
  candidates: Candidate[];
  /** Of each hypothesis, the most probable words. */
  probable: { token: string; logProb: number }[][];
  /** [hypothesis, layer, head, key], where it was recorded. */
  decoderAttention: AttentionWeights | null;
  crossAttention: AttentionWeights | null;
}

export interface Candidate {
  /** The hypothesis that it continues. */
  parent: number;
  token: string;
  logProb: number;
  score: number;
  /** "kept", "finished", "pruned" or "forbidden", and why, in words. */
  status: string;
  reason: string;
  tokenLogProb: number;
  /** The rank of the one that was kept instead, and how far behind it this one is. */
  beatenBy: number | null;
  margin: number | null;
  /** In a draw, the probability of being drawn. */
  share: number | null;
}

/** A continuation of a hypothesis by a token's id. */
export interface Found {
  parent: number;
  token: number;
  logProb: number;
}

/** The logits [vocab] after a hypothesis, and the logarithm of the sum of their exponentials. */
export interface Row {
  logits: Float32Array;
  total: number;
}

export type Beam = OpenText & { width: number; norm: (length: number) => number };

/**
 * Record a step of a search. The candidates `found` stand best first and continue the hypotheses `live`;
 * those with the ranks `kept` go on. `step` words were written before.
 */
export function recordStep(
  rows: Row[],
  found: Found[],
  kept: number[],
  live: Hypothesis[],
  step: number,
  beam: Beam,
): Step {
  const { tokens } = beam.constraints.vocabulary;
  const norm = beam.norm(step + 1);
  const probable = rows.map(({ logits, total }) =>
    topIds(logits, N_PROBABLE).map((id) => ({ id, logProb: logits[id] - total })),
  );
  const candidates: Candidate[] = found.map((one, rank) => ({
    parent: one.parent,
    token: tokens[one.token],
    logProb: one.logProb,
    score: one.logProb / norm,
    ...whatBecame(rank, found, kept, live, beam),
    tokenLogProb: one.logProb - live[one.parent].logProb,
    share: null,
  }));
  candidates.push(...forbidden(probable, found, live, step, beam));
  return {
    candidates,
    probable: probable.map((words) => words.map(({ id, logProb }) => ({ token: tokens[id], logProb }))),
    decoderAttention: stacked(beam, "decoder"), // [hypothesis, layer, head, target]
    crossAttention: stacked(beam, "cross"), // [hypothesis, layer, head, source]
  };
}

/** What became of a candidate, and why, in words. */
function whatBecame(
  rank: number,
  found: Found[],
  kept: number[],
  live: Hypothesis[],
  { constraints, width }: Beam,
) {
  const { eosId, tokens } = constraints.vocabulary;
  const none = { beatenBy: null, margin: null };
  if (kept.includes(rank)) {
    return { status: "kept", reason: `rank ${kept.indexOf(rank) + 1} of ${width} in the beam`, ...none };
  }
  const ends = found[rank].token === eosId;
  if (ends && rank < width) {
    return { status: "finished", reason: `it ends here, at rank ${rank + 1} of all candidates`, ...none };
  }
  const beatenBy = ends ? width - 1 : kept[kept.length - 1];
  const winner = found[beatenBy];
  const margin = winner.logProb - found[rank].logProb;
  const text = joinTokens([...live[winner.parent].ids, winner.token].map((id) => tokens[id]));
  const last = ends ? "the last one that may end here" : "the last one kept";
  const reason = `${margin.toFixed(2)} nats behind ${repr(text)}, ${last}`;
  return { status: "pruned", reason, beatenBy, margin };
}

/** The words that would have been candidates, but may not be written. */
function forbidden(
  probable: { id: number; logProb: number }[][],
  found: Found[],
  live: Hypothesis[],
  step: number,
  { constraints, norm, width }: Beam,
): Candidate[] {
  const least = found.length >= width ? found[found.length - 1].logProb : -Infinity;
  return probable.flatMap((words, parent) =>
    words
      .map(({ id, logProb }) => ({ id, tokenLogProb: logProb, logProb: live[parent].logProb + logProb }))
      .filter(({ logProb }) => logProb > least)
      .map((word) => ({ ...word, reason: constraints.whyForbidden(word.id, step) }))
      .filter(({ reason }) => reason !== null)
      .map(({ id, tokenLogProb, logProb, reason }) => ({
        parent,
        token: constraints.vocabulary.tokens[id],
        logProb,
        score: logProb / norm(step + 1),
        status: "forbidden",
        reason: reason!,
        tokenLogProb,
        beatenBy: null,
        margin: null,
        share: null,
      })),
  );
}

/** What every hypothesis attended to in its newest step, as one array; null where that is not known. */
function stacked({ steps, config }: Beam, kind: "decoder" | "cross"): AttentionWeights | null {
  const rows = (steps.attention ?? []).map((row) => row[kind]).filter((row) => row !== null);
  if (!rows.length) return null;
  const { n_decoder_layers: nLayers, n_heads: nHeads } = config;
  return {
    shape: [rows.length, nLayers, nHeads, rows[0].length / (nLayers * nHeads)],
    data: concatenated(rows),
  };
}

/** The logarithm of the sum of all exponentials. */
export function logSumExp(logits: ArrayLike<number>) {
  let [largest, sum] = [-Infinity, 0];
  for (let id = 0; id < logits.length; id++) largest = Math.max(largest, logits[id]);
  for (let id = 0; id < logits.length; id++) sum += Math.exp(logits[id] - largest);
  return largest + Math.log(sum);
}

/** Natural log-probabilities of logits [vocab]. */
export function logProbabilities(logits: ArrayLike<number>) {
  const total = logSumExp(logits);
  return Float64Array.from(logits, (logit) => logit - total); // [vocab]
}

/** The probabilities of logits [vocab]. */
export function probabilities(logits: ArrayLike<number>) {
  return logProbabilities(logits).map(Math.exp); // [vocab]
}

/** The ids of the `n` largest values, of equal ones the lower id first; -Infinity is no value. */
export function topIds(values: ArrayLike<number>, n: number) {
  const ids: number[] = [];
  for (let id = 0; id < values.length; id++) {
    const value = values[id];
    if (value === -Infinity || (ids.length === n && value <= values[ids[n - 1]])) continue;
    let at = Math.min(ids.length, n - 1);
    for (; at > 0 && values[ids[at - 1]] < value; at--) ids[at] = ids[at - 1];
    ids[at] = id;
  }
  return ids;
}
