// The traits of ClassPredictions, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  shown: string;
  counts: Record<string, unknown>[];
  n_learners: number;
  n_left_out: number;
  n_unreadable: number;
  text_size: number;
}

export const TRAITS = ["shown", "counts", "n_learners", "n_left_out", "n_unreadable", "text_size"] as const;
