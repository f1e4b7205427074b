// The kinds of attention, the place of a head among them, and the words for the tasks of models.

import shared from "../../shared.json" with { type: "json" };

interface Kind {
  /** Short, for a list to choose from. */
  name: string;
  /** In full, for a title. */
  label: string;
  /** The words that look. */
  query: "source" | "target";
  /** The words that are looked at. */
  key: "source" | "target";
}

/** "encoder", "decoder" and "cross" */
export const ATTENTION_KINDS = shared.kinds as Record<string, Kind>;

export interface HeadPlace {
  kind: string;
  layer: number;
  head: number;
}

export const sameHead = (a: HeadPlace, b: HeadPlace): boolean =>
  a.kind === b.kind && a.layer === b.layer && a.head === b.head;

interface TaskWords {
  /** The name of the field for the text. */
  field: string;
  button: string;
  /** What the log-probabilities are of. */
  words: string;
  /** What the model makes of a text at a moment of its training. */
  now: string;
  /** What stands beside it. */
  reference: string;
  /** Of an outcome that is the reference, and of any other. */
  verdicts: string[];
  /** Both for a screen reader. */
  spoken: string[];
}

export const TASKS = shared.tasks as Record<string, TaskWords>;
