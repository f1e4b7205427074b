// The traits of InitialLossLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** Standard deviation of the embeddings, one of `stds`. */
  std: number;
  /** Index of the sentence that the decoder reads, from 0. */
  sentence: number;
  /** Index of the word in it that was just read, from 0: the scores are of the next one. */
  place: number;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** The measured starts, as the page reads them */
  data: Record<string, unknown>;
}

export const TRAITS = ["std", "sentence", "place", "text_size", "data"] as const;
