// Small helpers for drawing on canvas.

/**
 * Give a canvas a size, sharp on any screen; returns its cleared context. Width and height are in
 * units of `scale` CSS pixels, and so is all that is drawn: text grows with it.
 */
export function fitCanvas(canvas, width, height, scale = 1) {
  const ratio = pixelRatio() * scale;
  const [deviceWidth, deviceHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== deviceWidth) canvas.width = deviceWidth;
  if (canvas.height !== deviceHeight) canvas.height = deviceHeight;
  // Whole pixels of the screen: else the browser would stretch the picture, and blur its text.
  canvas.style.width = `${deviceWidth / pixelRatio()}px`;
  canvas.style.height = `${deviceHeight / pixelRatio()}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.direction = "ltr"; // so that "left" and "right" keep their meaning; a token is its own line
  context.textBaseline = "middle";
  return context;
}

export function pixelRatio() {
  return globalThis.devicePixelRatio || 1;
}

/** A function that measures text in `font`, remembering what it has measured. */
export function measurer(font) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = font;
  const known = new Map();
  return (text) => {
    if (!known.has(text)) known.set(text, context.measureText(text).width);
    return known.get(text);
  };
}

/** Write one piece of text, on a patch of the colour `behind`, or underlined in that of `marked`. */
export function write(
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
    context.fillStyle = behind || marked;
    if (behind) context.fillRect(left - 3, y - half, width + 6, 2 * half);
    else context.fillRect(left, y + half - 1, width, 2.5);
  }
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** Outline a box, drawn inside its edges. */
export function outline(context, x, y, width, height, colour, thickness) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(x + thickness / 2, y + thickness / 2, width - thickness, height - thickness);
}

/** A pointer event's place inside an element, in CSS pixels. */
export function placeIn(element, event) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
