// Positional encodings, without which attention sees a set of words and not their order.
//
// Most are a table of vectors that are added to the embeddings. Rotary positions add nothing: they
// turn each query and key before self-attention.

import { makeMatrix, type Matrix } from "./matrix.ts";
import { readMatrix, type Config, type Weights } from "./parameters.ts";

/**
 * Give each position a vector of sines and cosines, from fast waves to slow ones. With `halves` all sines
 * come before all cosines (Marian, tensor2tensor). [length, d_model]
 *
 *     PE(position, 2i)     = sin(position / 10000^(2i / d_model))
 *     PE(position, 2i + 1) = cos(position / 10000^(2i / d_model))
 *
 * Source: Vaswani et al. 2017, section 3.5.
 */
export function sinusoidalEncoding(length: number, dModel: number, halves = false): Matrix {
  const table = makeMatrix(length, dModel);
  const angles = anglesOf(length, dModel); // [length, d_model / 2]
  const nPairs = dModel / 2;
  for (let i = 0; i < angles.length; i++) {
    const [position, pair] = [Math.floor(i / nPairs), i % nPairs];
    const first = position * dModel;
    table.data[first + (halves ? pair : 2 * pair)] = Math.sin(angles[i]);
    table.data[first + (halves ? nPairs + pair : 2 * pair + 1)] = Math.cos(angles[i]);
  }
  return table;
}

/** Position / 10000^(2i / width): how far each position turns each pair of numbers, [length, width / 2]. */
function anglesOf(length: number, width: number) {
  const nPairs = width / 2;
  return Float64Array.from({ length: length * nPairs }, (_, i) => {
    return Math.floor(i / nPairs) / 10_000 ** ((2 * (i % nPairs)) / width);
  });
}

/**
 * The table of vectors that a configuration adds to the words; null where it adds none. A module called
 * `name` holds learned ones. [max_length, d_model]
 */
export function makePositions(config: Config, weights: Weights, name: string): Matrix | null {
  if (config.positional.startsWith("sinusoidal")) {
    return sinusoidalEncoding(config.max_length, config.d_model, config.positional === "sinusoidal_halves");
  }
  if (config.positional !== "learned") return null;
  const learned = readMatrix(weights, `${name}.embedding.weight`, config.max_length, config.d_model);
  const scale = embeddingScale(config); // learned vectors are multiplied by what the words are
  return { ...learned, data: learned.data.map((number) => number * scale) };
}

/**
 * What embeddings are multiplied by: √d_model, or 1 where they are taken as they are.
 *
 * √d_model brings the words, drawn with standard deviation 1/√d_model, to the positions' size.
 *
 * Source: Vaswani et al. 2017, section 3.4.
 */
export function embeddingScale(config: Config) {
  return config.scale_embeddings ? Math.sqrt(config.d_model) : 1;
}

export interface Rotary {
  /** [max_length, d_head / 2] */
  cos: Float32Array;
  /** [max_length, d_head / 2] */
  sin: Float32Array;
}

/** The angles of rotary positions, by their cosines and sines. */
export function makeRotary(maxLength: number, dHead: number): Rotary {
  const angles = anglesOf(maxLength, dHead);
  return { cos: Float32Array.from(angles, Math.cos), sin: Float32Array.from(angles, Math.sin) };
}

/**
 * Turn every pair of numbers in a head's query or key by an angle that grows with its position. [row, head ·
 * d_head]
 *
 * The pair (x_2i, x_2i+1) at position p is turned by p / 10000^(2i / d_head), like the hands of a
 * clock, fast ones and slow ones. A dot product of two turned vectors depends only on how far
 * apart they stand, and not on where.
 *
 * Source: Su et al. 2021, "RoFormer", sections 3.2 and 3.4.2.
 */
export function turnByPosition(x: Matrix, { cos, sin }: Rotary, positions: number[], dHead: number): Matrix {
  const turned = makeMatrix(x.rows, x.cols);
  const nPairs = dHead / 2;
  for (let even = 0; even < x.data.length; even += 2) {
    const position = positions[Math.floor(even / x.cols)];
    const angle = position * nPairs + ((even % x.cols) % dHead) / 2;
    turned.data[even] = x.data[even] * cos[angle] - x.data[even + 1] * sin[angle];
    turned.data[even + 1] = x.data[even] * sin[angle] + x.data[even + 1] * cos[angle];
  }
  return turned;
}
