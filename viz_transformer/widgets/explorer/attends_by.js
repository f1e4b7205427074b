// By what the heads attend: content, positions or both, of a model that adds something to its scores for
// positions. Python takes the scores apart, and sends the trace of the part that is chosen.

/** The parts, with their names in the list. */
export const PARTS_OF_SCORES = [
  ["both", "content and positions"],
  ["content", "content alone"],
  ["positions", "positions alone"],
];

const SENTENCES = {
  both: "",
  content: "By content alone: without what the model adds to its scores for positions.",
  positions:
    "By positions alone: only what the model adds to its scores for positions, whatever the tokens are.",
};

/** What the chosen part is, in a sentence; an empty text for both. */
export function partInWords(attendsBy = "both") {
  return SENTENCES[attendsBy];
}
