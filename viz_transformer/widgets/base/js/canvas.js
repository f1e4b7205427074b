// Drawing on canvas: size, text, boxes, and where a pointer is.

/**
 * Give a canvas a size that is sharp on any screen, and return its cleared context. Width and height
 * are in units of `scale` CSS pixels, and so is all that is drawn: text grows with it.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function fitCanvas(canvas, width, height, scale = 1) {
  const ratio = pixelRatio(canvas) * scale;
  const [deviceWidth, deviceHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== deviceWidth) canvas.width = deviceWidth;
  if (canvas.height !== deviceHeight) canvas.height = deviceHeight;
  // Whole pixels of the screen: else the browser would stretch the picture, and blur its text.
  canvas.style.width = `${deviceWidth / pixelRatio(canvas)}px`;
  canvas.style.height = `${deviceHeight / pixelRatio(canvas)}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.direction = "ltr"; // so that "left" and "right" keep their meaning; a token is its own line
  context.textBaseline = "middle";
  return context;
}

/**
 * How many pixels of the screen one CSS pixel of an element takes, or one of the page's own.
 *
 * @param {Element} [element]
 */
export function pixelRatio(element) {
  return (globalThis.devicePixelRatio || 1) * (element ? zoomOf(element) : 1);
}

/**
 * How much larger an element is shown than it is laid out, as by a tour that is presented.
 *
 * @param {Element} element
 * @returns {number}
 */
export function zoomOf(element) {
  return /** @type {any} */ (element).currentCSSZoom ?? 1;
}

/**
 * A function that measures text in `font` and caches the widths.
 *
 * @param {string} font
 * @returns {(text: string) => number}
 */
export function textMeasurer(font) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = font;
  const known = new Map();
  return (text) => {
    if (!known.has(text)) known.set(text, context.measureText(text).width);
    return known.get(text);
  };
}

/**
 * @typedef {object} TextStyle
 * @property {string} font
 * @property {string} colour
 * @property {"left" | "center" | "right"} [align]
 * @property {CanvasTextBaseline} [baseline]
 * @property {string} [behind] colour of a patch behind the text
 * @property {string | false} [marked] colour of a line under the text
 */

/**
 * Draw one piece of text, on a patch of the colour `behind`, or underlined in that of `marked`.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {TextStyle} style
 */
export function drawText(
  context,
  text,
  x,
  y,
  { font, colour, align = "left", baseline = "middle", behind, marked },
) {
  context.font = font;
  context.textAlign = align;
  context.textBaseline = baseline;
  if (behind || marked) {
    const { width } = context.measureText(text);
    const left = x - { left: 0, center: width / 2, right: width }[align];
    const half = parseFloat(/[\d.]+px/.exec(font)[0]) * 0.62;
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

/** Stroke a box, inside its edges. */
export function strokeBox(context, x, y, width, height, colour, thickness) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(x + thickness / 2, y + thickness / 2, width - thickness, height - thickness);
}

/**
 * Outline what is chosen, whatever the colours beneath: in ink, with the page's colour on either side.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number, number, number]} box left, top, width and height
 * @param {Pick<import("./colour.js").Theme, "accent" | "background">} theme
 * @param {number} thickness
 */
export function outlineChosen(context, [x, y, width, height], theme, thickness) {
  strokeBox(context, x - 1, y - 1, width + 2, height + 2, theme.background, thickness + 2);
  strokeBox(context, x, y, width, height, theme.accent, thickness);
}

/**
 * A pointer event's position inside an element, [x, y] in CSS pixels.
 *
 * @param {Element} element
 * @param {MouseEvent} event
 * @returns {[number, number]}
 */
export function pointerPosition(element, event) {
  const box = element.getBoundingClientRect();
  const zoom = zoomOf(element);
  return [(event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom];
}
