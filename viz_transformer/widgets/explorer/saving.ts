// Files of what is shown: the picture as PNG or SVG, the weights as CSV.

import type { Room } from "./room.ts";
import type { Snapshot } from "./snapshot.ts";
import { SvgContext } from "./svg_context.ts";

function offer(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

/** Save the picture on the stage. */
export function savePicture({ theme, place }: Room): void {
  const canvas = place?.querySelector("canvas");
  if (!canvas) return;
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [canvas.width, canvas.height];
  const context = sheet.getContext("2d")!;
  context.fillStyle = theme.roles.paper || "white"; // a canvas has no ground of its own
  context.fillRect(0, 0, sheet.width, sheet.height);
  context.drawImage(canvas, 0, 0);
  sheet.toBlob((blob) => blob && offer("attention.png", blob));
}

/** Save the picture on the stage as it draws itself on another paper. */
export function saveDrawing(room: Room): void {
  const canvas = room.place?.querySelector("canvas");
  if (!canvas) return;
  const measuring = document.createElement("canvas").getContext("2d")!;
  const paper = new SvgContext(canvas, (text, font) => {
    measuring.font = font;
    return measuring.measureText(text).width;
  });
  Object.defineProperty(canvas, "getContext", { value: () => paper, configurable: true });
  try {
    room.memo.clear(); // all is drawn
    room.draw();
  } finally {
    Reflect.deleteProperty(canvas, "getContext");
    room.memo.clear();
  }
  room.frame.redraw();
  const svg = paper.svg(room.theme.roles.paper || "white");
  offer("attention.svg", new Blob([svg], { type: "image/svg+xml" }));
}

/** The weights as lines of CSV: a query, its keys in order. */
export function csvOf({ shown }: Pick<Snapshot, "shown">): string {
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const { rows, cols, queries, keys, weights } = shown;
  const lines = [["", ...keys].map(cell).join(",")];
  for (let row = 0; row < rows; row++) {
    const own = Array.from(weights!.subarray(row * cols, (row + 1) * cols), (weight) => String(weight));
    lines.push([cell(queries[row]), ...own].join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** Save the weights of the chosen head. */
export function saveTable(snapshot: Snapshot): void {
  if (snapshot.shown.weights) offer("attention.csv", new Blob([csvOf(snapshot)], { type: "text/csv" }));
}
