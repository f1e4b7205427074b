// The two sentences of a pair, and which of them attends to which.

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
