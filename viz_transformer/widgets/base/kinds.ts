// The three kinds of attention: their names, and what their axes are.

import shared from "../../shared.json" with { type: "json" };

interface Kind {
  /** Short, for a list to choose from. */
  name: string;
  /** In full, for a title. */
  label: string;
  /** The words that look. */
  query: "source" | "target";
  /** The words that are looked at. */
  key: "source" | "target";
}

/** "encoder", "decoder" and "cross" */
export const ATTENTION_KINDS = shared.kinds as Record<string, Kind>;
