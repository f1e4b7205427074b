// The traits of AttentionExplorer, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  kind: string;
  layer: number;
  head: number;
  query: number | null;
  key: number | null;
  selected: unknown[];
  aggregate: string;
  threshold: number;
  hide_special: boolean;
  merge_words: boolean;
  order: string;
  wall: boolean;
  label_filter: string[];
  layer_filter: number[];
  least_score: number | null;
  search: string;
  linked: boolean;
  picture: string;
  colour_scale: string;
  linked_heads: Record<string, unknown>;
  pair: string;
  segments: number[];
  attends_by: string;
  biased: string[];
  grid: unknown;
  image: unknown;
  seconds_per_frame: number | null;
  text_size: number;
  before: Record<string, unknown>;
  data: Record<string, unknown>;
  has_parts: boolean;
  scores: Record<string, unknown>;
  written: Record<string, unknown>;
}

export const TRAITS = [
  "kind",
  "layer",
  "head",
  "query",
  "key",
  "selected",
  "aggregate",
  "threshold",
  "hide_special",
  "merge_words",
  "order",
  "wall",
  "label_filter",
  "layer_filter",
  "least_score",
  "search",
  "linked",
  "picture",
  "colour_scale",
  "linked_heads",
  "pair",
  "segments",
  "attends_by",
  "biased",
  "grid",
  "image",
  "seconds_per_frame",
  "text_size",
  "before",
  "data",
  "has_parts",
  "scores",
  "written",
] as const;
