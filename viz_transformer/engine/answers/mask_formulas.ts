// What two formulas and three libraries make of a mask, for the queries, keys and values of a model's
// first head.
//
// All are the same softmax, and differ only in a row that may attend to nothing: the formula divides
// 0 by 0, torch's fused function gives zeros, its module NaN, and Hugging Face adds to every score the
// least number that float32 has, which leaves them all equal. model/mask_libraries.py calls the
// libraries themselves, and a test holds the two equal.

import { attend, keysValuesOf, queriesOf, type KeysValues, type MultiHead } from "../attention.ts";
import { checkedInterventions } from "../interventions.ts";
import { causalMask } from "../masks.ts";
import { countTo, makeMatrix, type Matrix } from "../matrix.ts";
import { runDecoder, runEncoder, type Model } from "../model.ts";
import type { Kind } from "../trace.ts";
import { float32View, type MaskedSentence } from "./mask_batch.ts";

/** What attention computes with */
interface Head {
  /** [query, d_head] */
  query: Matrix;
  /** Each [key, d_head]. */
  keysValues: KeysValues;
  /** [query, key] */
  mask: Uint8Array;
}

/** [query, d_head] and [query, key] */
interface Attended {
  output: Matrix;
  weights: Float32Array;
}

const NO_CHANGES = { scale: true, temperature: 1, heads: [], step: null };
const N_FEATURES_SENT = 4; // numbers of each output that are sent; the rest follow the same rule

/**
 * The ways to compute attention by the question that asks for them, each with what it makes of a row
 * that may attend to nothing: one weight for each of so many keys.
 */
const WAYS: Record<
  string,
  {
    name: string;
    short: string;
    takes: string;
    empty: (nKeys: number) => number;
    refuses?: (heads: Head[]) => string;
  }[]
> = {
  formulas: [
    { name: "viz_transformer.attend", short: "attend", takes: "mask", empty: () => 0, refuses: whyInverted },
    {
      name: "softmax by hand, with −inf",
      short: "by hand",
      takes: "scores.masked_fill(~mask, −inf)",
      empty: () => NaN,
    },
  ],
  libraries: [
    {
      name: "F.scaled_dot_product_attention",
      short: "F.sdpa",
      takes: "attn_mask=mask",
      empty: () => 0,
    },
    { name: "nn.MultiheadAttention", short: "nn.MHA", takes: "attn_mask=~mask", empty: () => NaN },
  ],
  eager: [
    {
      name: "Hugging Face, eager",
      short: "HF eager",
      takes: "scores + finfo.min where ~mask",
      empty: (nKeys) => 1 / nKeys,
    },
  ],
};

export function waysReply(model: Model, kind: Kind, sentences: MaskedSentence[], ask: string) {
  const heads = sentences.map((sentence) => firstHead(model, kind, sentence));
  return {
    libraries: WAYS[ask].map(({ name, short, takes, empty, refuses }) => {
      const error = refuses?.(heads) ?? "";
      const attended = error ? {} : attendedBytes(heads.map((head) => attendWith(head, empty)));
      return { name, short, takes, error, ...attended };
    }),
  };
}

/** Queries, keys and values of head 0 in the first layer, under the right masks. */
function firstHead(model: Model, kind: Kind, { source, target, mask, correct }: MaskedSentence): Head {
  const unchanged = checkedInterventions(null, model.config);
  const encoded = model.encoder && runEncoder(model, source, unchanged, correct.encoder);
  const stack =
    kind === "encoder" ? encoded : runDecoder(model, target, encoded?.x ?? null, source, unchanged, correct);
  const { selfInput, crossInput } = stack!.layers[0]; // [query, d_model]
  const layer = model[kind === "encoder" ? "encoder" : "decoder"]!.layers[0];
  const [attention, queryInput, keyInput] =
    kind === "cross"
      ? [layer.crossAttention!, crossInput!, encoded!.x]
      : [layer.selfAttention, selfInput, selfInput];
  const query = queriesOf(attention, queryInput, countTo(queryInput.rows)); // [query, head · d_head]
  const { keys, values } = keysValuesOf(attention, keyInput, countTo(keyInput.rows)); // [key, head · d_head]
  const [q, k, v] = [query, keys, values].map((x) => firstColumns(x, attention.dHead));
  return { query: q, keysValues: { keys: k, values: v }, mask };
}

function firstColumns({ rows, cols, data }: Matrix, count: number) {
  return makeMatrix(
    rows,
    count,
    data.filter((_, i) => i % cols < count),
  );
}

/**
 * Attention with rows that may attend to nothing as one of the ways leaves them. `empty` gives the weight of
 * each key in such a row.
 */
function attendWith({ query, keysValues, mask }: Head, empty: (nKeys: number) => number): Attended {
  const layer = { nHeads: 1, dHead: query.cols, scoring: "scaled_dot" } as MultiHead;
  const { output, weights } = attend(layer, query, keysValues, mask, NO_CHANGES); // weights [1, query, key]
  const { rows: nKeys, cols, data: values } = keysValues.values; // [key, d_head]
  const weight = empty(nKeys);
  for (let row = 0; row < output.rows; row++) {
    const keys: [number, number] = [row * nKeys, (row + 1) * nKeys];
    if (mask.subarray(...keys).some(Boolean)) continue;
    weights.fill(weight, ...keys);
    for (let col = 0; col < cols; col++) {
      let sum = 0;
      for (let key = 0; key < nKeys; key++) sum += weight * values[key * cols + col];
      output.data[row * cols + col] = sum;
    }
  }
  return { output, weights };
}

/** Weights [batch, query, key] and outputs [batch, query, feature] as a message carries them. */
function attendedBytes(attended: Attended[]) {
  const outputs = attended.map(({ output }) => firstColumns(output, Math.min(N_FEATURES_SENT, output.cols)));
  const { rows, cols } = outputs[0];
  const nKeys = attended[0].weights.length / rows;
  return {
    weights: float32View(attended.flatMap(({ weights }) => [...weights])),
    output: float32View(outputs.flatMap(({ data }) => [...data])),
    shapes: [
      [attended.length, rows, nKeys],
      [attended.length, rows, cols],
    ],
  };
}

/** What is wrong with a mask that hides the past and shows the future: our attention refuses it. */
function whyInverted(heads: Head[]) {
  const [{ query, keysValues }] = heads;
  const [nQueries, nKeys] = [query.rows, keysValues.keys.rows];
  const causal = causalMask(nKeys);
  const isInverted = ({ mask }: Head) => mask.every((may, i) => may !== causal[i]);
  if (nQueries !== nKeys || nKeys < 2 || !heads.every(isInverted)) return "";
  return (
    `the mask [${heads.length}, 1, ${nQueries}, ${nKeys}] hides the past and shows the future, and its last ` +
    "row is all False; True means 'may attend' here, and the opposite in torch.nn.MultiheadAttention: " +
    "turn it with from_torch_mask(mask)"
  );
}
