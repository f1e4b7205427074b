// What bytes hold: attention weights, numbers and pictures; and the cells beneath each pixel of a picture.

let halves: Float32Array | null = null;

/** The value of each of the 65,536 bit patterns of an IEEE 754 half-precision float. */
export function halfTable() {
  if (halves) return halves;
  halves = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const size =
      exponent === 0
        ? fraction * 2 ** -24
        : exponent === 31
          ? fraction
            ? NaN
            : Infinity
          : (1 + fraction / 1024) * 2 ** (exponent - 15);
    halves[bits] = bits & 0x8000 ? -size : size;
  }
  return halves;
}

/** Little-endian bytes (a DataView) of dtype "float16" or "float32", as a Float32Array. */
export function decodeWeights(bytes: DataView, dtype: string) {
  if (dtype === "float32") return numbersOf(bytes, Float32Array);
  if (dtype !== "float16") throw new TypeError(`unknown dtype ${dtype}`);
  const table = halfTable();
  const bits = numbersOf(bytes, Uint16Array);
  const weights = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) weights[i] = table[bits[i]];
  return weights;
}

/** Decoded weights by the part of a message that holds them. Kept in it, they would be saved with a notebook. */
const decodedWeights = new WeakMap<object, Float32Array>();

/** The `weights` of a part of a message, in its `dtype`, decoded when they are first asked for. */
export function weightsIn(part: { weights: DataView; dtype: string }) {
  const weights = decodedWeights.get(part) ?? decodeWeights(part.weights, part.dtype);
  decodedWeights.set(part, weights);
  return weights;
}

/** The little-endian numbers in the bytes of a message; these start at any offset, and typed arrays want theirs aligned. */
export function numbersOf<T>(
  { buffer, byteOffset, byteLength }: DataView,
  Type: new (buffer: ArrayBuffer) => T,
): T {
  return new Type((buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength));
}

/** A row of a table of little-endian float32, `width` numbers. */
export const float32Row = ({ buffer, byteOffset }: DataView, row: number, width: number): number[] =>
  Array.from(numbersOf(new DataView(buffer, byteOffset + 4 * row * width, 4 * width), Float32Array));

/**
 * For each of `size` pixels, the first cell beneath it and the one after the last; the pixels
 * begin at `start` of the `whole` that show all cells. No cell is beneath two where pixels are few.
 */
export function spans(cells: number, size: number, whole = size, start = 0) {
  const bounds = new Int32Array(2 * size);
  for (let pixel = 0; pixel < size; pixel++) {
    const first = Math.min(cells - 1, Math.floor(((start + pixel) * cells) / whole));
    bounds[2 * pixel] = first;
    bounds[2 * pixel + 1] =
      whole >= cells ? first + 1 : Math.min(cells, Math.floor(((start + pixel + 1) * cells) / whole));
  }
  return bounds;
}

/** The bytes of a PNG file as a data URL, the only address that an exported page allows. */
export function pngAddress(bytes: Pick<DataView, "buffer" | "byteOffset" | "byteLength">): string {
  const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces: string[] = [];
  for (let at = 0; at < view.length; at += 8192) {
    pieces.push(String.fromCharCode(...view.subarray(at, at + 8192)));
  }
  return `data:image/png;base64,${btoa(pieces.join(""))}`;
}
