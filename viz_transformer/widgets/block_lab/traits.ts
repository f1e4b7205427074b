// The traits of BlockLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /**
   * The words. Setting one that the model cannot read raises a UserError and changes nothing; if it was
   * typed, the view explains why.
   */
  sentence: string;
  /** Index of the word whose vector is reversed, from 0; the last is ``<eos>``. */
  changed: number;
  /** Index of the encoder's layer, from 0. */
  layer: number;
  /** Size of all text; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** Number of the encoder's layers */
  n_layers: number;
}

export const TRAITS = ["sentence", "changed", "layer", "text_size", "n_layers"] as const;
