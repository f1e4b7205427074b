// The traits of AttentionStepper, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** Index of the step shown, among ``view.steps.steps``. */
  step: number;
  /** Index of the head. */
  head: number;
  /** Index of the query, the word that attends. */
  query: number;
  /** Index of the key that is followed through the steps, or None. */
  key: number | null;
  /** Index of the number of a vector that is followed, or None. */
  column: number | null;
  /** Whether the scores are divided by √d_head. */
  scale: boolean;
  /** Whether the mask is applied. */
  mask: boolean;
  /** The scores are divided by it too; above 0. */
  temperature: number;
  /** The sentence. */
  text: string;
  /** ``"encoder"``, ``"decoder"`` or ``"cross"``. */
  kind: string;
  /** Index of the layer. */
  layer: number;
  /** Size of all text; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** One layer as the page reads it; see `layer_payload` */
  data: Record<string, unknown>;
  /** The kinds and layers to choose from */
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
