// The traits of InitialLossLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  std: number;
  sentence: number;
  place: number;
  text_size: number;
  data: Record<string, unknown>;
}

export const TRAITS = ["std", "sentence", "place", "text_size", "data"] as const;
