// Small helpers for drawing on canvas.

/** Give a canvas a size in CSS pixels, sharp on any screen; returns its cleared context. */
export function fitCanvas(canvas, width, height) {
  const ratio = pixelRatio();
  const [deviceWidth, deviceHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== deviceWidth) canvas.width = deviceWidth;
  if (canvas.height !== deviceHeight) canvas.height = deviceHeight;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
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

/** Write one piece of text. */
export function write(context, text, x, y, { font, colour, align = "left", baseline = "middle" }) {
  context.font = font;
  context.fillStyle = colour;
  context.textAlign = align;
  context.textBaseline = baseline;
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
