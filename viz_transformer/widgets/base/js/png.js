// Pictures that Python drew.

/**
 * The bytes of a PNG file as a data URL, the only address that an exported page allows.
 *
 * @param {{buffer: ArrayBufferLike, byteOffset: number, byteLength: number}} bytes
 */
export function pngAddress(bytes) {
  const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces = [];
  for (let at = 0; at < view.length; at += 8192) {
    pieces.push(String.fromCharCode(...view.subarray(at, at + 8192)));
  }
  return `data:image/png;base64,${btoa(pieces.join(""))}`;
}
