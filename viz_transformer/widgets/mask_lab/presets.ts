// The presets: masks to start from, correct ones and the mistakes of tutorials.

import { type ComposedMask, emptyRows, isWord, type MaskState } from "./composition.ts";

export interface Preset {
  name: string;
  /** Whether the mask is a correct one. */
  right?: boolean;
  /** What to select where nothing leaks, if not a word in the middle. */
  look?: "padding" | "empty";
  state: Partial<MaskState>;
  /** What it is, in words. */
  text: string;
}

const RIGHT = { side: "right", padding: true, mistake: "none" };

export const PRESETS: Preset[] = [
  {
    name: "Decoder",
    right: true,
    state: { ...RIGHT, kind: "decoder", causal: true },
    text: "The decoder’s self-attention: a word may attend to itself and to the words before it, never at padding.",
  },
  {
    name: "Encoder",
    right: true,
    look: "padding",
    state: { ...RIGHT, kind: "encoder", causal: false },
    text: "The encoder reads the whole sentence: every word may attend to every word, never at padding.",
  },
  {
    name: "Cross-attention",
    right: true,
    look: "padding",
    state: { ...RIGHT, kind: "cross", causal: false },
    text: "The decoder attends to the source: every target word may attend to every source word, never at the source’s padding.",
  },
  {
    name: "Left padding",
    right: true,
    look: "empty",
    state: { ...RIGHT, kind: "decoder", causal: true, side: "left" },
    text: "Padding before the words, as when a batch of texts is continued. With the look-ahead mask, the rows of the padding may attend to no key. “In each library” shows the results: zeros, NaN, or equal weights for all keys.",
  },
  {
    name: "No look-ahead mask",
    state: { ...RIGHT, kind: "decoder", causal: false },
    text: "Every word may attend to the words after it. While it trains, such a decoder copies the next word instead of predicting it.",
  },
  {
    name: "No padding mask",
    look: "padding",
    state: { ...RIGHT, kind: "encoder", padding: false, causal: false },
    text: "Words may attend to padding, so the outputs for a sentence change in a batch with a longer one.",
  },
  {
    name: "Polarity inverted",
    state: { ...RIGHT, kind: "decoder", causal: true, mistake: "inverted" },
    text: "A mask made for nn.MultiheadAttention (True = may not) was given to F.scaled_dot_product_attention (True = may). Torch raises no error; past and future are swapped.",
  },
  {
    name: "Look-ahead as padding",
    state: { ...RIGHT, kind: "decoder", padding: false, causal: true, mistake: "causal_as_padding" },
    text: "The look-ahead mask [length, length] was given as key_padding_mask [batch, key]. This batch has as many sentences as positions, so the shapes fit and torch raises no error: row 2 of the mask now applies to all of sentence 2.",
  },
  {
    name: "Target’s padding",
    look: "padding",
    state: { ...RIGHT, kind: "cross", causal: false, mistake: "target_padding" },
    text: "Cross-attention reads the source, but this mask was made from the padding of the target. Both are padded to one length, so the shapes fit and torch raises no error.",
  },
  {
    name: "Source as target",
    state: { ...RIGHT, kind: "decoder", causal: false, mistake: "source_as_target" },
    text: "The decoder reads the sentence that it has to predict, not shifted by one, so the next word is visible even with the look-ahead mask.",
  },
];

/** The preset that a state is, if it is one. */
export const presetOf = (state: MaskState): Preset | undefined =>
  PRESETS.find((preset) =>
    Object.entries(preset.state).every(([name, value]) => state[name as keyof MaskState] === value),
  );

/** The sentence, cell and replaced key that show what a preset without a leak is about. */
export function firstLook({ look }: Preset, composed: ComposedMask) {
  const { queries, keys, keyTokens } = composed;
  const middle = Math.floor(keys / 2);
  if (!look) return { sentence: 0, query: Math.min(queries - 1, middle), key: middle, edited: middle };
  const sentence = Math.max(
    0,
    keyTokens.findIndex((tokens) => !tokens.every(isWord)),
  );
  if (look === "empty") {
    return { sentence, query: emptyRows(composed, sentence)[0] ?? 0, key: 0, edited: middle };
  }
  const pad = Math.max(0, keyTokens[sentence]?.findIndex((token) => !isWord(token)) ?? 0);
  return { sentence, query: 0, key: pad, edited: pad };
}
