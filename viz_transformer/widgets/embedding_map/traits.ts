// The traits of EmbeddingMap, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** The chosen token, whose nearest ones are marked and listed. */
  token: string;
  /** 1, 2, 4 or 8; above 1 the chosen token is in the middle. */
  zoom: number;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** Tokens, vectors, points and groups */
  data: Record<string, unknown>;
}

export const TRAITS = ["token", "zoom", "text_size", "data"] as const;
