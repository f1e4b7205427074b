// The traits of Prediction, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  guess: unknown;
  question: string;
  kind: "number" | "choice" | "row" | "key" | "sentence";
  options: string[];
  unit: string;
  afterwards: string;
  truth: unknown;
  revealed: Record<string, unknown>;
  keeps: Record<string, unknown>;
  is_discussed: boolean;
  discussed: unknown;
}

export const TRAITS = [
  "guess",
  "question",
  "kind",
  "options",
  "unit",
  "afterwards",
  "truth",
  "revealed",
  "keeps",
  "is_discussed",
  "discussed",
] as const;
