// The traits of ModelSummaryLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  n_source: number;
  n_target: number;
  d_model: number;
  n_heads: number;
  d_ff: number;
  n_layers: number;
  vocab_size: number;
  marked: "" | "n_source" | "n_target" | "d_model" | "n_heads" | "d_ff" | "n_layers" | "vocab_size";
  part: number | null;
  text_size: number;
  controls: unknown[];
}

export const TRAITS = [
  "n_source",
  "n_target",
  "d_model",
  "n_heads",
  "d_ff",
  "n_layers",
  "vocab_size",
  "marked",
  "part",
  "text_size",
  "controls",
] as const;
