// The traits of Architecture, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  sentence: string;
  step: number;
  box: string;
  row: number | null;
  head: number | null;
  opened: boolean;
  depth: string;
  pace: number;
  text_size: number;
  boxes: unknown[];
  parts: Record<string, unknown>;
  sizes: Record<string, unknown>;
}

export const TRAITS = [
  "sentence",
  "step",
  "box",
  "row",
  "head",
  "opened",
  "depth",
  "pace",
  "text_size",
  "boxes",
  "parts",
  "sizes",
] as const;
