// The traits of Studio, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** Which room is open, one of the keys of `rooms`, such as ``"model"``, ``"heads"`` or ``"head"``. */
  room: string;
  /** The sentence of all rooms. One that the model cannot read raises a UserError when set. */
  sentence: string;
  /** ``"encoder"``, ``"decoder"`` or ``"cross"``. */
  kind: string;
  /** Index of the layer. */
  layer: number;
  /** Index of the head in that layer. */
  head: number;
  /** Index of the query, the word that attends, or None. */
  query: number | null;
  /** Index of the key, the word that is attended to, or None. */
  key: number | null;
  /** Size of all text; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /**
   * The views of the rooms by their keys, in the order of their doors; each is made when it is first asked
   * for, or its door first opened.
   */
  rooms: unknown;
  /** What the doors carry */
  doors: Record<string, unknown>;
  /** The sentences of rooms that have none to set */
  drawn: Record<string, unknown>;
  /** The room and the choice at first */
  opened: Record<string, unknown>;
  /** What stands on the doors */
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
