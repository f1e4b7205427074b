// The picture of a vision model: its patches in their grid, brighter the more a query attends to them, and
// the class token apart.

import { around, type Box, fitCanvas, strokeBox } from "../base/canvas.ts";
import { weightColour, type Theme } from "../base/colour.ts";
import { shortNumber, visible } from "../base/text.ts";

const APART = [18, 12, 6, 3]; // sides of a token that is no patch: the first for which there is room
const APART_GAP = 2;
const GAP_APART = 8;
const CAPTION = 52; // of three lines
const SHADE = 0.3; // how far the picture lightens and darkens colours at most
const HATCH = 7; // from one line over a masked patch to the next

/** Which tokens are patches. */
export interface Patches {
  rows: number;
  cols: number;
  /** The first patch. */
  start: number;
  /** How many tokens there are, patches and others. */
  tokens: number;
  /** Whether queries are these tokens too. */
  ofQueries: boolean;
}

export interface PictureLayout {
  patches: Patches;
  left: number;
  width: number;
  height: number;
  /** Side of a token that is no patch. */
  apart: number;
  /** How many of these stand in a column. */
  perColumn: number;
}

/**
 * The patches among the keys of a kind, or null where its keys are not the picture.
 *
 * @param grid rows, columns, first patch, number of keys, 0 for the source or 1; or empty
 */
export function patchesOf(
  { kind, cols: keys }: { kind: string; cols: number },
  [rows, cols, start, tokens, side]: number[],
): Patches | null {
  if (!rows || keys !== tokens || side !== Number(kind === "decoder")) return null;
  return { rows, cols, start, tokens, ofQueries: kind !== "cross" };
}

/** How many tokens are no patches. */
export function countApart({ rows, cols, tokens }: Patches) {
  return tokens - rows * cols;
}

/** The token at a place among those that are no patches, which may stand before and after them. */
export function tokenApart({ rows, cols, start }: Patches, place: number) {
  return place < start ? place : place + rows * cols;
}

/** The place of a token in the grid, in reading order; null for one that is no patch. */
function placeInGrid({ rows, cols, start }: Patches, token: number) {
  return token >= start && token < start + rows * cols ? token - start : null;
}

/**
 * Where the grid stands: as large as the room, in the shape of the picture, beside the tokens that are
 * no patches.
 */
export function pictureLayout(
  patches: Patches,
  room: { width: number; height: number },
  image: { width?: number; height?: number },
): PictureLayout {
  const count = countApart(patches);
  const shape = image.width && image.height ? image.width / image.height : patches.cols / patches.rows;
  let layout: PictureLayout | undefined;
  for (const apart of APART) {
    for (let columns = Math.min(count, 1); columns <= count; columns++) {
      const left = columns && columns * (apart + APART_GAP) - APART_GAP + GAP_APART;
      if (left > room.width / 3) break;
      const width = Math.min(room.width - left, (room.height - CAPTION) * shape);
      const height = width / shape;
      const perColumn = Math.max(1, Math.floor((height + APART_GAP) / (apart + APART_GAP)));
      layout = { patches, left, width, height, apart, perColumn };
      if (columns * perColumn >= count) return layout;
    }
  }
  return layout!; // the smallest, where none has room
}

/** The token at a point of the picture, or null. */
export function patchAt(
  { patches, left, width, height, apart, perColumn }: PictureLayout,
  x: number,
  y: number,
) {
  const { rows, cols, start } = patches;
  if (x < left - GAP_APART && y >= 0) {
    const place = Math.floor(x / (apart + APART_GAP)) * perColumn + Math.floor(y / (apart + APART_GAP));
    return y < perColumn * (apart + APART_GAP) && place < countApart(patches)
      ? tokenApart(patches, place)
      : null;
  }
  const [column, row] = [Math.floor(((x - left) / width) * cols), Math.floor((y / height) * rows)];
  return column >= 0 && column < cols && row >= 0 && row < rows ? start + row * cols + column : null;
}

/** The token that an arrow key moves to, from one token of the picture. */
export function movePatch(patches: Patches, token: number | null, key: string) {
  const { rows, cols, start, tokens } = patches;
  if (token === null) return 0;
  const inGrid = placeInGrid(patches, token) !== null;
  const [after, down] = [start + rows * cols, inGrid ? cols : 1];
  const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -down, ArrowDown: down };
  const to = token + steps[key];
  if (inGrid && key === "ArrowUp" && to < start) return start ? start - 1 : token;
  if (inGrid && key === "ArrowDown" && to >= after) return after < tokens ? after : token;
  return Math.min(tokens - 1, Math.max(0, to));
}

/** A token of the picture in words: "patch in row 2, column 5", or its own name. */
export function patchInWords(patches: Patches, token: number, name: string) {
  const place = placeInGrid(patches, token);
  if (place === null) return visible(name);
  return `patch in row ${Math.floor(place / patches.cols)}, column ${place % patches.cols}`;
}

/**
 * An image as the page draws it, from RGB bytes: as it is; or, to lie over colours with signs, as a shade that
 * darkens and lightens them and leaves their hue: clear where it is medium grey.
 */
export function imageCanvas(
  { width, height, pixels }: { width: number; height: number; pixels: DataView },
  isShade: boolean,
) {
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [width, height];
  const context = sheet.getContext("2d")!;
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const rgb = [0, 1, 2].map((channel) => pixels.getUint8(3 * i + channel));
    const light = (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]) / 127.5 - 1; // −1 to 1
    const end = light < 0 ? 0 : 255;
    image.data.set(isShade ? [end, end, end, 255 * SHADE * Math.abs(light)] : [...rgb, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  return sheet;
}

/** Draw the slanted lines of what is masked over a box. */
function hatchBox(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  across: number,
  down: number,
  colour: string,
) {
  context.save();
  context.beginPath();
  context.rect(x, y, across, down);
  context.clip();
  context.beginPath();
  for (let at = HATCH * Math.ceil((x + y) / HATCH); at < x + y + across + down; at += HATCH) {
    context.moveTo(at - y, y);
    context.lineTo(at - y - down, y + down);
  }
  [context.strokeStyle, context.lineWidth] = [colour, 1.4];
  context.stroke();
  context.restore();
}

/**
 * Draw the picture: its patches in full where most of the query's attention to patches goes, and faded
 * elsewhere; blank where the weight is below `least`, and hatched where it is masked.
 *
 * @param marks.weights of every token
 * @param marks.masked of every token
 * @param marks.query the token that attends, where it is a patch or a token apart
 * @param marks.limit of differences; null for weights
 */
export function drawPicture(
  canvas: HTMLCanvasElement,
  layout: PictureLayout,
  marks: {
    weights: Float32Array;
    masked: Uint8Array | undefined;
    least: number;
    query: number | null;
    key: number | null;
    limit: number | null;
  },
  image: HTMLCanvasElement | null,
  theme: Theme,
) {
  const { weights, masked, least, query, key, limit } = marks;
  const { patches, left, width, height, apart, perColumn } = layout;
  const { rows, cols, start } = patches;
  const context = fitCanvas(canvas, left + width, height, theme.scale);
  const most = Math.max(...weights.subarray(start, start + rows * cols)) || 1;
  const boxOf = (token: number): Box => {
    const place = placeInGrid(patches, token);
    if (place === null) {
      const among = token < start ? token : token - rows * cols;
      const column = Math.floor(among / perColumn);
      return [column * (apart + APART_GAP), (among % perColumn) * (apart + APART_GAP), apart, apart];
    }
    const [row, column] = [Math.floor(place / cols), place % cols];
    // Whole pixels: half covered ones would draw a lattice.
    const [x, y] = [left + Math.round((column * width) / cols), Math.round((row * height) / rows)];
    const [end, below] = [
      left + Math.round(((column + 1) * width) / cols),
      Math.round(((row + 1) * height) / rows),
    ];
    return [x, y, end - x, below - y];
  };
  weights.forEach((weight, token) => {
    const [x, y, across, down] = boxOf(token);
    const place = placeInGrid(patches, token);
    const isBlank = masked?.[token] || Math.abs(weight) < least;
    const onImage = image && place !== null && !isBlank;
    const isVeiled = onImage && limit === null;
    const colour = weightColour(limit === null ? weight / most : weight, limit, theme);
    context.fillStyle = isBlank || isVeiled ? theme.background : `rgb(${colour.join()})`;
    context.fillRect(x, y, across, down);
    if (onImage) {
      const [pieceWidth, pieceHeight] = [image.width / cols, image.height / rows];
      const [pieceX, pieceY] = [(place % cols) * pieceWidth, Math.floor(place / cols) * pieceHeight];
      context.drawImage(image, pieceX, pieceY, pieceWidth, pieceHeight, x, y, across, down);
    }
    if (isVeiled) {
      context.globalAlpha = 0.86 * (1 - weight / most);
      context.fillRect(x, y, across, down);
      context.globalAlpha = 1;
    }
    if (masked?.[token]) hatchBox(context, x, y, across, down, theme.muted);
  });
  for (let place = 0; place < countApart(patches); place++) {
    strokeBox(context, boxOf(tokenApart(patches, place)), theme.muted, 1);
  }
  const outline = (token: number, colour: string) => {
    strokeBox(context, around(boxOf(token), 1), colour, 2.5);
  };
  if (key !== null) outline(key, theme.text);
  if (query !== null) outline(query, theme.accent);
}

/** What is said under the picture, in two lines. */
export function pictureCaption(
  patches: Patches,
  weights: Float32Array,
  query: number | null,
  name: string,
  apartName = "tokens apart",
) {
  const { rows, cols, start } = patches;
  const inGrid = weights.slice(start, start + rows * cols);
  const best = inGrid.reduce((at, weight, i) => (Math.abs(weight) > Math.abs(inGrid[at]) ? i : at), 0);
  const who = query === null ? visible(name) : patchInWords(patches, query, name);
  const brightest = `most ${shortNumber(inGrid[best], 2)}, ${patchInWords(patches, start + best, "")}`;
  const count = countApart(patches);
  const apart = weights.reduce((sum, w, token) => sum + (placeInGrid(patches, token) === null ? w : 0), 0);
  const isOnlyApart = count === 1 && query === tokenApart(patches, 0);
  const rest = count && !isOnlyApart ? ` · to ${visible(apartName)} ${shortNumber(apart, 2)}` : "";
  return `From ${who}${rest}\n${brightest}`;
}
