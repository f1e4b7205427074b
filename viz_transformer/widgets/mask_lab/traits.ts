// The traits of MaskLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  kind: string;
  side: string;
  padding: boolean;
  causal: boolean;
  mistake: string;
  lengths: number[];
  painted: unknown[];
  polarity: string;
  sentence: number;
  query: number | null;
  key: number | null;
  edit: string;
  edited: number;
  unfolded: string[];
  text_size: number;
  kinds: string[];
  words: Record<string, unknown>;
}

export const TRAITS = [
  "kind",
  "side",
  "padding",
  "causal",
  "mistake",
  "lengths",
  "painted",
  "polarity",
  "sentence",
  "query",
  "key",
  "edit",
  "edited",
  "unfolded",
  "text_size",
  "kinds",
  "words",
] as const;
