// The numbers of the position lab: tables, likeness by distance, and scores under a shift.
//
// All in double precision, as viz_transformer/analysis/positions.py; a test compares the two.

/** Nearer than this, two positions look alike to a pair of dimensions; as in Python. */
export const ALIKE = 0.3;

/** How fast a pair of dimensions turns, in radians a token. */
export function rateOf(pair, width) {
  return 10000 ** (-(2 * pair) / width);
}

/** After how many tokens a pair has made a whole turn. */
export function wavelengthOf(pair, width) {
  return (2 * Math.PI) / rateOf(pair, width);
}

/** A matrix: values in C order with their sizes. */
export function matrixOf(values, rows, cols) {
  return { values, rows, cols };
}

/** PE(position, 2i) = sin(position / 10000^(2i / d)), PE(position, 2i + 1) = cos of the same. */
export function sinusoids(rows, cols) {
  const values = new Float64Array(rows * cols);
  for (let row = 0; row < rows; row++) {
    for (let pair = 0; pair < cols / 2; pair++) {
      const angle = row * rateOf(pair, cols);
      values[row * cols + 2 * pair] = Math.sin(angle);
      values[row * cols + 2 * pair + 1] = Math.cos(angle);
    }
  }
  return matrixOf(values, rows, cols);
}

/** a · bᵀ: the dot product of every row of one with every row of the other. */
export function rowProducts(a, b) {
  const values = new Float64Array(a.rows * b.rows);
  for (let row = 0; row < a.rows; row++) {
    for (let col = 0; col < b.rows; col++) {
      let sum = 0;
      for (let i = 0; i < a.cols; i++) sum += a.values[row * a.cols + i] * b.values[col * b.cols + i];
      values[row * b.rows + col] = sum;
    }
  }
  return matrixOf(values, a.rows, b.rows);
}

/** Some rows of a matrix. */
export function rowsOf({ values, cols }, first, count) {
  return matrixOf(values.subarray(first * cols, (first + count) * cols), count, cols);
}

/** Rows whose pairs (x_2i, x_2i+1) are turned by position · rate; `positionOf(row)` says where each stands. */
export function turnRows({ values, rows, cols }, positionOf) {
  const out = new Float64Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let pair = 0; pair < cols / 2; pair++) {
      const angle = positionOf(row) * rateOf(pair, cols);
      const [cos, sin, at] = [Math.cos(angle), Math.sin(angle), row * cols + 2 * pair];
      out[at] = values[at] * cos - values[at + 1] * sin;
      out[at + 1] = values[at] * sin + values[at + 1] * cos;
    }
  }
  return matrixOf(out, rows, cols);
}

/** The other positions whose two numbers in a pair lie nearer to those of `position` than ALIKE. */
export function lookAlikes({ values, rows, cols }, position, pair) {
  const at = (row) => [values[row * cols + 2 * pair], values[row * cols + 2 * pair + 1]];
  const [x, y] = at(position);
  return Array.from({ length: rows }, (_, row) => row).filter(
    (row) => row !== position && Math.hypot(at(row)[0] - x, at(row)[1] - y) < ALIKE,
  );
}

/** For each pair, how many other positions look like `position` to it. */
export function confusions(table, position) {
  return Array.from({ length: table.cols / 2 }, (_, pair) => lookAlikes(table, position, pair).length);
}

/** The mean cosine between neighbouring rows from `first` up to `end`; null where there are none. */
export function neighbourCosine({ values, cols }, first, end) {
  const dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < cols; i++) sum += values[a * cols + i] * values[b * cols + i];
    return sum;
  };
  let total = 0;
  for (let row = first; row + 1 < end; row++)
    total += dot(row, row + 1) / Math.sqrt(dot(row, row) * dot(row + 1, row + 1));
  return end - first > 1 ? total / (end - first - 1) : null;
}

/** The position whose whole vector is nearest to that of `position`: {row, distance}, or null. */
export function nearestRow({ values, rows, cols }, position) {
  let best = null;
  for (let row = 0; row < rows; row++) {
    if (row === position) continue;
    let sum = 0;
    for (let i = 0; i < cols; i++) sum += (values[row * cols + i] - values[position * cols + i]) ** 2;
    if (!best || sum < best.distance ** 2) best = { row, distance: Math.sqrt(sum) };
  }
  return best;
}

/** Dot products of all positions; for rotary, one query's score with one key, each turned where it stands. */
export function scoresByPlace(encoding, table, head) {
  if (encoding !== "rotary") return rowProducts(table, table);
  const { rows, cols } = table;
  const everywhere = (vector) => {
    const values = new Float64Array(rows * cols);
    for (let row = 0; row < rows; row++) values.set(vector.values, row * cols);
    return turnRows(matrixOf(values, rows, cols), (row) => row);
  };
  const scores = rowProducts(everywhere(rowsOf(head.queries, 0, 1)), everywhere(rowsOf(head.keys, 1, 1)));
  return scaled(scores, 1 / Math.sqrt(cols));
}

/** The least and the largest of the scores at one offset, over all positions; null if there is none. */
export function rangeAt({ values, rows }, offset) {
  let range = null;
  for (let row = Math.max(0, -offset); row < rows && row + offset < rows; row++) {
    const score = values[row * rows + row + offset];
    range = range ? [Math.min(range[0], score), Math.max(range[1], score)] : [score, score];
  }
  return range;
}

/**
 * The scores of the head's sentence from `start` on: {whole, parts}.
 *
 * `parts` are those of (W_q (x + p)) · (W_k (y + p')) / √d, as [name, matrix]; none for rotary.
 */
export function sentenceScores(encoding, table, head, start) {
  const { words, mixing, queries, keys } = head;
  if (encoding === "rotary") {
    const turned = [queries, keys].map((vectors) => turnRows(vectors, (row) => start + row));
    return { whole: scaled(rowProducts(...turned), 1 / Math.sqrt(words.cols)), parts: [] };
  }
  const places = rowsOf(table, start, words.rows);
  const score = (left, right) => rowProducts(left, rowProducts(right, mixing)); // left · mixing · rightᵀ
  const parts = [
    ["word · word", score(words, words)],
    ["word · position", score(words, places)],
    ["position · word", score(places, words)],
    ["position · position", score(places, places)],
  ];
  const sum = parts[0][1].values.map((_, i) => parts.reduce((total, [, part]) => total + part.values[i], 0));
  return { whole: matrixOf(sum, words.rows, words.rows), parts };
}

/** PE · PE / √d of the positions from `start` on: positions alone, without projections. */
export function bareScores(table, count, start) {
  const places = rowsOf(table, start, count);
  return scaled(rowProducts(places, places), 1 / Math.sqrt(table.cols));
}

export function scaled({ values, rows, cols }, factor) {
  return matrixOf(
    values.map((value) => value * factor),
    rows,
    cols,
  );
}

export function differenceOf(a, b) {
  return matrixOf(
    a.values.map((value, i) => value - b.values[i]),
    a.rows,
    a.cols,
  );
}

/** Root mean square. */
export function rmsOf({ values }) {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

/** The largest number, whatever its sign; 1 for zeros, so that it can be divided by. */
export function limitOf(...matrices) {
  const largest = Math.max(
    ...matrices.map(({ values }) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)),
  );
  return largest || 1;
}
