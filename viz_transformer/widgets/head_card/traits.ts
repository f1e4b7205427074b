// The traits of HeadCardView, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  layer: number;
  head: number;
  example: number;
  text_size: number;
  data: Record<string, unknown>;
}

export const TRAITS = ["layer", "head", "example", "text_size", "data"] as const;
