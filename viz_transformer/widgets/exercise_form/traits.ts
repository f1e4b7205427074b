// The traits of ExerciseForm, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** The exercise as plain data, as `exercises.forms.form_of` makes it. */
  asked: Record<string, unknown>;
  /**
   * What was typed or clicked last; None before. The text of a number, a list of them for a row, a list of
   * texts or of truth values for a table, the chosen option, or what was chosen in the other view.
   */
  answer: unknown;
  /** Where the answer is chosen in another view, that one. */
  view: unknown;
  /** Under which name an exported page keeps the answer; empty where the answer is code. */
  keeps: Record<string, unknown>;
}

export const TRAITS = ["asked", "answer", "view", "keeps"] as const;
