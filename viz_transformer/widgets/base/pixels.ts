// Weights to pixels: a head as large as wanted, or any window onto it, and thumbnails.

import { spans } from "./bytes.ts";

/** What is painted of a head: weights from 0 to 1, or with a limit from -limit to limit. */
export interface Painted {
  weights: Float32Array | null;
  rows: number;
  cols: number;
  /** 1 where a cell is masked. */
  masked?: Uint8Array | null;
  limit?: number | null;
}

/**
 * Paint a head's [rows, cols] weights into a rectangle of `pixels`.
 *
 * Larger than the matrix, each cell becomes a block. Smaller, each pixel shows the strongest
 * weight beneath it, so that a thin line of attention is never averaged away. `box` may be a window
 * onto the whole picture: `across` by `down` pixels, of which it begins at (`x`, `y`).
 *
 * `limit` is null for weights from 0 to 1, else they run from -limit to limit. What is weaker than
 * `least` gets the colour `blank`; where all is `masked`, slanted lines are drawn instead.
 */
export function paintWeights(
  { weights, rows, cols, masked = null, limit = null }: Painted,
  pixels: Uint32Array,
  stride: number,
  {
    left = 0,
    top = 0,
    width,
    height,
    across = width,
    down = height,
    x = 0,
    y = 0,
  }: {
    left?: number;
    top?: number;
    width: number;
    height: number;
    across?: number;
    down?: number;
    x?: number;
    y?: number;
  },
  {
    ramp,
    blank = 0,
    hatch = 0,
    period = 7,
    least = 0,
  }: { ramp: Uint32Array; blank?: number; hatch?: number; period?: number; least?: number },
) {
  const columns = spans(cols, width, across, x);
  const lines = spans(rows, height, down, y);
  const [scale, middle] = limit === null ? [255, 0] : [127.5 / limit, 127.5];
  const best = new Float32Array(width); // the strongest beneath each pixel of a line
  const open = new Uint8Array(width); // whether one of them may be looked at
  let done = -1;
  for (let line = 0; line < height; line++) {
    const [firstRow, endRow] = [lines[2 * line], lines[2 * line + 1]];
    const repeats = firstRow === done; // this line shows the cells that the one above it shows
    if (!repeats) {
      done = firstRow;
      best.fill(0);
      open.fill(masked === null ? 1 : 0);
      for (let row = firstRow; row < endRow; row++) {
        gatherRow(weights!, row * cols, columns, best, limit !== null);
        if (masked !== null) openRow(masked, row * cols, columns, open);
      }
    }
    const out = (top + line) * stride + left;
    if (repeats && masked === null) {
      pixels.copyWithin(out, out - stride, out - stride + width);
      continue;
    }
    for (let column = 0; column < width; column++) {
      const strongest = best[column];
      const place = strongest * scale + middle + 0.5;
      let colour = ramp[place < 0 ? 0 : place >= 255 ? 255 : place | 0];
      if (Math.abs(strongest) < least) colour = blank;
      if (!open[column]) colour = (x + column + y + line) % period < period / 5 ? hatch : blank;
      pixels[out + column] = colour;
    }
  }
}

/** Keep in `best` the strongest so far, one row more considered: the tight loop of it all. */
function gatherRow(
  weights: Float32Array,
  start: number,
  columns: Int32Array,
  best: Float32Array,
  signed: boolean,
) {
  for (let column = 0; column < best.length; column++) {
    let strongest = best[column];
    const end = start + columns[2 * column + 1];
    if (signed) {
      for (let at = start + columns[2 * column]; at < end; at++) {
        if (Math.abs(weights[at]) > Math.abs(strongest)) strongest = weights[at];
      }
    } else {
      for (let at = start + columns[2 * column]; at < end; at++)
        if (weights[at] > strongest) strongest = weights[at];
    }
    best[column] = strongest;
  }
}

function openRow(masked: Uint8Array, start: number, columns: Int32Array, open: Uint8Array) {
  for (let column = 0; column < open.length; column++) {
    for (let col = columns[2 * column]; col < columns[2 * column + 1]; col++)
      open[column] |= 1 - masked[start + col];
  }
}

/** Paint one thumbnail, `rows` by `cols` bytes from `offset`, into a rectangle of `pixels`. */
export function paintThumbnail(
  { values, rows, cols }: { values: Uint8Array; rows: number; cols: number },
  offset: number,
  signed: boolean | undefined,
  pixels: Uint32Array,
  stride: number,
  { left, top, width, height }: { left: number; top: number; width: number; height: number },
  ramp: Uint32Array,
) {
  const columns = spans(cols, width);
  const lines = spans(rows, height);
  const middle = signed ? 128 : 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      let strongest = middle;
      for (let row = lines[2 * y]; row < lines[2 * y + 1]; row++) {
        for (let col = columns[2 * x]; col < columns[2 * x + 1]; col++) {
          const value = values[offset + row * cols + col];
          if (Math.abs(value - middle) > Math.abs(strongest - middle)) strongest = value;
        }
      }
      pixels[(top + y) * stride + left + x] = ramp[strongest];
    }
  }
}
