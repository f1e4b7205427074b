// The traits of TranslationView, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  sentence: string;
  translated: string;
  explorer: unknown;
  languages: Record<string, unknown>;
  drawn: string;
}

export const TRAITS = ["sentence", "translated", "explorer", "languages", "drawn"] as const;
