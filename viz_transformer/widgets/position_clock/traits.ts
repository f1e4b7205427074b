// The traits of PositionClock, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  pair: number;
  position: number;
  text_size: number;
  data: Record<string, unknown>;
}

export const TRAITS = ["pair", "position", "text_size", "data"] as const;
