// The traits of FigureLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /**
   * For each control, the index of the chosen value among its values, from 0. Setting it, or calling
   * `choose`, redraws the figure.
   */
  places: number[];
  /** Size of all text and of the picture; 1 fits it to the stage. */
  text_size: number;
  /** Name, text and values of each control */
  controls: unknown[];
  /** The picture that the view opens with */
  first: Record<string, unknown>;
}

export const TRAITS = ["places", "text_size", "controls", "first"] as const;
