// Weights to pixels: a head as large as wanted, or any window onto it, and thumbnails.

import { spans } from "./weights.js";

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
  { weights, rows, cols, masked = null, limit = null }, pixels, stride,
  { left = 0, top = 0, width, height, across = width, down = height, x = 0, y = 0 },
  { ramp, blank = 0, hatch = 0, period = 7, least = 0 },
) {
  const columns = spans(cols, width, across, x);
  const lines = spans(rows, height, down, y);
  const [scale, middle] = limit === null ? [255, 0] : [127.5 / limit, 127.5];
  for (let line = 0; line < height; line++) {
    const out = (top + line) * stride + left;
    for (let column = 0; column < width; column++) {
      let [strongest, size, open] = [0, 0, false];
      for (let row = lines[2 * line]; row < lines[2 * line + 1]; row++) {
        const start = row * cols;
        for (let col = columns[2 * column]; col < columns[2 * column + 1]; col++) {
          const weight = weights[start + col];
          const far = weight < 0 ? -weight : weight;
          if (far > size) [strongest, size] = [weight, far];
          if (masked !== null && !open && masked[start + col] === 0) open = true;
        }
      }
      const place = strongest * scale + middle + 0.5;
      let colour = ramp[place < 0 ? 0 : place >= 255 ? 255 : place | 0];
      if (size < least) colour = blank;
      if (masked !== null && !open) colour = (x + column + y + line) % period < period / 5 ? hatch : blank;
      pixels[out + column] = colour;
    }
  }
}

/** Paint one thumbnail, `rows` by `cols` bytes from `offset`, into a rectangle of `pixels`. */
export function paintThumbnail({ values, rows, cols }, offset, signed, pixels, stride, left, top, size, ramp) {
  const columns = spans(cols, size);
  const lines = spans(rows, size);
  const middle = signed ? 128 : 0;
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
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
