// Drawing on canvas: size, text, boxes, and where a pointer is.

import type { Theme } from "./colour.ts";

/**
 * Give a canvas a size that is sharp on any screen, and return its cleared context. Width and height
 * are in units of `scale` CSS pixels, and so is all that is drawn: text grows with it.
 */
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number, scale = 1) {
  const ratio = pixelRatio(canvas) * scale;
  const [deviceWidth, deviceHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== deviceWidth) canvas.width = deviceWidth;
  if (canvas.height !== deviceHeight) canvas.height = deviceHeight;
  // Whole pixels of the screen: else the browser would stretch the picture, and blur its text.
  canvas.style.width = `${deviceWidth / pixelRatio(canvas)}px`;
  canvas.style.height = `${deviceHeight / pixelRatio(canvas)}px`;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.direction = "ltr"; // so that "left" and "right" keep their meaning; a token is its own line
  context.textBaseline = "middle";
  return context;
}

/** How many pixels of the screen one CSS pixel of an element takes, or one of the page's own. */
export function pixelRatio(element?: Element) {
  return (globalThis.devicePixelRatio || 1) * (element ? zoomOf(element) : 1);
}

/** How much larger an element is shown than it is laid out, as by a tour that is presented. */
export function zoomOf(element: Element): number {
  return (element as { currentCSSZoom?: number }).currentCSSZoom ?? 1;
}

/** A function that measures text in `font` and caches the widths. */
export function textMeasurer(font: string): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d")!;
  context.font = font;
  const known = new Map<string, number>();
  return (text) => {
    const width = known.get(text) ?? context.measureText(text).width;
    known.set(text, width);
    return width;
  };
}

export interface TextStyle {
  font: string;
  colour: string;
  align?: "left" | "center" | "right";
  baseline?: CanvasTextBaseline;
  /** Colour of a patch behind the text. */
  behind?: string;
  /** Colour of a line under the text. */
  marked?: string | false;
}

/** Draw one piece of text, on a patch of the colour `behind`, or underlined in that of `marked`. */
export function drawText(
  context: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  { font, colour, align = "left", baseline = "middle", behind, marked }: TextStyle,
) {
  context.font = font;
  context.textAlign = align;
  context.textBaseline = baseline;
  if (behind || marked) {
    const { width } = context.measureText(text);
    const left = x - { left: 0, center: width / 2, right: width }[align];
    const half = parseFloat(/[\d.]+px/.exec(font)![0]) * 0.62;
    if (behind) {
      context.fillStyle = behind;
      context.fillRect(left - 3, y - half, width + 6, 2 * half);
    } else if (marked) {
      context.fillStyle = marked;
      context.fillRect(left, y + half - 1, width, 2.5);
    }
  }
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** Left, top, width and height. */
export type Box = readonly [left: number, top: number, width: number, height: number];

/** Stroke a box, inside its edges. */
export function strokeBox(
  context: CanvasRenderingContext2D,
  [x, y, width, height]: Box,
  colour: string,
  thickness: number,
) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(x + thickness / 2, y + thickness / 2, width - thickness, height - thickness);
}

/** A box that is larger by some pixels on each side. */
export const around = ([x, y, width, height]: Box, by: number): Box => [
  x - by,
  y - by,
  width + 2 * by,
  height + 2 * by,
];

/** Outline what is chosen, whatever the colours beneath: in ink, with the page's colour on either side. */
export function outlineChosen(
  context: CanvasRenderingContext2D,
  box: Box,
  theme: Pick<Theme, "accent" | "background">,
  thickness: number,
) {
  strokeBox(context, around(box, 1), theme.background, thickness + 2);
  strokeBox(context, box, theme.accent, thickness);
}

/** Make the path of a box with round corners. */
export function roundBox(context: CanvasRenderingContext2D, box: Box, radius: number): void {
  context.beginPath();
  context.roundRect(...box, radius);
}

/** Make a canvas of one pixel for each cell, given as the words of an ImageData; a style sheet stretches it. */
export function paintPixels(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  wordAt: (cell: number) => number,
): void {
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let cell = 0; cell < pixels.length; cell++) pixels[cell] = wordAt(cell);
  Object.assign(canvas, { width, height });
  canvas.getContext("2d")!.putImageData(image, 0, 0);
}

/** A pointer event's position inside an element, [x, y] in CSS pixels. */
export function pointerPosition(element: Element, event: MouseEvent): [number, number] {
  const box = element.getBoundingClientRect();
  const zoom = zoomOf(element);
  return [(event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom];
}
