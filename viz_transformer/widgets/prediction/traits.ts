// The traits of Prediction, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** The learner's answer, None before. Setting it submits it. */
  guess: unknown;
  /** What is asked. */
  question: string;
  /** ``"number"``, ``"choice"``, ``"row"`` or ``"key"``. */
  kind: "number" | "choice" | "row" | "key";
  /** The answers to choose from, or the keys. */
  options: string[];
  /** What a number is measured in. */
  unit: string;
  /**
   * Text shown with the score: paragraphs with an empty line between, in which ``*emphasis*``, code in
   * backticks and ``[links](https://…)`` are drawn as such.
   */
  afterwards: string;
  /** The right answer, None before the guess. */
  truth: unknown;
  /** What is then shown: a view, or a picture; empty before, or if nothing is. */
  revealed: Record<string, unknown>;
  /** Under which name an exported page keeps the guess. */
  keeps: Record<string, unknown>;
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
] as const;
