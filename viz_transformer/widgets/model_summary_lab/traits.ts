// The traits of ModelSummaryLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** Tokens in the source sentence, 1 to 1,000. */
  n_source: number;
  /** Tokens in the target sentence, 1 to 1,000. */
  n_target: number;
  /** Width of every position's vector; even, and a multiple of `n_heads`. */
  d_model: number;
  /** Heads in each attention. */
  n_heads: number;
  /** Inner width of the feed-forward networks. */
  d_ff: number;
  /** Layers in each of the two stacks. */
  n_layers: number;
  /** Number of tokens; source and target share them. */
  vocab_size: number;
  /** Name of the size whose consequences are marked, or "". */
  marked: "" | "n_source" | "n_target" | "d_model" | "n_heads" | "d_ff" | "n_layers" | "vocab_size";
  /** Index of the chosen part, from 0, the encoder's before the decoder's; or None. */
  part: number | null;
  /** Size of all text; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** Name, text and stops of each size's control */
  controls: unknown[];
}

export const TRAITS = [
  "n_source",
  "n_target",
  "d_model",
  "n_heads",
  "d_ff",
  "n_layers",
  "vocab_size",
  "marked",
  "part",
  "text_size",
  "controls",
] as const;
