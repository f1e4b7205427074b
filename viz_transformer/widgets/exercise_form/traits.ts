// The traits of ExerciseForm, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  asked: Record<string, unknown>;
  answer: unknown;
  view: unknown;
  keeps: Record<string, unknown>;
}

export const TRAITS = ["asked", "answer", "view", "keeps"] as const;
