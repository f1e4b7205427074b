// The traits of TranslationView, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  /** The sentence shown. */
  sentence: string;
  /** Its translation. */
  translated: string;
  /** The view of its trace. */
  explorer: unknown;
  /**
   * The names of both languages, and the tag of the second for HTML's ``lang``: ``{"source": "English",
   * "target": "Spanish", "tag": "es"}``.
   */
  languages: Record<string, unknown>;
  /** The last sentence that the page drew by itself, so that Python need not send it. */
  drawn: string;
}

export const TRAITS = ["sentence", "translated", "explorer", "languages", "drawn"] as const;
