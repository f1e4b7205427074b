// The traits of Causes, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  picture: string;
  patches: Record<string, unknown>[];
  layer: number | null;
  at: number | null;
  text_size: number;
  start: Record<string, unknown>;
}

export const TRAITS = ["picture", "patches", "layer", "at", "text_size", "start"] as const;
