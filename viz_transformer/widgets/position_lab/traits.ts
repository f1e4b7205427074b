// The traits of PositionLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  encoding: string;
  pair: number;
  position: number;
  offset: number;
  shift: number;
  order: number[];
  positions_on: boolean;
  text_size: number;
  unfolded: string[];
  words: string[];
  orders: unknown[];
  data: Record<string, unknown>;
}

export const TRAITS = [
  "encoding",
  "pair",
  "position",
  "offset",
  "shift",
  "order",
  "positions_on",
  "text_size",
  "unfolded",
  "words",
  "orders",
  "data",
] as const;
