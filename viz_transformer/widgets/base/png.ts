// Pictures that Python drew.

/** The bytes of a PNG file as a data URL, the only address that an exported page allows. */
export function pngAddress(bytes: Pick<DataView, "buffer" | "byteOffset" | "byteLength">): string {
  const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces: string[] = [];
  for (let at = 0; at < view.length; at += 8192) {
    pieces.push(String.fromCharCode(...view.subarray(at, at + 8192)));
  }
  return `data:image/png;base64,${btoa(pieces.join(""))}`;
}
