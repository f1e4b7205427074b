// What a view says about the task of its model: to translate a text, to continue it, to fill its gap.
// Many texts continue a beginning, and many words fill a gap, so there another is not wrong.

import shared from "../../shared.json" with { type: "json" };

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
