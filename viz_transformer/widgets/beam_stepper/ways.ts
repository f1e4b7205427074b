// The ways to write one text, side by side: greedy search, a beam, and words drawn by chance.

import {
  isEnd,
  leaderOf,
  type SearchRequest,
  type SearchResult,
  searchRequest,
  type Traits,
} from "./candidates.ts";

/** A way to write, as far as it has come at a step. */
export interface Way {
  name: string;
  request: SearchRequest;
  /** What sets it. */
  change: Partial<Traits>;
  isShown: boolean;
  /** The words so far; null where they are not known. */
  tokens: string[] | null;
  /** The log-probability of the whole text; undefined until it has ended. */
  logProb?: number | null;
}

/** The text of a search at a step: its leader, and what was found only at its end. */
function textAt(result: SearchResult, step: number): Pick<Way, "tokens" | "logProb"> {
  const [{ tokens, log_prob: logProb }] = result.hypotheses;
  return isEnd(result, step) ? { tokens, logProb } : { tokens: result.texts[step][leaderOf(result, step)] };
}

/**
 * The three ways at a step of what is shown.
 *
 * @param traits
 * @param width of the beam, while another way is shown
 * @param find returns the result of a request where it is known
 * @param shown what is shown
 * @param step
 */
export function waysOf(
  traits: Traits,
  width: number,
  find: (request: SearchRequest) => SearchResult | null,
  shown: SearchResult,
  step: number,
): Way[] {
  const isBeam = traits.method === "beam";
  const changes: [name: string, isShown: boolean, change: Partial<Traits>][] = [
    ["greedy search", isBeam && traits.beam_width === 1, { method: "beam", beam_width: 1 }],
    [`beam of ${width}`, isBeam && traits.beam_width > 1, { method: "beam", beam_width: width }],
    ["sampling", !isBeam, { method: "sample" }],
  ];
  return changes.map(([name, isShown, change], at) => {
    const request = searchRequest({ ...traits, ...change });
    const result = find(request) ?? (isShown ? shown : null);
    let text: Pick<Way, "tokens" | "logProb"> = result ? textAt(result, step) : { tokens: null };
    const { greedy } = shown;
    if (at === 0 && !result && greedy)
      text =
        step < greedy.tokens.length
          ? { tokens: greedy.tokens.slice(0, step + 1) }
          : { tokens: greedy.tokens, logProb: greedy.log_prob };
    return { name, request, change, isShown, ...text };
  });
}
