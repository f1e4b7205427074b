// The traits of Architecture, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /**
   * The text that the model reads. Setting one that it cannot read raises a UserError and changes nothing; if
   * it was typed, the view explains why.
   */
  sentence: string;
  /**
   * How far the sentence has come, from 0. The encoder's boxes take one step each, for all words at once; the
   * decoder's take one for each word.
   */
  step: number;
  /**
   * Key of the box that is explained, such as ``"encoder.0.self_attention"``. A box that has not been reached
   * moves the step on to it.
   */
  box: string;
  /** Index of the word whose numbers are shown; None is the newest. */
  row: number | null;
  /** Index of the attention head whose lines are drawn; None is the mean of all. */
  head: number | null;
  /** Whether the code of the box is shown. */
  opened: boolean;
  /**
   * How near the picture is: ``"model"``, ``"layer"``, ``"block"`` (the heads of an attention) or ``"head"``,
   * where the numbers are worked out.
   */
  depth: string;
  /** How fast it plays, 0.5 to 8. */
  pace: number;
  /** Size of all text; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** Key, part, stack, layer and parameters of each */
  boxes: unknown[];
  /** What the parts are */
  parts: Record<string, unknown>;
  /** D_model, n_heads and n_words */
  sizes: Record<string, unknown>;
}

export const TRAITS = [
  "sentence",
  "step",
  "box",
  "row",
  "head",
  "opened",
  "depth",
  "pace",
  "text_size",
  "boxes",
  "parts",
  "sizes",
] as const;
