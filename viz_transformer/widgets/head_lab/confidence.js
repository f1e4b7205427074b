// The confidence of heads, and rank correlation; analysis/confidence.py computes the same in numpy.

/** Tokens that stand for no word: many heads look at the end of a text where they have nothing to do. */
const NO_WORDS = ["<eos>"];

/**
 * The confidence of each head of a kind: the mean of its rows' largest weights, or null for a head in
 * which no query has a choice.
 *
 * @param {{kind: string, reads: string[], keys: string[], shape: number[]}} entry `reads` are the words
 *   read where the queries stand
 * @param {Float32Array} weights [layer, head, query, key]
 * @returns {(number | null)[]} [layer, head]
 */
export function headConfidence({ kind, reads, keys, shape }, weights) {
  const [layers, heads, n, m] = shape;
  const reachable = reachableKeys(kind, shape, weights);
  const countedKeys = keys.map((token) => !NO_WORDS.includes(token));
  const countedQueries = reads.map((token, query) => reachable[query] > 1 && !NO_WORDS.includes(token));
  return Array.from({ length: layers * heads }, (_, head) => {
    let [sum, count] = [0, 0];
    for (let query = 0; query < n; query++) {
      const start = (head * n + query) * m;
      const row = weights.subarray(start, start + m); // [key]
      if (!countedQueries[query] || !row.some((weight) => weight !== 0)) continue;
      sum += row.reduce((most, weight, key) => (countedKeys[key] ? Math.max(most, weight) : most), 0);
      count++;
    }
    return count ? sum / count : null;
  });
}

/**
 * How many keys each query may attend to: in a decoder itself and the past, unless some weight lies
 * on the future; elsewhere all.
 *
 * @param {string} kind
 * @param {number[]} shape
 * @param {Float32Array} weights [layer, head, query, key]
 * @returns {number[]} [query]
 */
function reachableKeys(kind, [, , n, m], weights) {
  const ahead = (_, i) => i % m > Math.floor(i / m) % n;
  const causal = kind === "decoder" && !weights.some((weight, i) => weight !== 0 && ahead(weight, i));
  return Array.from({ length: n }, (_, query) => (causal ? query + 1 : m));
}

/**
 * Spearman's rank correlation of two lists of numbers, or null if one of them gives no order.
 *
 * @param {number[]} a
 * @param {number[]} b as many
 */
export function rankCorrelation(a, b) {
  const middle = (a.length + 1) / 2; // the mean of all ranks
  const [x, y] = [a, b].map((values) => ranksOf(values).map((rank) => rank - middle));
  const product = (first, second) => first.reduce((sum, value, i) => sum + value * second[i], 0);
  const spread = Math.sqrt(product(x, x) * product(y, y));
  return spread > 0 ? product(x, y) / spread : null;
}

/** Each number's rank from 1; equal ones share the mean of theirs. */
function ranksOf(values) {
  return values.map((value) => {
    const smaller = values.filter((each) => each < value).length;
    const equal = values.filter((each) => each === value).length;
    return smaller + (equal + 1) / 2;
  });
}
