// The traits of TrainingScrubber, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** Index of the moment, among ``view.trace.moments``. */
  moment: number;
  /** Index of the sentence. */
  sentence: number;
  /** ``"encoder"``, ``"decoder"`` or ``"cross"``: whose heads are shown. */
  kind: string;
  /** Layer of the head that is shown large. */
  layer: number;
  /** Its index in the layer. */
  head: number;
  /** The same of the second run, or None where there is none. */
  other_layer: number | null;
  /** The same. */
  other_head: number | null;
  /** Size of all text and pictures; 1 is the usual, 2 suits a projector. */
  text_size: number;
  /** The runs as the page reads them; see `training_payload` */
  data: Record<string, unknown>;
}

export const TRAITS = [
  "moment",
  "sentence",
  "kind",
  "layer",
  "head",
  "other_layer",
  "other_head",
  "text_size",
  "data",
] as const;
