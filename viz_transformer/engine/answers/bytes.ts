// Arrays in a reply, as a view gets them from the kernel too.

/** An array's own bytes, little-endian, in C order. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Float64Array | Uint8Array) {
  return new DataView(buffer, byteOffset, byteLength);
}
