// The traits of EmbeddingMap, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  token: string;
  zoom: number;
  text_size: number;
  data: Record<string, unknown>;
}

export const TRAITS = ["token", "zoom", "text_size", "data"] as const;
