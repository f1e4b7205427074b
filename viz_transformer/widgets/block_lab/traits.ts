// The traits of BlockLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  sentence: string;
  changed: number;
  layer: number;
  text_size: number;
  n_layers: number;
}

export const TRAITS = ["sentence", "changed", "layer", "text_size", "n_layers"] as const;
