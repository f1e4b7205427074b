// The traits of PositionClock, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** I of the columns 2i and 2i + 1. */
  pair: number;
  /** The row, from 0. */
  position: number;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** The table as float32, and its shape */
  data: Record<string, unknown>;
}

export const TRAITS = ["pair", "position", "text_size", "data"] as const;
