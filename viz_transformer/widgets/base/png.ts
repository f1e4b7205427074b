// Pictures that Python drew.

/** The bytes of a PNG file as a data URL, the only address that an exported page allows. */
export function pngAddress({ buffer, byteOffset, byteLength }: DataView) {
  const view = new Uint8Array(buffer, byteOffset, byteLength);
  const pieces = [];
  for (let at = 0; at < view.length; at += 8192) {
    pieces.push(String.fromCharCode(...view.subarray(at, at + 8192)));
  }
  return `data:image/png;base64,${btoa(pieces.join(""))}`;
}
