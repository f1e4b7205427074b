// Which vectors are near to one another, and which differences are parallel; all by the whole vectors.

import { numbersOf } from "../base/bytes.ts";
export interface Embeddings {
  tokens: string[];
  /** Numbers in a vector. */
  width: number;
  /** [token, width] */
  vectors: Float32Array;
  /** [token, 2], of the plane. */
  points: Float32Array;
  /** Of the variance, one for each axis of the plane. */
  shares: number[];
  groups: string[];
  /** The role that colours a group. */
  roles: string[];
  /** [token] */
  groupOf: number[];
  /** How many tokens the vocabulary has, of which these are some. */
  all: number;
}

/** More tokens, as Python sends them. */
export interface Found {
  tokens: string[];
  vectors: DataView;
  points: DataView;
  group_of: number[];
}

/** As Python sends them. */
export interface Data extends Found {
  d_model: number;
  shares: number[];
  groups: string[];
  roles: string[];
  n_all?: number;
}

/** The embeddings of a view's data, its bytes as numbers. */
export function readEmbeddings({
  d_model: width,
  vectors,
  points,
  group_of: groupOf,
  n_all: all,
  ...rest
}: Data): Embeddings {
  return {
    ...rest,
    vectors: numbersOf(vectors, Float32Array),
    points: numbersOf(points, Float32Array),
    ...{ width, groupOf, all: all ?? rest.tokens.length },
  };
}

/** The embeddings with what was found of a larger vocabulary. */
export function withFound(known: Embeddings, found: Found | undefined): Embeddings {
  if (!found) return known;
  const has = new Set(known.tokens);
  const news = found.tokens.flatMap((token, at) => (has.has(token) ? [] : [at]));
  const joined = (own: Float32Array, bytes: DataView, width: number) => {
    const more = numbersOf(bytes, Float32Array);
    const rows = news.flatMap((at) => Array.from(more.subarray(at * width, (at + 1) * width)));
    return Float32Array.from([...own, ...rows]);
  };
  return {
    ...known,
    tokens: [...known.tokens, ...news.map((at) => found.tokens[at]!)],
    vectors: joined(known.vectors, found.vectors, known.width),
    points: joined(known.points, found.points, 2),
    groupOf: [...known.groupOf, ...news.map((at) => found.group_of[at]!)],
  };
}

export interface Neighbour {
  index: number;
  cosine: number;
}

type Table = Pick<Embeddings, "tokens" | "width" | "vectors">;

const rowOf = ({ vectors, width }: Table, token: number) =>
  vectors.subarray(token * width, (token + 1) * width);

/** The vectors whose direction is nearest to that of a token, the nearest first. */
export function nearest(table: Table, index: number, count = 8): Neighbour[] {
  return nearestTo(table, rowOf(table, index))
    .filter((each) => each.index !== index)
    .slice(0, count);
}

function nearestTo(table: Table, wanted: ArrayLike<number>): Neighbour[] {
  const all = table.tokens.map((_, index) => ({ index, cosine: cosineOf(rowOf(table, index), wanted) }));
  return all.sort((one, other) => other.cosine - one.cosine || one.index - other.index);
}

function cosineOf(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const lengths = Math.sqrt(dot(a, a) * dot(b, b));
  return lengths ? dot(a, b) / lengths : -1;
}

export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** A is to b as c is to d: the differences of the two pairs are nearly parallel. */
export interface Analogy {
  words: [a: number, b: number, c: number, d: number];
  /** Of the two differences. */
  cosine: number;
}

const [AROUND, PARALLEL] = [40, 0.75]; // tokens c that are tried, and the least cosine of an analogy that holds

/**
 * The analogies that hold for a token and its neighbours, the best first: d is the token nearest to c + (b − a),
 * those three apart, and the differences b − a and d − c are nearly parallel.
 */
export function analogies(table: Table, a: number, near: Neighbour[], count = 3): Analogy[] {
  const around = nearest(table, a, AROUND).map(({ index }) => index);
  const own = rowOf(table, a);
  const found = near.flatMap(({ index: b }) => {
    const step = rowOf(table, b).map((value, i) => value - own[i]!);
    const ofB = around.flatMap((c) => {
      const from = rowOf(table, c);
      const goal = nearestTo(
        table,
        from.map((value, i) => value + step[i]!),
      );
      const d = goal.find(({ index }) => index !== a && index !== b && index !== c)?.index;
      if (d === undefined || c === b) return [];
      const other = rowOf(table, d).map((value, i) => value - from[i]!);
      return [{ words: [a, b, c, d] as Analogy["words"], cosine: cosineOf(step, other) }];
    });
    return ofB.sort((one, other) => other.cosine - one.cosine).slice(0, 1);
  });
  return found
    .filter(({ cosine }) => cosine >= PARALLEL)
    .sort((one, other) => other.cosine - one.cosine)
    .slice(0, count);
}

/** The tokens that are written as a text is: the beginning of a word, with its tokenizer's sign, before others. */
export function spelledSo(tokens: readonly string[], text: string): string[] {
  const word = text.trim();
  return word ? ["Ġ", "▁", ""].map((mark) => mark + word).filter((each) => tokens.includes(each)) : [];
}

/** The tokens that a text may mean: those written so, else those that begin with it, else those that hold it. */
export function findTokens(tokens: readonly string[], text: string): string[] {
  const plain = (word: string) =>
    word
      .replace(/^[Ġ▁·]/, "")
      .normalize("NFD")
      .replace(/\p{M}/gu, "")
      .toLowerCase();
  const wanted = plain(text.trim());
  if (!wanted) return [];
  const same = tokens.filter((each) => plain(each) === wanted);
  const begun = tokens.filter((each) => plain(each).startsWith(wanted));
  const held = tokens.filter((each) => plain(each).includes(wanted));
  return [...new Set([...spelledSo(tokens, text), ...same, ...begun, ...held])];
}
