// The traits of PositionLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** ``"sinusoidal"``, ``"learned"``, ``"rotary"`` or ``"none"``. */
  encoding: string;
  /** I of the dimensions 2i and 2i + 1 whose curves are drawn. */
  pair: number;
  /** The chosen position, from 0. */
  position: number;
  /**
   * Distance from it to the position that it is compared with, in tokens; negative if that comes before it.
   */
  offset: number;
  /** By how many tokens the sentence of the shift experiment is moved. */
  shift: number;
  /** Indices into `words`, in the order in which the live model reads the words. */
  order: number[];
  /** Whether the live model adds its positions. */
  positions_on: boolean;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /**
   * What is shown, the last of ``"pair"``, ``"offset"``, ``"shift"`` and ``"shuffle"``; all pairs where it is
   * empty.
   */
  unfolded: string[];
  /** The words of the live model's sentence, in their original order. */
  words: string[];
  /** Orders of its words to choose from. */
  orders: unknown[];
  /** Tables and sentence as the page reads them */
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
