// The traits of HeadLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  task: "translate" | "continue" | "fill";
  sentence: string;
  factors: Record<string, unknown>[];
  kind: string;
  layer: number;
  head: number;
  query: number | null;
  metric: string[];
  text_size: number;
}

export const TRAITS = [
  "task",
  "sentence",
  "factors",
  "kind",
  "layer",
  "head",
  "query",
  "metric",
  "text_size",
] as const;
