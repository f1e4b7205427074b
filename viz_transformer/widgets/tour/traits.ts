// The traits of Tour, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  view: unknown;
  steps: Record<string, unknown>[];
  step: number;
  names: string[];
  start: Record<string, unknown>;
}

export const TRAITS = ["view", "steps", "step", "names", "start"] as const;
