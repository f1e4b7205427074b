// The traits of ScheduleLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  peak: number;
  warmup: number;
  seed: number;
  text_size: number;
  data: Record<string, unknown>;
}

export const TRAITS = ["peak", "warmup", "seed", "text_size", "data"] as const;
