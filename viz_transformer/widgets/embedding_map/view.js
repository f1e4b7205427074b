// The embedding map: each token a point of a plane; a word that is typed is found, with what is near it.

import { addChart, addLegend, chartPoint } from "../base/js/chart.js";
import { button, element, setText, uniqueId } from "../base/js/controls.js";
import { childrenOf, setAttributes } from "../base/js/svg.js";
import { formatNumber, visible } from "../base/js/text.js";
import { addTextSizeButtons } from "../base/js/text_size.js";
import { createView } from "../base/js/view.js";
import { findTokens, nearest, pointAt, pointBeside, readEmbeddings } from "./neighbours.js";

const ZOOMS = [1, 2, 4, 8];
const HEIGHT = 380; // pixels of the map
const LIST = 250; // pixels beside it for the list of neighbours; style.css has the same
const GROUPS = ["vt-of-plain", "vt-of-query", "vt-of-score", "vt-of-part"];

function render({ model, el }) {
  const view = createView({
    model,
    el,
    name: "embedding-map",
    label: "Map of embeddings",
    traits: ["data", "token", "zoom", "text_size"],
    draw,
  });
  const get = (/** @type {string} */ trait) => model.get(trait);
  const embeddings = readEmbeddings(get("data"));
  const choose = (/** @type {number} */ index) => view.set({ token: embeddings.tokens[index] });
  const controls = element(view.root, "div", "vt-controls");
  const field = addField(view, controls, embeddings, choose);
  const zoom = addZoom(controls, get, view.set);
  addTextSizeButtons(controls, get, view.set);
  const panels = element(view.root, "div", "vt-panels");
  const map = addMap(view, element(panels, "div", "vt-map"), embeddings, choose);
  const list = addList(element(panels, "div", "vt-near"), embeddings, choose);
  const told = element(view.root, "p", "vt-told");
  const [across, up] = embeddings.shares.map((share) => Math.round(100 * share));
  setText(
    told,
    `The two axes keep ${across + up}% of the vectors’ variance (${across}% and ${up}%). ` +
      "The cosines use the whole vectors.",
  );

  function draw({ theme, width: whole, size }) {
    theme.scale = size;
    const width = whole / size;
    const beside = width >= 620;
    panels.dataset.layout = beside ? "beside" : "below";
    const index = embeddings.tokens.indexOf(get("token"));
    const near = nearest(embeddings, index);
    map.draw({ index, near, zoom: get("zoom") }, { width: beside ? width - LIST : width, theme });
    list.draw(index, near);
    field.show(get("token"));
    zoom.show(get("zoom"));
  }

  return () => view.close();
}

/** The field to type a word into; Enter, or a choice from its list, finds it. */
function addField(view, parent, { tokens }, choose) {
  const label = element(parent, "label", "vt-field");
  element(label, "span").textContent = "Find a token";
  const id = uniqueId();
  const input = element(label, "input", "", {
    type: "search",
    list: id,
    spellcheck: "false",
    autocomplete: "off",
    "data-lm-suppress-shortcuts": "true",
  });
  const offered = element(label, "datalist", "", { id });
  const said = element(parent, "span", "vt-message", { role: "status" });
  view.listen(input, "input", () => {
    const found = findTokens(tokens, input.value);
    offered.replaceChildren();
    for (const token of found.slice(0, 12)) element(offered, "option", "", { value: token });
    if (tokens.includes(input.value)) choose(tokens.indexOf(input.value));
    setText(said, "");
  });
  view.listen(input, "keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey) return;
    event.preventDefault();
    const [first] = findTokens(tokens, input.value);
    if (first) choose(tokens.indexOf(first));
    setText(said, first ? "" : `“${input.value.slice(0, 40)}” is not in this vocabulary.`);
  });
  let shown = "";
  function show(/** @type {string} */ token) {
    if (token === shown) return;
    shown = token;
    if (!findTokens([token], input.value).length || document.activeElement !== input) input.value = token;
  }
  return { show };
}

/** Buttons that zoom in on the chosen token and out again. */
function addZoom(parent, get, set) {
  const by = (/** @type {number} */ step) => () =>
    set({ zoom: ZOOMS[Math.min(3, Math.max(0, ZOOMS.indexOf(get("zoom")) + step))] });
  const [out, into] = [button(parent, "−", by(-1)), button(parent, "+", by(1))];
  out.setAttribute("aria-label", "zoom out");
  into.setAttribute("aria-label", "zoom in");
  function show(/** @type {number} */ zoom) {
    out.disabled = zoom === ZOOMS[0];
    into.disabled = zoom === ZOOMS.at(-1);
  }
  return { show };
}

/** The map: all points, the chosen one, and lines to its nearest; moved by pointer and by arrow keys. */
function addMap(view, parent, embeddings, choose) {
  const chart = addChart(parent, "Tokens as points; the arrow keys go to the next one in a direction");
  setAttributes(chart.node, { tabindex: "0", "data-lm-suppress-shortcuts": "true" });
  const legend = addLegend(parent);
  let [chosen, hovered, redraw] = [0, -1, () => {}];
  /** @type {[number, number][]} */
  let pixels = [];
  view.listen(chart.node, "pointermove", (event) => {
    const found = pointAt(pixels, chartPoint(chart.node, event), 14);
    if (found === hovered) return;
    hovered = found;
    redraw();
  });
  view.listen(chart.node, "pointerleave", () => {
    hovered = -1;
    redraw();
  });
  view.listen(chart.node, "click", (event) => {
    const found = pointAt(pixels, chartPoint(chart.node, event), 14);
    if (found >= 0) choose(found);
  });
  view.listen(chart.node, "keydown", (event) => {
    const to = pointBeside(pixels, chosen, event.key);
    if (to < 0) return;
    chosen = to; // at once: the next key may come before the next frame
    choose(to);
    event.preventDefault();
    event.stopPropagation();
  });
  function draw({ index, near, zoom }, { width, theme }) {
    chosen = index;
    frame(chart, embeddings.points, { index, zoom, width, theme });
    pixels = embeddings.tokens.map((_, i) => pixelOf(chart, embeddings.points, i));
    drawGroups(chart, embeddings, pixels);
    drawNear(chart, embeddings, { index, near, pixels });
    redraw = () => drawHovered(chart, embeddings, { index, hovered, pixels });
    redraw();
    const named = embeddings.groups.map((text, i) => ({ text, className: `vt-point ${GROUPS[i]}` }));
    legend.set(named.length > 1 ? named : []);
  }
  return { draw };
}

function frame(chart, points, { index, zoom, width, theme }) {
  const limit = points.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9) * 1.05;
  const domain = (/** @type {number} */ axis) => {
    const middle = zoom > 1 ? points[2 * index + axis] : 0;
    return /** @type {[number, number]} */ ([middle - limit / zoom, middle + limit / zoom]);
  };
  const plain = { ticks: [] };
  chart.frame({
    width,
    height: HEIGHT,
    theme,
    x: { domain: domain(0), ...plain },
    y: { domain: domain(1), ...plain },
  });
}

/** @returns {[number, number]} */
function pixelOf(chart, points, i) {
  return [chart.x.pixel(points[2 * i]), chart.y.pixel(points[2 * i + 1])];
}

const within = (chart, [x, y]) => {
  const [left, right] = chart.x.range;
  const [bottom, top] = chart.y.range;
  return x >= left && x <= right && y <= bottom && y >= top;
};

function drawGroups(chart, { groups, groupOf }, pixels) {
  groups.forEach((_, group) => {
    const members = pixels.filter((at, i) => groupOf[i] === group && within(chart, at));
    const nodes = childrenOf(
      chart.group(`group-${group}`, `vt-point vt-faint ${GROUPS[group]}`),
      "circle",
      members.length,
    );
    members.forEach(([cx, cy], i) => {
      setAttributes(nodes[i], { cx: round(cx), cy: round(cy), r: 2.6 });
    });
  });
}

function drawNear(chart, { tokens }, { index, near, pixels }) {
  const seen = near.filter((each) => within(chart, pixels[each.index]));
  const from = pixels[index];
  const lines = childrenOf(chart.group("lines", "vt-rule vt-of-chosen vt-thin"), "path", seen.length);
  seen.forEach((each, i) => {
    const [x, y] = pixels[each.index];
    setAttributes(lines[i], { d: `M${round(from[0])} ${round(from[1])}L${round(x)} ${round(y)}` });
  });
  const marks = childrenOf(chart.group("near", "vt-point vt-of-chosen"), "circle", seen.length + 1);
  [{ index }, ...seen].forEach((each, i) => {
    const [cx, cy] = pixels[each.index];
    setAttributes(marks[i], { cx: round(cx), cy: round(cy), r: i ? 4 : 7 });
  });
  const named = namesWithoutOverlap([index, ...seen.map((each) => each.index)], tokens, pixels);
  drawNames(chart, "names", named, tokens, pixels);
}

/** Those of the tokens, first come first served, whose names do not touch one another. */
export function namesWithoutOverlap(indices, tokens, pixels) {
  /** @type {{left: number, right: number, y: number}[]} */
  const taken = [];
  return indices.filter((index) => {
    const [x, y] = pixels[index];
    const box = { left: x + 6, right: x + 14 + 7 * tokens[index].length, y };
    const free = taken.every(
      (other) => Math.abs(other.y - y) > 13 || box.right < other.left || box.left > other.right,
    );
    if (free) taken.push(box);
    return free;
  });
}

function drawNames(chart, key, indices, tokens, pixels) {
  const nodes = childrenOf(chart.group(key, "vt-text vt-names"), "text", indices.length);
  indices.forEach((index, i) => {
    const [x, y] = pixels[index];
    const left = x > chart.x.range[1] - 70;
    setAttributes(nodes[i], {
      x: round(left ? x - 9 : x + 9),
      y: round(y + 4),
      "text-anchor": left ? "end" : "start",
    });
    setText(nodes[i], visible(tokens[index]));
  });
}

function drawHovered(chart, { tokens }, { index, hovered, pixels }) {
  const shown = hovered >= 0 && hovered !== index && within(chart, pixels[hovered]) ? [hovered] : [];
  const nodes = childrenOf(chart.group("hovered", "vt-point vt-of-chosen"), "circle", shown.length);
  shown.forEach((each, i) => {
    setAttributes(nodes[i], { cx: round(pixels[each][0]), cy: round(pixels[each][1]), r: 5 });
  });
  drawNames(chart, "hovered-name", shown, tokens, pixels);
}

/** The nearest tokens with their cosines, each a button that goes there. */
function addList(parent, { tokens }, choose) {
  const title = element(parent, "div", "vt-list-title");
  const rows = element(parent, "ol", "vt-neighbours");
  let shown = "";
  function draw(index, near) {
    const wanted = JSON.stringify([index, near]);
    if (wanted === shown) return;
    shown = wanted;
    setText(title, `Nearest to “${visible(tokens[index])}”, by cosine`);
    rows.replaceChildren();
    for (const each of near) {
      const row = element(rows, "li");
      const go = button(row, visible(tokens[each.index]), () => choose(each.index));
      go.className = "vt-link";
      const bar = element(row, "span", "vt-cosine");
      element(bar, "span").style.width = `${Math.max(0, 100 * each.cosine)}%`;
      element(row, "span", "vt-value").textContent = formatNumber(each.cosine, 2);
    }
  }
  return { draw };
}

function round(value) {
  return Math.round(value * 10) / 10;
}

export default { render };
