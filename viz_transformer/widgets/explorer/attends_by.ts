// By what the heads attend: content, positions or both, of a model that adds something to its scores for
// positions. Python takes the scores apart, and sends the trace of the part that is chosen.

/** The parts, with their names in the list. */
export const PARTS_OF_SCORES = [
  ["both", "content and positions"],
  ["content", "content alone"],
  ["positions", "positions alone"],
];

const SENTENCES: Record<string, string> = {
  both: "",
  content: "By content alone: without what the model adds to its scores for positions.",
  positions:
    "By positions alone: only what the model adds to its scores for positions, whatever the tokens are.",
};

/** The trace of a part in Python: `vt.analysis.without_position_bias(trace)`. */
export function traceInPython(name: string, attendsBy = "both") {
  const functions: Record<string, string> = {
    content: "without_position_bias",
    positions: "position_bias_alone",
  };
  return attendsBy === "both" ? name : `vt.analysis.${functions[attendsBy]}(${name})`;
}

/** What follows a heading: " · by content alone"; an empty text for both. */
export function partInHeading(attendsBy = "both") {
  return attendsBy === "both" ? "" : ` · by ${attendsBy} alone`;
}

/** What the chosen part is, in a sentence; an empty text for both. */
export function partInWords(attendsBy = "both") {
  return SENTENCES[attendsBy];
}
