// The traits of Tour, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** The view; it can be used as always below the tour. */
  view: unknown;
  /**
   * List of ``{"caption": str, "state": {trait: value}}``. Traits that a state leaves out keep their values.
   * The text size suits the room and is part of no state.
   */
  steps: Record<string, unknown>[];
  /** Which step is shown, counted from 0. Setting it sets the view to its state. */
  step: number;
  /** Names of the traits that a state can hold. */
  names: string[];
}

export const TRAITS = ["view", "steps", "step", "names"] as const;
