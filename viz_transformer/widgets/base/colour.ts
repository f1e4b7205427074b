// The colour scales of attention weights and of differences, and the colours of the page.

import shared from "../../shared.json" with { type: "json" };
import { textMeasurer } from "./canvas.ts";

// Nine stops of equal steps in lightness (OKLab), so that equal differences look equal, in colour
// and in grey. On light pages more is darker, on dark pages more is lighter.
export const STOPS = shared.weights;

// Nine stops for what may be negative: brown below 0, green above, no colour at 0. For every kind of
// colour blindness the two differ, in hue or in lightness.
export const SIGNED = shared.signed;

// A colour for each label of a head: those whose colours are fixed, and another one has one of the same.
// Their names stand beside them, so that nobody has to tell twelve hues apart.
const LABEL_NAMES = Object.keys(shared.labels);
const labelsOn = (theme: 0 | 1) => Object.values(shared.labels).map((both) => both[theme]);
export const LABELS = { light: labelsOn(0), dark: labelsOn(1) };

/** Red, green and blue, each 0 to 255. */
export type Rgb = [number, number, number];

/** The colours and fonts of the page around a view, for its canvases. */
export interface Theme {
  name: "light" | "dark";
  /** Of the scale of weights. */
  stops: string[];
  /** The scale of weights as pixels. */
  ramp: Uint32Array;
  /** Of the scale of differences. */
  signedStops: string[];
  signedRamp: Uint32Array;
  /** The ends of the scale of what a change has moved. */
  changes: string[];
  /** The colours of heads' labels; see `labelColour`. */
  labels: string[];
  background: string;
  text: string;
  muted: string;
  /** The colour of an outline around what is chosen. */
  accent: string;
  /** The colour of what is written, and of queries. */
  query: string;
  /** The colour of what is read. */
  key: string;
  line: string;
  /** Of the fonts. */
  family: string;
  /** The text size that the view draws at. */
  scale: number;
  /** How much larger the page shows the view than it is laid out. */
  zoom: number;
  /** Width of a text in pixels. */
  measure: (text: string, size: number, bold: boolean) => number;
}

/** The colour of a weight from 0 to 1. */
export function colourOf(weight: number, stops: string[]): Rgb {
  const place = Math.min(1, Math.max(0, weight)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  const [low, high] = [channels(stops[index]), channels(stops[index + 1])];
  const mix = (i: number) => Math.round(low[i] + (high[i] - low[i]) * (place - index));
  return [mix(0), mix(1), mix(2)];
}

/** The colour of a weight, or of a difference from -limit to limit; `limit` is null for weights. */
export function weightColour(value: number, limit: number | null, theme: Theme) {
  return limit === null
    ? colourOf(value, theme.stops)
    : colourOf(0.5 + value / (2 * limit), theme.signedStops);
}

/** The colour of a head's label, the same in every view. */
export function labelColour(name: string, { labels }: Pick<Theme, "labels">) {
  const offset = name.startsWith("offset ") && (name.includes("+") ? "offset +" : "offset -");
  const place = LABEL_NAMES.indexOf(offset || name);
  if (place >= 0) return labels[place];
  let sum = 0;
  for (const character of name) sum = (31 * sum + character.charCodeAt(0)) % 9973;
  return labels[sum % labels.length];
}

/** Black or white on a colour in hexadecimal, whichever reads better. */
export function inkOn(hex: string) {
  return textColourOn(channels(hex));
}

/** 256 colours as the words of an ImageData. */
export function colourRamp(stops: string[]) {
  return Uint32Array.from({ length: 256 }, (_, i) => packPixel(colourOf(i / 255, stops)));
}

/** A colour as the 32-bit word of an ImageData (every browser's machine is little-endian). */
export function packPixel([red, green, blue]: Rgb) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The channels of a colour as a browser reports it: rgb(1, 2, 3). */
export function parseRgb(colour: string): Rgb {
  const [red, green, blue] = colour.match(/[\d.]+/g)!.map(Number);
  return [red, green, blue];
}

/** Black or white, whichever reads better on a colour: at 0.179 both have a contrast of 4.58. */
export function textColourOn([red, green, blue]: Rgb) {
  return luminance([red, green, blue]) > 0.179 ? "#000" : "#fff";
}

/** Relative luminance, 0 to 1 (WCAG 2). */
export function luminance(rgb: Rgb | number[]) {
  const [red, green, blue] = rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Whether an element's background is dark. */
export function isDark(element: HTMLElement) {
  const { backgroundColor } = getComputedStyle(element);
  return luminance(parseRgb(backgroundColor)) < 0.3;
}

/**
 * The colour that a view stands on: the nearest background around it, in whatever page that is, and
 * outside the shadow tree that marimo draws a view in. Where nothing has one, the text's colour tells.
 *
 * @returns rgb(1, 2, 3)
 */
export function backgroundBehind(view: Element): string {
  for (let node = around(view); node; node = around(node)) {
    if (node.matches(".vt-root")) continue; // it stands on the same one
    const [red, green, blue, alpha] = plainColour(getComputedStyle(node).backgroundColor);
    if (alpha > 127) return `rgb(${red}, ${green}, ${blue})`;
  }
  const [red, green, blue] = plainColour(getComputedStyle(around(view) ?? view).color);
  return luminance([red, green, blue]) > 0.5 ? "rgb(20, 22, 28)" : "rgb(255, 255, 255)";
}

/** The four channels of any colour of a style sheet, each 0 to 255: hosts name theirs in many ways. */
function plainColour(colour: string) {
  const pixel = new OffscreenCanvas(1, 1).getContext("2d")!;
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  return pixel.getImageData(0, 0, 1, 1).data;
}

function around(element: Element): Element | null {
  const tree = element.parentNode;
  return element.assignedSlot ?? element.parentElement ?? (tree instanceof ShadowRoot ? tree.host : null);
}

/** The colours and fonts of the page, as its style sheets resolve them. */
export function readTheme(element: HTMLElement): Theme {
  const style = getComputedStyle(element);
  const name = isDark(element) ? "dark" : "light";
  const stops = STOPS[name];
  // A canvas needs the resolved colour: it reads the names of system colours differently.
  const probe = document.createElement("span");
  element.append(probe);
  const value = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const [muted, query, key] = [value("--muted"), value("--query"), value("--key")];
  probe.remove();
  const measures = new Map<string, (text: string) => number>();
  return {
    name,
    stops,
    ramp: colourRamp(stops),
    signedStops: SIGNED[name],
    signedRamp: colourRamp(SIGNED[name]),
    changes: [shared.colours.page, shared.colours.you].map((named) => named[name === "dark" ? 1 : 0]),
    labels: LABELS[name],
    background: style.backgroundColor,
    text: style.color,
    muted,
    accent: style.color,
    query,
    key,
    line: stops[name === "dark" ? 6 : 5],
    family: style.fontFamily,
    scale: 1,
    zoom: 1,
    measure(text, size, bold) {
      const font = `${bold ? 700 : 400} ${size}px ${style.fontFamily}`;
      const measure = measures.get(font) ?? textMeasurer(font);
      measures.set(font, measure);
      return measure(text);
    },
  };
}

/**
 * Call `onChange` when JupyterLab's theme or the system's changes.
 *
 * @returns stops it
 */
export function watchTheme(onChange: () => void): () => void {
  const observer = new MutationObserver(onChange);
  const filter = {
    attributes: true,
    attributeFilter: [
      "class",
      "style",
      "data-jp-theme-light",
      "data-jp-theme-name",
      "data-vscode-theme-id",
      "theme",
    ],
  };
  observer.observe(document.body, filter);
  observer.observe(document.documentElement, filter);
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", onChange);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", onChange);
  };
}

function channels(hex: string): Rgb {
  const at = (start: number) => parseInt(hex.slice(start, start + 2), 16);
  return [at(1), at(3), at(5)];
}

/** The colour of a weight from 0 to 1. */
export const weightRgb = (weight: number, { stops }: Theme): Rgb => colourOf(weight, stops);

/** The colour of a number from -limit to limit. */
export const signedRgb = (value: number, limit: number, { signedStops }: Theme): Rgb =>
  colourOf(0.5 + value / (2 * limit), signedStops);

/** A colour for a style. */
export const css = (rgb: Rgb) => `rgb(${rgb.join(",")})`;

/** The colour of how much a change has moved, from 0 to 1. */
export const changeRgb = (share: number, { changes }: Theme): Rgb => colourOf(share, changes);
