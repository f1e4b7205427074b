// The traits of FigureLab, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  places: number[];
  text_size: number;
  controls: unknown[];
  first: Record<string, unknown>;
}

export const TRAITS = ["places", "text_size", "controls", "first"] as const;
