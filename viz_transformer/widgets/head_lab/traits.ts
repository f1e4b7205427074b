// The traits of HeadLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** ``"translate"``, ``"continue"`` or ``"fill"``: what the model does with a text. */
  task: "translate" | "continue" | "fill";
  /**
   * The text: a sentence, the beginning of one, or one with a gap. Setting one that the model cannot read
   * raises a UserError and changes nothing; if it was typed, the view explains why.
   */
  sentence: string;
  /**
   * The changed heads, a list of ``{"kind", "layer", "head", "factor"}``: the head's output is multiplied by
   * the factor, from −1 to 2. 0 switches it off; 1 changes nothing and is left out of the list.
   */
  factors: Record<string, unknown>[];
  /** The chosen head's kind, ``"encoder"``, ``"decoder"`` or ``"cross"``. */
  kind: string;
  /** Its layer. */
  layer: number;
  /** Its index in the layer. */
  head: number;
  /** The pinned word of the chosen head's matrix (the token that attends), or None. */
  query: number | null;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
}

export const TRAITS = ["task", "sentence", "factors", "kind", "layer", "head", "query", "text_size"] as const;
