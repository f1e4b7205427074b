// The traits of SoftmaxLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** A score for each key, from -5 to 5. */
  scores: number[];
  /** The factor that multiplies all scores: 0, 0.25, 0.5, 1, 2, 4, 8 or 16. */
  times: number;
  /** Whether w (1 - w) is shown too: how much each weight moves with its own score. */
  slopes: boolean;
  /** The keys' names. */
  labels: string[];
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
}

export const TRAITS = ["scores", "times", "slopes", "labels", "text_size"] as const;
