// Names for heads that do one thing, each with its evidence; other heads stay unnamed. Python has the
// same in analysis/head_labels.py, which says why a name needs strength and more than chance, and a test
// holds the two equal.

import { headPatterns, type Pattern } from "./head_patterns.ts";
import { entropyShares, mean, reachableKeys, twoDecimals, type KindWeights } from "./measures.ts";

const MIN_WEIGHT = 0.6; // the share of its weight that a head puts where its name says, mean over the rows
const MAX_CHANCE = 0.001; // the probability with which random attention may reach the same mean
const MIN_ENTROPY_SHARE = 0.92; // from which a head is broad
const MIN_ROWS = 6; // the fewest from which a head is called broad
const MIN_REST = 0.3; // the weight on the token that a head rests on, mean over the rows
const MIN_CORRELATION = 0.9; // of the queries' order with where they look
const [MIN_ALIGNED, CLEAREST] = [8, 0.99]; // rows and correlation: a few queries are in order by chance
const DEVIATIONS = 3.09; // which a normal number exceeds with the probability MAX_CHANCE

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
      const one = weights.subarray(start, start + rows * cols);
      const label = labelOf(one, reachable, patterns) ?? restingLabel(one, reachable, kind, tokens);
      return label ?? (kind === "cross" ? monotoneLabel(one, cols) : null);
    }),
  );
}

/** The strongest name for a head that is one of a pattern, or null. */
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
  const blindly = Math.log2(nAlike) + chance(evidence, uniform, onKeys.length);
  if (!(evidence >= MIN_WEIGHT) || blindly > Math.log2(MAX_CHANCE)) return null;
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

const rowsOf = (head: Float32Array, cols: number) =>
  Array.from({ length: head.length / cols }, (_, query) => ({
    query,
    row: head.subarray(query * cols, (query + 1) * cols),
  })).filter(({ row }) => row.some((weight) => weight > 0));

/** The label of a head that rests on one token: not the first, nor the last of a whole text. */
function restingLabel(
  head: Float32Array,
  reachable: number[],
  kind: string,
  tokens: string[],
): HeadLabel | null {
  const cols = head.length / reachable.length;
  const all = rowsOf(head, cols).map((each) => ({ ...each, best: each.row.indexOf(Math.max(...each.row)) }));
  const last = kind === "decoder" ? cols : cols - 1;
  const counts: number[] = new Array(cols).fill(0);
  for (const { best } of all) if (best > 0 && best < last) counts[best]!++;
  const key = counts.indexOf(Math.max(...counts));
  const rows = all.filter(({ query }) =>
    kind === "decoder" ? query > key + 1 : kind === "cross" || Math.abs(query - key) > 1,
  );
  if (!counts[key] || !rows.length || 3 * rows.length < all.length) return null;
  const share = mean(rows.map(({ best }) => Number(best === key)));
  const weight = mean(rows.map(({ row }) => row[key]!));
  const uniform = mean(rows.map(({ query }) => 1 / reachable[query]!));
  const blindly = Math.log2(last - 1) + chance(share, uniform, rows.length);
  if (share < MIN_WEIGHT || weight < MIN_REST || blindly > Math.log2(MAX_CHANCE)) return null;
  const sentence =
    `puts ${twoDecimals(weight)} of its weight on “${tokens[key]}”, token ${key}, mean of ${rows.length} ` +
    `rows, in ${twoDecimals(share)} of which that is the strongest key; ` +
    `even attention would put ${twoDecimals(uniform)} there`;
  return { name: "rests on one token", evidence: weight, sentence };
}

/** The label of a head of cross-attention that moves through the other sentence in order. */
function monotoneLabel(head: Float32Array, cols: number): HeadLabel | null {
  const rows = rowsOf(head, cols).map(({ query, row }) => {
    const sum = row.reduce((total, weight) => total + weight, 0);
    const at = row.reduce((total, weight, key) => total + weight * key, 0) / sum;
    const squares = row.reduce((total, weight, key) => total + weight * key * key, 0) / sum;
    return { query, at, width: Math.sqrt(Math.max(squares - at * at, 0)) };
  });
  if (rows.length < MIN_ALIGNED) return null;
  const [middle, centre] = [mean(rows.map(({ query }) => query)), mean(rows.map(({ at }) => at))];
  const total = (of: (row: (typeof rows)[number]) => number) => rows.reduce((sum, row) => sum + of(row), 0);
  const together = total(({ query, at }) => (query - middle) * at);
  const ofOrder = total(({ query }) => (query - middle) ** 2);
  const spread = Math.sqrt(total(({ at }) => (at - centre) ** 2) * ofOrder);
  const moved = (together / ofOrder) * (rows.at(-1)!.query - rows[0]!.query);
  if (!spread || moved < 2 * mean(rows.map(({ width }) => width))) return null;
  const evidence = together / spread;
  // Fisher's transform of a correlation is nearly normal, of the variance 1 / (n - 3).
  const score = Math.atanh(Math.min(Math.max(evidence, 0), CLEAREST)) * Math.sqrt(rows.length - 3);
  if (evidence < MIN_CORRELATION || score < DEVIATIONS) return null;
  const sentence =
    "looks further on from query to query: where it looks correlates with their order at " +
    `${twoDecimals(evidence)}, over ${rows.length} rows; random attention gives about 0.00`;
  return { name: "monotone alignment", evidence, sentence };
}

/** Chernoff's bound of the probability that n numbers from 0 to 1 reach a mean above their expectation; its log2. */
function chance(reached: number, expected: number, n: number) {
  if (reached <= expected) return 0;
  if (expected <= 0) return Number.NEGATIVE_INFINITY;
  const share = Math.min(reached, 1);
  let divergence = share * Math.log2(share / expected);
  if (share < 1) divergence += (1 - share) * Math.log2((1 - share) / (1 - expected));
  return -n * divergence;
}
