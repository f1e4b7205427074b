// The traits of BeamStepper, as view.py declares them; made by `python -m tools.view_traits`.

export interface Traits {
  sentence: string;
  task: "translate" | "continue";
  decodes: boolean;
  checkpoint: string;
  checkpoints: string[];
  method: "beam" | "sample";
  beam_width: number;
  length_penalty: number;
  temperature: number;
  top_k: number | null;
  top_p: number | null;
  seed: number;
  step: number;
  chosen: number | null;
  layer: number;
  head: number | null;
  text_size: number;
  data: unknown[];
  unfolded: string[];
}

export const TRAITS = [
  "sentence",
  "task",
  "decodes",
  "checkpoint",
  "checkpoints",
  "method",
  "beam_width",
  "length_penalty",
  "temperature",
  "top_k",
  "top_p",
  "seed",
  "step",
  "chosen",
  "layer",
  "head",
  "text_size",
  "data",
  "unfolded",
] as const;
