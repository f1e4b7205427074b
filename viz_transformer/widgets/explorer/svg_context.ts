// What a picture draws on a canvas, as SVG: the part of a canvas's context that the pictures use.

type Matrix = [number, number, number, number, number, number];

/** What `save` keeps. */
const KEPT = [
  "fillStyle",
  "strokeStyle",
  "lineWidth",
  "font",
  "textAlign",
  "textBaseline",
  "globalAlpha",
  "matrix",
  "clipped",
] as const;
const ANCHORS = { left: "start", center: "middle", right: "end" };
const LINES = { middle: "central", alphabetic: "auto", top: "hanging", bottom: "text-after-edge" };
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as it may stand in SVG; characters that XML forbids are left out. */
const escaped = (text: string) =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what XML forbids
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udfff](?![\udc00-\udfff])/gu, "")
    .replace(/[&<>"]/g, (letter) => ENTITIES[letter] ?? "");

const number = (value: number) => String(Math.round(value * 100) / 100);

export class SvgContext {
  fillStyle = "black";
  strokeStyle = "black";
  lineWidth = 1;
  font = "10px sans-serif";
  textAlign: keyof typeof ANCHORS = "left";
  textBaseline: keyof typeof LINES = "alphabetic";
  globalAlpha = 1;
  direction = "ltr";
  imageSmoothingEnabled = true;
  matrix: Matrix = [1, 0, 0, 1, 0, 0];
  /** The clip path that holds, if there is one. */
  clipped = "";
  #kept: Partial<SvgContext>[] = [];
  #path = "";
  #parts: string[] = [];
  #clips = 0;
  readonly canvas;
  readonly #measure;

  /** In place of a canvas of so many pixels; `measure` is the width of a text in a font. */
  constructor(canvas: { width: number; height: number }, measure: (text: string, font: string) => number) {
    this.canvas = canvas;
    this.#measure = measure;
  }

  /** The drawing, on a ground of a colour. */
  svg(ground: string): string {
    const { width, height } = this.canvas;
    const size = `width="${number(width)}" height="${number(height)}"`;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${number(width)} ${number(height)}">`,
      `<rect ${size} fill="${escaped(ground)}"/>`,
      ...this.#parts,
      "</svg>",
    ].join("\n");
  }

  save() {
    this.#kept.push(Object.fromEntries(KEPT.map((name) => [name, this[name]])));
  }
  restore() {
    Object.assign(this, this.#kept.pop());
  }
  setTransform(...matrix: Matrix) {
    this.matrix = matrix;
  }
  #transform([a, b, c, d, e, f]: Matrix) {
    const [A, B, C, D, E, F] = this.matrix;
    const turned = [A * a + C * b, B * a + D * b, A * c + C * d, B * c + D * d] as const;
    this.matrix = [...turned, A * e + C * f + E, B * e + D * f + F];
  }
  translate(x: number, y: number) {
    this.#transform([1, 0, 0, 1, x, y]);
  }
  rotate(angle: number) {
    this.#transform([Math.cos(angle), Math.sin(angle), -Math.sin(angle), Math.cos(angle), 0, 0]);
  }

  get #placed() {
    return `matrix(${this.matrix.map((value) => value.toFixed(4)).join(" ")})`;
  }

  #write(tag: string, attributes: Record<string, string | number>, inside = "") {
    const all = { ...attributes, transform: this.#placed, opacity: this.globalAlpha };
    const written = Object.entries(all).map(
      ([name, value]) => `${name}="${typeof value === "number" ? number(value) : escaped(value)}"`,
    );
    const part = `<${tag} ${written.join(" ")}>${inside}</${tag}>`;
    this.#parts.push(this.clipped ? `<g clip-path="url(#${this.clipped})">${part}</g>` : part);
  }

  clearRect() {}
  beginPath() {
    this.#path = "";
  }
  moveTo(x: number, y: number) {
    this.#draw("M", x, y);
  }
  lineTo(x: number, y: number) {
    this.#draw("L", x, y);
  }
  bezierCurveTo(...points: number[]) {
    this.#draw("C", ...points);
  }
  #draw(letter: string, ...values: number[]) {
    this.#path += letter + values.map(number).join(" ");
  }
  rect(x: number, y: number, width: number, height: number) {
    this.#path += `M${number(x)} ${number(y)}h${number(width)}v${number(height)}h${number(-width)}Z`;
  }
  roundRect(x: number, y: number, width: number, height: number, radius: number) {
    const r = Math.min(radius, width / 2, height / 2);
    const [across, down] = [width - 2 * r, height - 2 * r].map(number);
    const turn = (dx: number, dy: number) => `a${number(r)} ${number(r)} 0 0 1 ${number(dx)} ${number(dy)}`;
    this.#path += `M${number(x + r)} ${number(y)}h${across}${turn(r, r)}v${down}${turn(-r, r)}h-${across}${turn(-r, -r)}v-${down}${turn(r, -r)}Z`;
  }
  /** A whole circle: no picture draws a part of one. */
  arc(x: number, y: number, radius: number) {
    const [r, twice] = [number(radius), number(2 * radius)];
    this.#path += `M${number(x - radius)} ${number(y)}a${r} ${r} 0 1 1 ${twice} 0a${r} ${r} 0 1 1 -${twice} 0Z`;
  }
  fill() {
    this.#write("path", { d: this.#path, fill: this.fillStyle });
  }
  stroke() {
    this.#write("path", { d: this.#path, ...this.#stroked });
  }
  get #stroked() {
    return { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth };
  }
  clip() {
    const within = this.clipped ? ` clip-path="url(#${this.clipped})"` : "";
    this.clipped = `clip${++this.#clips}`;
    const path = `<path d="${this.#path}" transform="${this.#placed}"/>`;
    this.#parts.push(`<clipPath id="${this.clipped}"${within}>${path}</clipPath>`);
  }
  fillRect(x: number, y: number, width: number, height: number) {
    this.#write("rect", { x, y, width, height, fill: this.fillStyle });
  }
  strokeRect(x: number, y: number, width: number, height: number) {
    this.#write("rect", { x, y, width, height, ...this.#stroked });
  }
  measureText(text: string) {
    return { width: this.#measure(text, this.font) };
  }
  fillText(text: string, x: number, y: number) {
    const anchor = { "text-anchor": ANCHORS[this.textAlign], "dominant-baseline": LINES[this.textBaseline] };
    const style = `font: ${this.font}; white-space: pre`;
    this.#write("text", { x, y, style, fill: this.fillStyle, ...anchor }, escaped(text));
  }
  /** With five arguments the whole of another canvas, with nine a part of it. */
  drawImage(image: HTMLCanvasElement, ...box: number[]) {
    const [x, y, width, height] = box.slice(-4) as [number, number, number, number];
    const part = box.length > 4 ? cut(image, box.slice(0, 4) as [number, number, number, number]) : image;
    const style = this.imageSmoothingEnabled ? "" : "image-rendering: pixelated";
    this.#write("image", { x, y, width, height, href: part.toDataURL(), preserveAspectRatio: "none", style });
  }
}

function cut(image: HTMLCanvasElement, [x, y, width, height]: [number, number, number, number]) {
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [Math.max(1, Math.round(width)), Math.max(1, Math.round(height))];
  sheet.getContext("2d")!.drawImage(image, x, y, width, height, 0, 0, sheet.width, sheet.height);
  return sheet;
}
