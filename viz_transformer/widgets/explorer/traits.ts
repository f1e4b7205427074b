// The traits of AttentionExplorer, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** ``"encoder"``, ``"decoder"`` or ``"cross"``; cross-attention at first, if present. */
  kind: string;
  /** Index of the layer. */
  layer: number;
  /** Index of the head in that layer. */
  head: number;
  /** Index of the pinned query (the token that attends), or None. */
  query: number | null;
  /** Index of the pinned key (the token attended to), or None. */
  key: number | null;
  /** ``[layer, head]`` pairs of `kind` that `aggregate` takes together; none at first. */
  selected: unknown[];
  /**
   * What the large picture shows: ``"head"``, the one that is chosen; ``"mean"`` or ``"max"`` of those
   * selected, of all heads of the layer where none is; or ``"rollout"`` from the first layer to `layer` (for
   * cross: from source words to written ones).
   */
  aggregate: string;
  /** Weights below it are not drawn, 0 to 1. */
  threshold: number;
  /** Whether ``<sos>``, ``[CLS]`` and their like are left out. */
  hide_special: boolean;
  /** Whether the pieces of a word are shown as one word; needs the trace's word numbers. */
  merge_words: boolean;
  /**
   * What the small pictures are sorted by: ``"layer"``, ``"entropy"``, ``"label"`` or the name of one of
   * `scores`.
   */
  order: string;
  /** Whether all heads fill the view, coloured by their labels, in place of one large. */
  wall: boolean;
  /** On the wall, the labels that heads are kept of, ``""`` for those without one; all if empty. */
  label_filter: string[];
  /** On the wall, the first and the last layer that are kept; all if empty. */
  layer_filter: number[];
  /** On the wall, the score of `order` from which heads are kept, or None. */
  least_score: number | null;
  /** Part of a token; tokens that hold it are marked. */
  search: string;
  /** Whether all kinds of attention stand on the stage as columns of words, pinned together. */
  linked: boolean;
  /**
   * Otherwise what stands there: ``"matrix"``, ``"lines"`` between the words (of a vision model its picture),
   * ``"table"``, or of a translation ``"sentence"``: one line above the other. Set in a cell, it is shown:
   * `linked` and `wall` are then False.
   */
  picture: string;
  /**
   * Which colours weights have in the matrix: ``"linear"``, from 0 to 1; ``"row"``, as a share of the largest
   * in each row; ``"log"``, from 0.001 to 1 by their logarithm; or ``"rest"``, as a share of what the first
   * token leaves to the others.
   */
  colour_scale: string;
  /** ``{kind: [layer, head]}``, the heads of the kinds beside `kind` there. */
  linked_heads: Record<string, unknown>;
  /**
   * Of two sentences, which attends to which: ``"all"``, ``"AA"``, ``"AB"`` (from the words of A to those of
   * B), ``"BA"`` or ``"BB"``. Only these queries and keys are shown.
   */
  pair: string;
  /** Which sentence of a pair each token belongs to, 0 or 1; empty for one sentence. */
  segments: number[];
  /**
   * Of a model that adds something to its scores for positions (T5, Bloom, Swin …), by what its heads attend:
   * ``"both"``, ``"content"`` alone or ``"positions"`` alone; see
   * `viz_transformer.analysis.without_position_bias`.
   */
  attends_by: string;
  /** The kinds of attention for which there is that choice. */
  biased: string[];
  /**
   * Rows and columns of the picture's patches that the keys are, the first one's position, and how many keys
   * there are, of the source (0) or the target (1); or empty. Set it as in `explore`.
   */
  grid: unknown;
  /** The picture that the patches are cut from, packed for the page; or empty. Set it as in `explore`. */
  image: unknown;
  /** Of a sound model, how much time each source position stands for, or None. */
  seconds_per_frame: number | null;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** Tokens and weights as the page reads them; see `pack` */
  data: Record<string, unknown>;
  /** The user's own scores of heads, as bytes */
  scores: Record<string, unknown>;
}

export const TRAITS = [
  "kind",
  "layer",
  "head",
  "query",
  "key",
  "selected",
  "aggregate",
  "threshold",
  "hide_special",
  "merge_words",
  "order",
  "wall",
  "label_filter",
  "layer_filter",
  "least_score",
  "search",
  "linked",
  "picture",
  "colour_scale",
  "linked_heads",
  "pair",
  "segments",
  "attends_by",
  "biased",
  "grid",
  "image",
  "seconds_per_frame",
  "text_size",
  "data",
  "scores",
] as const;
