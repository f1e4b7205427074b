// The traits of ScheduleLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** The highest rate, one of those that were given. */
  peak: number;
  /** The steps of warm-up, one of those that were given. */
  warmup: number;
  /** Of the training, one of those that were given. */
  seed: number;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** The choices, the level, and the first training's losses */
  data: Record<string, unknown>;
}

export const TRAITS = ["peak", "warmup", "seed", "text_size", "data"] as const;
