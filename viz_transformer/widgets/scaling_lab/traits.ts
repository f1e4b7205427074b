// The traits of ScalingLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  d_k: number;
  power: number;
  text_size: number;
  data: Record<string, unknown>;
}

export const TRAITS = ["d_k", "power", "text_size", "data"] as const;
