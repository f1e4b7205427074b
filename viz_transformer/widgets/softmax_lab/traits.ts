// The traits of SoftmaxLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  scores: number[];
  times: number;
  slopes: boolean;
  labels: string[];
  text_size: number;
}

export const TRAITS = ["scores", "times", "slopes", "labels", "text_size"] as const;
