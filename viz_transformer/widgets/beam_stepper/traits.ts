// The traits of BeamStepper, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** What is translated or continued; of a search alone, its source or its prompt. */
  sentence: string;
  /** ``"translate"``, or ``"continue"`` where the model has no source. */
  task: "translate" | "continue";
  /** The name of the search, or of the model, where there are several. */
  checkpoint: string;
  /** Their names. */
  checkpoints: string[];
  /** ``"beam"`` or ``"sample"``. */
  method: "beam" | "sample";
  /** Hypotheses followed, 1 to 100. */
  beam_width: number;
  /** 0 favours short texts; larger values favour longer ones. */
  length_penalty: number;
  /** Of sampling, above 0. */
  temperature: number;
  /** Of sampling, how many words are left; None leaves all. */
  top_k: number | null;
  /** Of sampling, the probability that is left, up to 1; None leaves all. */
  top_p: number | null;
  /** Of the draws. */
  seed: number;
  /** The last step shown; by default the last there is. */
  step: number;
  /** The candidate of that step, or None for the one that leads, at the end the best text's own. */
  chosen: number | null;
  /** Whose attention is shown; by default the last. */
  layer: number;
  /** Which head of it, or None for the mean of its heads. */
  head: number | null;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** The searches that are known, ``[[request, reply], …]``, as the page reads them. */
  data: unknown[];
  /** Panels that stand open */
  unfolded: string[];
}

export const TRAITS = [
  "sentence",
  "task",
  "checkpoint",
  "checkpoints",
  "method",
  "beam_width",
  "length_penalty",
  "temperature",
  "top_k",
  "top_p",
  "seed",
  "step",
  "chosen",
  "layer",
  "head",
  "text_size",
  "data",
  "unfolded",
] as const;
