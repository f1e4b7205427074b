// The traits of TrainingScrubber, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  moment: number;
  sentence: number;
  kind: string;
  layer: number;
  head: number;
  other_layer: number | null;
  other_head: number | null;
  text_size: number;
  data: Record<string, unknown>;
}

export const TRAITS = [
  "moment",
  "sentence",
  "kind",
  "layer",
  "head",
  "other_layer",
  "other_head",
  "text_size",
  "data",
] as const;
