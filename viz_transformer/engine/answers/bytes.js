// Arrays in a reply, as a view gets them from the kernel too.

/**
 * An array's own bytes, little-endian, in C order.
 *
 * @param {Float32Array | Float64Array | Uint8Array} array
 */
export function bytesOf({ buffer, byteOffset, byteLength }) {
  return new DataView(buffer, byteOffset, byteLength);
}
