// Interventions: parts of a model switched off or replaced during one call, to find out what they do.
//
// They are an argument of a call, and leave the model as it was. The messages are those of Python.

import { NotInPage, repr, UserError } from "./errors.ts";
import type { Config } from "./parameters.ts";
import type { Kind } from "./trace.ts";

/** One head scaled, or made to look elsewhere */
export interface HeadChange {
  kind: Kind;
  /** Counted from 0. */
  layer: number;
  /** Counted from 0. */
  head: number;
  /** What the head says is multiplied by this; 0 ablates it. Its weights stay. */
  factor?: number;
  /**
   * Weights in place of its own: "uniform" over the keys that each query may attend to, or rows [query, key],
   * taken as they are whatever the mask says.
   */
  pattern?: "uniform" | number[][] | null;
  /** Refused here: Python puts a mean in place of the head's output. */
  mean?: unknown;
  /** Refused here: Python puts another input's output there. */
  output?: unknown;
}

export interface Interventions {
  /** False leaves dot products undivided by √d_head. */
  scale?: boolean;
  /** Scores are divided by it before the softmax; above 0. */
  temperature?: number;
  /** False lets the decoder look at words that it has yet to write. */
  causalMask?: boolean;
  /** False lets every position look at padding. */
  paddingMask?: boolean;
  /** False takes the positions away. */
  positions?: boolean;
  /** False drops what goes around each sub-layer: x = sublayer(x). */
  residual?: boolean;
  /** False drops every LayerNorm of the layers and stacks. */
  layerNorm?: boolean;
  heads?: HeadChange[];
}

/** What interventions change in one attention */
export interface AttentionChanges {
  scale: boolean;
  temperature: number;
  /** Its own. */
  heads: HeadChange[];
  /** In decoding, the position that is written; null for whole sequences. */
  step: number | null;
}

/** Nothing changes. */
export const UNCHANGED: Required<Interventions> = {
  scale: true,
  temperature: 1,
  causalMask: true,
  paddingMask: true,
  positions: true,
  residual: true,
  layerNorm: true,
  heads: [],
};

/** The interventions with every option filled in, checked against a model. */
export function checkedInterventions(
  interventions: Interventions | null | undefined,
  config: Config,
): Required<Interventions> {
  if (!interventions) return UNCHANGED;
  const changes = { ...UNCHANGED, ...interventions };
  for (const [option, value] of Object.entries(changes)) {
    if (typeof UNCHANGED[option as keyof Interventions] === "boolean" && typeof value !== "boolean") {
      throw new UserError(`${snakeCase(option)}=${repr(value)} must be True, or False for off`);
    }
  }
  checkNumber("temperature", changes.temperature, 0);
  changes.heads = changes.heads.map((change) => ({ factor: 1, pattern: null, ...change }));
  for (const change of changes.heads) checkHead(change, config);
  checkNamedOnce(changes.heads);
  return changes;
}

/** Number of layers of each kind of attention that there is. */
export function attentionLayers(config: Config): Record<string, number> {
  const [encoder, decoder] = [config.n_encoder_layers, config.n_decoder_layers];
  const layers = { encoder, decoder, cross: encoder ? decoder : 0 };
  return Object.fromEntries(Object.entries(layers).filter(([, count]) => count));
}

function checkHead(change: HeadChange, config: Config) {
  if ((change.mean ?? change.output ?? null) !== null) {
    throw new NotInPage("the page's model scales heads and fixes patterns; Python also replaces outputs");
  }
  if (!["encoder", "decoder", "cross"].includes(change.kind)) {
    throw new UserError(
      `unknown attention kind ${repr(change.kind)}; choose one of ['encoder', 'decoder', 'cross']`,
    );
  }
  for (const name of ["layer", "head"] as const) {
    if (!Number.isInteger(change[name]) || change[name] < 0) {
      throw new UserError(`${name}=${repr(change[name])} must be a whole number of at least 0`);
    }
  }
  checkNumber("factor", change.factor, -Infinity);
  checkPattern(change.pattern);
  const layers = attentionLayers(config);
  if (!layers[change.kind]) {
    throw new UserError(`this model has no ${change.kind} attention; it has ${repr(Object.keys(layers))}`);
  }
  const [nLayers, nHeads] = [layers[change.kind], config.n_heads];
  if (change.layer >= nLayers || change.head >= nHeads) {
    throw new UserError(
      `${change.kind} layer ${change.layer} head ${change.head} is not in this model, ` +
        `whose ${change.kind} layers go from 0 to ${nLayers - 1} and heads from 0 to ${nHeads - 1}`,
    );
  }
}

function checkNumber(name: string, value: number | undefined, least: number) {
  if (typeof value !== "number" || !(least < value && value < Infinity)) {
    const beyond = least === -Infinity ? "" : ` above ${least}.0`;
    throw new UserError(`${name}=${repr(value)} must be a finite number${beyond}`);
  }
}

function checkNamedOnce(heads: HeadChange[]) {
  const counts = new Map<string, number>();
  for (const { kind, layer, head } of heads) {
    const place = `${kind} layer ${layer} head ${head}`;
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  for (const [place, count] of counts) {
    if (count > 1) {
      throw new UserError(
        `heads names ${place} ${count} times; give one HeadChange with both factor and pattern`,
      );
    }
  }
}

function checkPattern(pattern: HeadChange["pattern"]) {
  if (!pattern || pattern === "uniform") return;
  if (typeof pattern === "string") {
    throw new UserError(`pattern=${repr(pattern)} is unknown; give 'uniform', or rows [query, key]`);
  }
  const shape = patternShape(pattern);
  if (shape.length !== 2 || shape.includes(0)) {
    throw new UserError(`the pattern has shape ${repr(shape)}, but it must be [query, key]`);
  }
  if (pattern.some((row) => row.length !== shape[1])) {
    throw new UserError("the pattern's rows differ in length; give each query a weight for every key");
  }
  for (const row of pattern) {
    const total = row.reduce((sum, weight) => sum + weight, 0);
    if (!row.every((weight) => weight >= 0) || !(Math.abs(total - 1) < 1e-3 || total === 0)) {
      throw new UserError(
        "the pattern's rows must hold weights of at least 0 that sum to 1, or only zeros; " +
          "divide each row by its sum",
      );
    }
  }
}

function patternShape(pattern: number[][] | undefined) {
  if (!Array.isArray(pattern)) return [];
  return Array.isArray(pattern[0]) ? [pattern.length, pattern[0].length] : [pattern.length];
}

/** An option as Python writes it: causalMask is causal_mask. */
function snakeCase(option: string) {
  return option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * What is changed in one attention of a model. `step` is the position that is written in decoding, and null
 * for whole sequences.
 */
export function attentionChanges(
  interventions: Required<Interventions>,
  kind: Kind,
  layer: number,
  step: number | null,
): AttentionChanges {
  return {
    scale: interventions.scale,
    temperature: interventions.temperature,
    heads: interventions.heads.filter((change) => change.kind === kind && change.layer === layer),
    step,
  };
}

/**
 * The weights that a head gets in place of its own. Those of a pattern, [query, key]; in decoding every query
 * takes its row `step`.
 */
export function patternWeights(
  change: HeadChange,
  mask: Uint8Array,
  nQueries: number,
  nKeys: number,
  step: number | null,
): Float32Array {
  if (change.pattern === "uniform") return uniformWeights(mask, nKeys);
  const rows = change.pattern as number[][];
  const shape = patternShape(rows);
  const place = `the pattern of ${change.kind} layer ${change.layer} head ${change.head}`;
  const weights = new Float32Array(nQueries * nKeys); // [query, key]
  if (step === null) {
    if (shape[0] !== nQueries || shape[1] !== nKeys) {
      throw new UserError(
        `${place} has shape ${repr(shape)}, but there are ${nQueries} queries and ` +
          `${nKeys} keys; give it the shape ${repr([nQueries, nKeys])}`,
      );
    }
    for (const [query, row] of rows.entries()) weights.set(row, query * nKeys);
    return weights;
  }
  const isWideEnough = shape[1] === nKeys || (change.kind === "decoder" && shape[1] > nKeys);
  if (step >= shape[0] || !isWideEnough) {
    throw new UserError(
      `${place} has shape ${repr(shape)}, but decoding is at row ${step} with ${nKeys} ` +
        "keys; give a row for every word that may be written, or a smaller max_length",
    );
  }
  if (rows[step].slice(nKeys).some((weight) => weight !== 0)) {
    throw new UserError(`${place} looks ahead in row ${step}; in decoding there is no later word yet`);
  }
  for (let query = 0; query < nQueries; query++) weights.set(rows[step].slice(0, nKeys), query * nKeys);
  return weights;
}

/** The same weight for every key that a query may attend to; zeros where there is none. */
function uniformWeights(mask: Uint8Array, nKeys: number) {
  const weights = Float32Array.from(mask); // [query, key]
  for (let first = 0; first < weights.length; first += nKeys) {
    const row = weights.subarray(first, first + nKeys);
    const allowed = row.reduce((sum, may) => sum + may, 0);
    if (allowed) for (let key = 0; key < nKeys; key++) row[key] /= allowed;
  }
  return weights;
}
