// Names for heads that do one thing, each with its evidence; other heads stay unnamed. Python has the
// same in analysis/head_labels.py, which says why a name needs strength and more than chance, and a test
// holds the two equal.

import { headPatterns, type Pattern } from "./head_patterns.ts";
import { entropyShares, mean, reachableKeys, twoDecimals, type KindWeights } from "./measures.ts";

const MIN_WEIGHT = 0.6; // the share of its weight that a head puts where its name says, mean over the rows
const MAX_CHANCE = 0.001; // the probability with which blind looking may reach the same mean
const MIN_ENTROPY_SHARE = 0.92; // from which a head is broad
const MIN_ROWS = 6; // the fewest from which a head is called broad

interface HeadLabel {
  name: string;
  evidence: number;
  sentence: string;
}

/**
 * The label of each head, [layer][head]; null where the evidence is weak.
 *
 * @param tokens the keys
 * @param words the number of each key's word, where it is known
 */
export function labelHeads(
  attention: KindWeights,
  tokens: string[],
  words: (number | null)[] | null = null,
): (HeadLabel | null)[][] {
  const { kind, layers, heads, rows, cols, weights } = attention;
  const reachable = reachableKeys(attention);
  const patterns = headPatterns(kind, rows, tokens, words);
  return Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: heads }, (_, head) => {
      const start = (layer * heads + head) * rows * cols;
      return labelOf(weights.subarray(start, start + rows * cols), reachable, patterns);
    }),
  );
}

/** The strongest name for a head, or null. */
function labelOf(head: Float32Array, reachable: number[], patterns: Pattern[]) {
  const found = [broadLabel(head, reachable), ...patterns.map((each) => patternLabel(head, reachable, each))];
  return found.reduce(
    (best, label) => (label && !(best && best.evidence >= label.evidence) ? label : best),
    null,
  );
}

function patternLabel(
  head: Float32Array,
  reachable: number[],
  { name, where, keys: meant, rows, nAlike }: Pattern,
): HeadLabel | null {
  const cols = head.length / reachable.length;
  const [onKeys, even]: number[][] = [[], []]; // of each row
  reachable.forEach((nKeys, query) => {
    const row = head.subarray(query * cols, (query + 1) * cols);
    if (!rows[query] || !row.some((weight) => weight > 0)) return;
    onKeys.push(meant[query].reduce((sum, key) => sum + row[key], 0));
    even.push(meant[query].length / nKeys);
  });
  const [evidence, uniform] = [mean(onKeys), mean(even)];
  // The more names of a sort there are, the sooner chance earns one of them.
  const blindly = nAlike * chance(evidence, uniform, onKeys.length);
  if (!(evidence >= MIN_WEIGHT) || blindly > MAX_CHANCE) return null;
  const sentence =
    `puts ${twoDecimals(evidence)} of its weight ${where}, mean of ${onKeys.length} rows; ` +
    `even attention would put ${twoDecimals(uniform)} there`;
  return { name, evidence, sentence };
}

function broadLabel(head: Float32Array, reachable: number[]): HeadLabel | null {
  const shares = entropyShares(head, reachable).filter((share) => !Number.isNaN(share));
  const evidence = mean(shares);
  if (shares.length < MIN_ROWS || evidence < MIN_ENTROPY_SHARE) return null;
  const sentence =
    `has ${twoDecimals(evidence)} of the entropy that is possible, mean of ${shares.length} rows; ` +
    "even attention would have 1.00";
  return { name: "broad", evidence, sentence };
}

/** Chernoff's bound of the probability that n numbers from 0 to 1 reach a mean above their expectation. */
function chance(reached: number, expected: number, n: number) {
  if (reached <= expected) return 1;
  if (expected <= 0) return 0;
  const share = Math.min(reached, 1);
  let divergence = share * Math.log2(share / expected);
  if (share < 1) divergence += (1 - share) * Math.log2((1 - share) / (1 - expected));
  return 2 ** (-n * divergence);
}
