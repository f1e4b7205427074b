// The traits of AttentionStepper, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  step: number;
  head: number;
  query: number;
  key: number | null;
  column: number | null;
  scale: boolean;
  mask: boolean;
  temperature: number;
  text: string;
  kind: string;
  layer: number;
  text_size: number;
  data: Record<string, unknown>;
  places: unknown[];
}

export const TRAITS = [
  "step",
  "head",
  "query",
  "key",
  "column",
  "scale",
  "mask",
  "temperature",
  "text",
  "kind",
  "layer",
  "text_size",
  "data",
  "places",
] as const;
