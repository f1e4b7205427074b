// What leaks: how far each output of the live model moves when one token is replaced, and whether it may.

import { decodeWeights } from "../base/bytes.ts";
import { formatNumber, shortNumber } from "../base/text.ts";
import { type ComposedMask, isWord } from "./composition.ts";

export const UNMOVED = 1e-4; // smaller changes are the rounding of float32, and no leak

/** The likeliest word of an output, and its probability. */
export interface Likeliest {
  word: string;
  share: number;
}

/** What was measured. */
export interface Leaks {
  changes: (b: number, edited: number, query: number) => number;
  /** The same with two more padding tokens; null where the mask would then be refused. */
  longer: ((b: number, query: number) => number) | null;
  /** The other word for each key, [batch][key]. */
  replacements: string[][];
  /** What an output writes with this mask, and with the one that the model was trained with; none in the encoder. */
  writes: ((b: number, query: number) => { now: Likeliest; right: Likeliest }) | null;
}

export type Verdict = "leak" | "moved" | "still" | "cut" | "padding" | "shifted";

export interface LeakRow {
  word: string;
  change: number;
  verdict: Verdict;
  writes: { now: Likeliest; right: Likeliest } | null;
}

/** What the view shows of a measurement. */
export interface Selected {
  sentence: number;
  edit: string;
  edited: number;
  side: string;
}

/** As it is sent; arrays are bytes. */
export interface LeaksReply {
  shape: [sentences: number, keys: number, queries: number];
  changes: DataView;
  longer: DataView | null;
  replacements: string[][];
  writes: { words: string[][][]; shares: DataView } | null;
}

export function readLeaks(reply: LeaksReply): Leaks {
  const [sentences, keys, queries] = reply.shape;
  const numbers = (bytes: DataView) => decodeWeights(bytes, "float32");
  const [changes, longer] = [numbers(reply.changes), reply.longer && numbers(reply.longer)];
  const shares = reply.writes && numbers(reply.writes.shares);
  const written = (mask: number, b: number, q: number): Likeliest => ({
    word: reply.writes?.words[mask]?.[b]?.[q] ?? "",
    share: shares?.[(mask * sentences + b) * queries + q] ?? 0,
  });
  return {
    changes: (b, j, q) => changes[(b * keys + j) * queries + q] ?? 0,
    longer: longer && ((b, q) => longer[b * queries + q] ?? 0),
    replacements: reply.replacements,
    writes: shares && ((b, q) => ({ now: written(0, b, q), right: written(1, b, q) })),
  };
}

/** What it means that an output changed or did not. */
export function verdictOf(change: number, ofWord: boolean, allowed: boolean): Verdict {
  if (!ofWord) return "padding";
  const moved = change >= UNMOVED;
  if (allowed) return moved ? "moved" : "cut";
  return moved ? "leak" : "still";
}

/** Each query of a sentence with its change and verdict, for the chosen edit. */
export function leakRows(leaks: Leaks, composed: ComposedMask, selected: Selected): LeakRow[] {
  const { sentence: b, edit, edited, side } = selected;
  const isLonger = edit === "padding";
  return (composed.queryTokens[b] ?? []).map((word, q) => {
    const change = (isLonger ? leaks.longer?.(b, q) : leaks.changes(b, edited, q)) ?? 0;
    const verdict = verdictOf(change, isWord(word), !isLonger && composed.allowed(b, q, edited));
    const isShifted = isLonger && side === "left" && verdict === "leak";
    return { word, change, verdict: isShifted ? "shifted" : verdict, writes: leaks.writes?.(b, q) ?? null };
  });
}

/** How many (output, key) pairs of the whole batch leak, of those that must not depend on each other. */
export function countLeaks(leaks: Leaks, composed: ComposedMask) {
  const pairs = composed.queryTokens.flatMap((tokens, b) =>
    tokens.flatMap((token, q) =>
      (composed.keyTokens[b] ?? []).flatMap((_, k) =>
        isWord(token) && !composed.allowed(b, q, k) ? [leaks.changes(b, k, q)] : [],
      ),
    ),
  );
  return { leaks: pairs.filter((change) => change >= UNMOVED).length, places: pairs.length };
}

/** How many outputs of the whole batch two more padding tokens move. */
export function countMoved(leaks: Leaks, composed: ComposedMask) {
  const changes = composed.queryTokens.flatMap((tokens, b) =>
    tokens.flatMap((token, q) => (isWord(token) ? [leaks.longer?.(b, q) ?? 0] : [])),
  );
  return { moved: changes.filter((change) => change >= UNMOVED).length, places: changes.length };
}

/** A token that leaks: `query` is the output that it moves most, of `count` that must not depend on it. */
export interface Leak {
  sentence: number;
  edited: number;
  query: number;
  count: number;
}

/** The token that leaks to most outputs, of equals a word, then the one that moves them most; null: none leaks. */
export function largestLeak(
  leaks: Leaks,
  composed: ComposedMask,
  among: (sentence: number, edited: number) => boolean = () => true,
): Leak | null {
  let [worst, rank] = [null as Leak | null, [0]];
  for (let b = 0; b < composed.sentences; b++) {
    for (let k = 0; k < composed.keys; k++) {
      if (!among(b, k)) continue;
      const rows = leakRows(leaks, composed, { sentence: b, edit: "word", edited: k, side: "" });
      const changes = rows.map(({ verdict, change }) => (verdict === "leak" ? change : 0));
      const [count, largest] = [changes.filter(Boolean).length, Math.max(...changes)];
      const mine = [count, Number(isWord(composed.keyTokens[b]?.[k])), largest];
      const differs = mine.findIndex((value, at) => value !== rank[at]);
      if (!count || !((mine[differs] ?? 0) > (rank[differs] ?? 0))) continue;
      [worst, rank] = [{ sentence: b, edited: k, query: changes.indexOf(largest), count }, mine];
    }
  }
  return worst;
}

/**
 * What to select after a change of the mask, so that its leak is seen; null where nothing is better. It is looked
 * for in the whole batch, or in the sentence shown, if its chosen token leaks nothing.
 */
export function leakToShow(
  leaks: Leaks,
  composed: ComposedMask,
  { sentence, edit, edited }: Omit<Selected, "side">,
  among: "batch" | "sentence",
) {
  const isWhole = among === "batch";
  const isChosen = (b: number, k: number) => b === sentence && k === edited;
  if (!isWhole && (edit !== "word" || largestLeak(leaks, composed, isChosen))) return null;
  const worst = largestLeak(leaks, composed, (b) => isWhole || b === sentence);
  if (!worst) return null;
  return { sentence: worst.sentence, edited: worst.edited, key: worst.edited, query: worst.query };
}

/** A change as it is shown: 0 where float32 only rounded. */
export function shownChange(change: number): string {
  if (Number.isNaN(change)) return "NaN";
  if (change < UNMOVED) return "0";
  return change >= 0.005 ? formatNumber(change, 2) : shortNumber(change, 1);
}
