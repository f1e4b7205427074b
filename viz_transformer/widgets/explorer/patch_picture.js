// The picture of a vision model: its patches in their grid, brighter the more a query attends to them, and
// the class token apart.

import { drawText, fitCanvas, strokeBox } from "../base/js/canvas.js";
import { weightColour } from "../base/js/colour.js";
import { shortNumber, visible } from "../base/js/text.js";

const APART = [18, 12, 6, 3]; // sides of a token that is no patch: the first for which there is room
const APART_GAP = 2;
const GAP_APART = 8;
const CAPTION = 36;

/**
 * @typedef {object} Patches which tokens are patches
 * @property {number} rows
 * @property {number} cols
 * @property {number} start the first patch
 * @property {number} tokens how many tokens there are, patches and others
 * @property {boolean} ofQueries whether queries are these tokens too
 *
 * @typedef {object} PictureLayout
 * @property {Patches} patches
 * @property {number} left of the grid
 * @property {number} width of the grid
 * @property {number} height of the grid
 * @property {number} apart side of a token that is no patch
 * @property {number} perColumn how many of these stand in a column
 */

/**
 * The patches among the keys of a kind, or null where its keys are not the picture, or where patches are
 * hidden or merged into words.
 *
 * @param {{kind: string, cols: number}} entry
 * @param {number[]} grid rows, columns, first patch, number of keys, 0 for the source or 1; or empty
 * @param {{at: Int32Array}} keyAxis where each key is shown
 * @returns {Patches | null}
 */
export function patchesOf({ kind, cols: keys }, [rows, cols, start, tokens, side], { at }) {
  if (!rows || keys !== tokens || side !== Number(kind === "decoder")) return null;
  const last = start + rows * cols - 1;
  if (at[start] < 0 || at[last] - at[start] !== last - start) return null;
  return { rows, cols, start, tokens, ofQueries: kind !== "cross" };
}

/** How many tokens are no patches. */
export function countApart({ rows, cols, tokens }) {
  return tokens - rows * cols;
}

/** The token at a place among those that are no patches, which may stand before and after them. */
export function tokenApart({ rows, cols, start }, place) {
  return place < start ? place : place + rows * cols;
}

/** The place of a token in the grid, in reading order; null for one that is no patch. */
function placeInGrid({ rows, cols, start }, token) {
  return token >= start && token < start + rows * cols ? token - start : null;
}

/**
 * Where the grid stands: as large as the room, in the shape of the picture, beside the tokens that are
 * no patches.
 *
 * @param {Patches} patches
 * @param {{width: number, height: number}} room
 * @param {{width?: number, height?: number}} image
 * @returns {PictureLayout}
 */
export function pictureLayout(patches, room, image) {
  const count = countApart(patches);
  const shape = image.width ? image.width / image.height : patches.cols / patches.rows;
  /** @type {PictureLayout} */
  let layout;
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
  return layout;
}

/** The token at a point of the picture, or null. */
export function patchAt({ patches, left, width, height, apart, perColumn }, x, y) {
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
export function movePatch(patches, token, key) {
  const { rows, cols, start, tokens } = patches;
  if (token === null) return 0;
  const inGrid = placeInGrid(patches, token) !== null;
  const [after, down] = [start + rows * cols, inGrid ? cols : 1];
  const to = token + { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -down, ArrowDown: down }[key];
  if (inGrid && key === "ArrowUp" && to < start) return start ? start - 1 : token;
  if (inGrid && key === "ArrowDown" && to >= after) return after < tokens ? after : token;
  return Math.min(tokens - 1, Math.max(0, to));
}

/** A token of the picture in words: "patch in row 2, column 5", or its own name. */
export function patchInWords(patches, token, name) {
  const place = placeInGrid(patches, token);
  if (place === null) return visible(name);
  return `patch in row ${Math.floor(place / patches.cols)}, column ${place % patches.cols}`;
}

/**
 * The weights that a query gives to the tokens of the picture; 0 for those that are hidden.
 *
 * @param {{weights: Float32Array | null, cols: number, keyAxis: {at: Int32Array}}} shown
 * @param {number} query in the picture's own indices
 */
export function weightsOnPatches({ weights, cols, keyAxis }, query) {
  return Float32Array.from(keyAxis.at, (at) => (at < 0 || !weights ? 0 : weights[query * cols + at]));
}

/** An image as the page draws it, from RGB bytes. */
export function imageCanvas({ width, height, pixels }) {
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [width, height];
  const context = sheet.getContext("2d");
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    for (let channel = 0; channel < 3; channel++)
      image.data[4 * i + channel] = pixels.getUint8(3 * i + channel);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return sheet;
}

/**
 * Draw the picture: its patches in full where most of the query's attention goes, and faded elsewhere.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {PictureLayout} layout
 * @param {object} marks
 * @param {Float32Array} marks.weights of every token
 * @param {number | null} marks.query the token that attends, where it is a patch or a token apart
 * @param {number | null} marks.key
 * @param {number | null} marks.limit of differences; null for weights
 * @param {string} marks.caption
 * @param {HTMLCanvasElement | null} image
 * @param {import("../base/js/colour.js").Theme} theme
 */
export function drawPicture(canvas, layout, { weights, query, key, limit, caption }, image, theme) {
  const { patches, left, width, height, apart, perColumn } = layout;
  const { rows, cols, start } = patches;
  const context = fitCanvas(canvas, left + width, height + CAPTION, theme.scale);
  const most = weights.reduce((best, weight) => Math.max(best, Math.abs(weight)), 0) || 1;
  const boxOf = (token) => {
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
  if (image) context.drawImage(image, left, 0, width, height);
  weights.forEach((weight, token) => {
    const [x, y, across, down] = boxOf(token);
    const share = Math.abs(weight) / most;
    const onImage = image && placeInGrid(patches, token) !== null;
    if (onImage && limit === null) {
      context.globalAlpha = 0.86 * (1 - share);
      context.fillStyle = theme.background;
    } else {
      const scaled = limit === null ? share : weight;
      context.globalAlpha = onImage ? 0.7 : 1;
      context.fillStyle = `rgb(${weightColour(scaled, limit, theme).join()})`;
    }
    context.fillRect(x, y, across, down);
  });
  context.globalAlpha = 1;
  for (let place = 0; place < countApart(patches); place++) {
    const [x, y, across, down] = boxOf(tokenApart(patches, place));
    strokeBox(context, x, y, across, down, theme.muted, 1);
  }
  const outline = (token, colour) => {
    const [x, y, across, down] = boxOf(token);
    strokeBox(context, x - 1, y - 1, across + 2, down + 2, colour, 2.5);
  };
  if (key !== null) outline(key, theme.text);
  if (query !== null) outline(query, theme.accent);
  const [first, second] = caption.split("\n");
  const style = { font: `12px ${theme.family}`, colour: theme.text };
  drawText(context, first, 0, height + 12, style);
  if (second) drawText(context, second, 0, height + 28, { ...style, colour: theme.muted });
}

/** What is said under the picture, in two lines. */
export function pictureCaption(patches, weights, query, name, apartName = "tokens apart") {
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
