// Which part of a trace is shown: of a pair of sentences which attends to which, and whether heads attend by
// content, by positions or by both. Python takes scores apart, and sends the trace of the chosen part.

/** Which sentences are shown, the one that attends first, with their names in the list. */
export const PAIRS = [
  ["all", "A and B"],
  ["AA", "A → A"],
  ["AB", "A → B"],
  ["BA", "B → A"],
  ["BB", "B → B"],
];

const everyToken = () => true;

/**
 * Of each kind, which sentences are shown; a kind that is not the pair attending to itself has none.
 *
 * @param segments 0 or 1 for each token of the pair, or empty
 */
export function pairsOf(
  entries: Map<string, { rows: number; cols: number }>,
  segments: number[],
  pair: string,
): Record<string, string> {
  const kind = entries.has("encoder") ? "encoder" : "decoder";
  const entry = entries.get(kind);
  return segments.length && entry?.rows === segments.length && entry.cols === segments.length
    ? { [kind]: pair }
    : {};
}

/** Which tokens a filter leaves, as functions of their indices. */
export function keptOf(pair: string, segments: number[]) {
  if (pair === "all") return { queries: everyToken, keys: everyToken };
  const [query, key] = Array.from(pair, (name) => "AB".indexOf(name));
  return {
    queries: (index: number) => segments[index] === query,
    keys: (index: number) => segments[index] === key,
  };
}

/** What a filter of sentences does, in a sentence. */
export function pairInWords(pair: string) {
  return pair === "all"
    ? ""
    : `Sentence ${pair[0]} → sentence ${pair[1]} alone: a row may sum to less than 1.`;
}

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
