// The traits of MaskLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** ``"encoder"``, ``"decoder"`` (self-attention) or ``"cross"``, of those in `kinds`. */
  kind: string;
  /** Where the padding stands, ``"right"`` or ``"left"`` of the words. */
  side: string;
  /** Whether the mask hides padding. */
  padding: boolean;
  /** Whether the mask hides what comes later. */
  causal: boolean;
  /**
   * ``"none"``; ``"inverted"``: read the wrong way round; ``"causal_as_padding"``: the look-ahead mask given
   * as a padding mask, to a batch as long as its sentences; ``"target_padding"``: cross-attention with the
   * padding of the target; or ``"source_as_target"``: the decoder reads the very words that it has to write.
   */
  mistake: string;
  /** Tokens kept of each sentence; the rest becomes padding. */
  lengths: number[];
  /** Cells set by hand, a list of [sentence, query, key, may attend]; cells outside the mask are ignored. */
  painted: unknown[];
  /**
   * How the cells are written: ``"may"``: True = may attend, as here and in F.scaled_dot_product_attention;
   * ``"may_not"``: True = may not, as in nn.MultiheadAttention; ``"additive"``: 0 and −inf.
   */
  polarity: string;
  /** Which of the batch is shown. */
  sentence: number;
  /** Row of the chosen cell, or None. */
  query: number | null;
  /** Column of the chosen cell, or None. */
  key: number | null;
  /** What the leak meter changes, ``"word"`` or ``"padding"``: two more padding tokens. */
  edit: string;
  /** Position of the key whose word is changed. */
  edited: number;
  /** The panels that stand open, of ``"shapes"``, ``"code"`` and ``"libraries"``. */
  unfolded: string[];
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** Kinds of attention that there are */
  kinds: string[];
  /** Tokens of the batch: source, target (read) and written */
  words: Record<string, unknown>;
}

export const TRAITS = [
  "kind",
  "side",
  "padding",
  "causal",
  "mistake",
  "lengths",
  "painted",
  "polarity",
  "sentence",
  "query",
  "key",
  "edit",
  "edited",
  "unfolded",
  "text_size",
  "kinds",
  "words",
] as const;
