// The traits of Studio, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  room: string;
  sentence: string;
  kind: string;
  layer: number;
  head: number;
  query: number | null;
  key: number | null;
  text_size: number;
  rooms: unknown;
  doors: Record<string, unknown>;
  drawn: Record<string, unknown>;
  opened: Record<string, unknown>;
  signs: Record<string, unknown>;
}

export const TRAITS = [
  "room",
  "sentence",
  "kind",
  "layer",
  "head",
  "query",
  "key",
  "text_size",
  "rooms",
  "doors",
  "drawn",
  "opened",
  "signs",
] as const;
