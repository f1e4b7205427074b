// The traits of ScalingLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** Width of the queries and keys, one of those that were given. */
  d_k: number;
  /** The scores are divided by d_k to this power, 0 to 1: 0 leaves them as they are, 0.5 divides by √d_k. */
  power: number;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** Widths, keys of each query, and scores as float16 */
  data: Record<string, unknown>;
}

export const TRAITS = ["d_k", "power", "text_size", "data"] as const;
