// The clock of positions: a hand for each pair of columns, and the waves that one of them makes.

import { addChart, addHandle, addLegend } from "../base/js/chart.js";
import { lookAlikes, wavelength } from "../base/js/clock_hands.js";
import { element, setText } from "../base/js/controls.js";
import { stepsBetween } from "../base/js/scales.js";
import { childrenOf, setAttributes, svgElement } from "../base/js/svg.js";
import { addTextSizeButtons } from "../base/js/text_size.js";
import { createView } from "../base/js/view.js";

const DIAL = 190; // pixels of the large clock
const GAP = 24; // beside it; style.css has the same

/** @typedef {{values: Float32Array, rows: number, cols: number}} Table [position, dimension] */

function render({ model, el }) {
  const view = createView({
    model,
    el,
    name: "position-clock",
    label: "Clock of positions",
    traits: ["data", "pair", "position", "text_size"],
    draw,
  });
  const get = (/** @type {string} */ trait) => model.get(trait);
  const data = get("data");
  const table = readTable(data);
  const told = element(element(view.root, "div", "vt-controls"), "p", "vt-told");
  addTextSizeButtons(told.parentElement, get, view.set);
  const panels = element(view.root, "div", "vt-panels");
  const dial = addDial(panels);
  const waves = wavesChart(view, element(panels, "div", "vt-waves"), table, data.sinusoidal);
  const hands = handsChart(view, view.root, table);

  function draw({ theme, width: whole, size }) {
    theme.scale = size;
    const width = whole / size;
    const beside = width >= 620;
    panels.dataset.layout = beside ? "beside" : "below";
    const [pair, position] = [get("pair"), get("position")];
    const shown = { pair, position, alike: lookAlikes(table, position, pair) };
    setText(told, describe(table, shown, data.sinusoidal));
    dial.draw(table, shown, size);
    waves.draw(shown, { width: beside ? width - DIAL - GAP : width, height: 190, theme });
    hands.draw(shown, { width, height: 108, theme });
  }

  return () => view.close();
}

/**
 * The table of a view, its bytes as numbers.
 *
 * @param {{n_positions: number, d_model: number, table: DataView}} data
 * @returns {Table}
 */
export function readTable({ n_positions, d_model, table }) {
  const values = Float32Array.from({ length: n_positions * d_model }, (_, i) =>
    table.getFloat32(4 * i, true),
  );
  return { values, rows: n_positions, cols: d_model };
}

/**
 * Where a hand points, [to the right, up], as shares of the longest hand of its pair.
 *
 * @param {Table} table
 * @param {number} pair
 * @param {number} position
 */
export function handOf({ values, rows, cols }, pair, position) {
  const at = (/** @type {number} */ row) => [
    values[row * cols + 2 * pair],
    values[row * cols + 2 * pair + 1],
  ];
  const longest = Math.max(1e-9, ...Array.from({ length: rows }, (_, row) => Math.hypot(...at(row))));
  return at(position).map((value) => value / longest);
}

/**
 * What a hand does, in words.
 *
 * @param {Table} table
 * @param {{pair: number, position: number, alike: number[]}} shown
 * @param {boolean} sinusoidal
 */
export function describe({ cols }, { pair, position, alike }, sinusoidal) {
  const turn = wavelength(pair, cols).toLocaleString("en", {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  const turns = sinusoidal ? `, one turn every ${turn} tokens` : "";
  const list =
    alike.length > 8 ? `${alike.slice(0, 8).join(", ")} and ${alike.length - 8} more` : alike.join(", ");
  const others = alike.length ? `nearly the same way as at ${list}` : "as it points nowhere else";
  return `Pair ${pair}, dimensions ${2 * pair} and ${2 * pair + 1}${turns}. At position ${position} it points ${others}.`;
}

/** The large clock: its hand, what the hand is made of, and where it points alike. */
function addDial(parent) {
  const svg = svgElement(parent, "svg", "vt-chart vt-dial", {
    viewBox: "-1.15 -1.15 2.3 2.3",
    "aria-hidden": "true",
  });
  svgElement(svg, "circle", "vt-face", { r: 1 });
  const [across, up] = ["vt-line vt-of-position", "vt-line vt-of-score vt-dashed"].map((name) =>
    svgElement(svg, "path", name),
  );
  const alike = svgElement(svg, "g", "vt-point vt-of-chosen");
  const hand = svgElement(svg, "path", "vt-hand");
  const tip = svgElement(svg, "circle", "vt-tip", { r: 0.07 });
  function draw(table, { pair, position, alike: others }, size) {
    setAttributes(svg, { width: DIAL * size, height: DIAL * size });
    const [x, y] = handOf(table, pair, position);
    setAttributes(across, { d: `M0 0H${x}` });
    setAttributes(up, { d: `M${x} 0V${-y}` });
    setAttributes(hand, { d: `M0 0L${x} ${-y}` });
    setAttributes(tip, { cx: x, cy: -y });
    childrenOf(alike, "circle", others.length).forEach((node, i) => {
      const [right, high] = handOf(table, pair, others[i]);
      setAttributes(node, { cx: right, cy: -high, r: 0.045 });
    });
  }
  return { draw };
}

/** The two columns of the pair over the positions, with a handle for the position. */
function wavesChart(view, parent, table, sinusoidal) {
  const chart = addChart(parent, "Two columns over the positions");
  const legend = addLegend(parent);
  const rows = stepsBetween(0, table.rows - 1, 1);
  const limit = table.values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);
  const handle = addHandle(view, chart, {
    label: "position",
    axis: "x",
    values: rows,
    onMove: (position) => view.set({ position }),
  });
  const column = (/** @type {number} */ dimension) =>
    rows.map((row) => table.values[row * table.cols + dimension]);
  const names = sinusoidal ? [" (sine)", " (cosine)"] : ["", ""];
  function draw({ pair, position, alike }, room) {
    const [sine, cosine] = [column(2 * pair), column(2 * pair + 1)];
    chart.frame({
      ...room,
      x: { domain: [-0.5, table.rows - 0.5], label: "position" },
      y: { domain: [-1.12 * limit, 1.12 * limit] },
    });
    chart.rule("zero", { y: 0 });
    chart.rule("position", { x: position, className: "vt-zero vt-of-chosen" });
    chart.line("sine", { x: rows, y: sine, className: "vt-of-position" });
    chart.line("cosine", { x: rows, y: cosine, className: "vt-of-score vt-dashed" });
    const dots = {
      x: [...alike, ...alike],
      y: [...alike.map((row) => sine[row]), ...alike.map((row) => cosine[row])],
    };
    chart.points("alike", { ...dots, radius: 3, className: "vt-of-chosen" });
    handle.set({
      x: position,
      y: 1.12 * limit,
      value: position,
      text: `${position}, ${alike.length} others look like it`,
    });
    legend.set([
      { text: `dimension ${2 * pair}${names[0]}`, className: "vt-line vt-of-position" },
      { text: `dimension ${2 * pair + 1}${names[1]}`, className: "vt-line vt-of-score vt-dashed" },
      { text: `close to position ${position}`, className: "vt-point vt-of-chosen" },
    ]);
  }
  return { draw };
}

/** All hands at one position, in a row, with a handle for the pair. */
function handsChart(view, parent, table) {
  const chart = addChart(parent, "All hands at the chosen position");
  const pairs = stepsBetween(0, Math.floor(table.cols / 2) - 1, 1);
  const handle = addHandle(view, chart, {
    label: "pair of columns",
    axis: "x",
    values: pairs,
    onMove: (pair) => view.set({ pair }),
  });
  function draw({ pair, position }, room) {
    const step = Math.ceil((pairs.length * 30) / room.width); // numbers that do not touch
    chart.frame({
      ...room,
      title: `all hands at position ${position}`,
      x: {
        domain: [-0.5, pairs.length - 0.5],
        ticks: pairs.filter((each) => each % step === 0),
        label: "pair",
      },
      y: { domain: [-3.4, 1.1], ticks: [] },
    });
    const radius = Math.min(9, (chart.x.pixel(1) - chart.x.pixel(0)) * 0.46);
    const [faces, hands] = [chart.group("faces", "vt-faces"), chart.group("hands", "vt-hands")];
    const circles = childrenOf(faces, "circle", pairs.length);
    const lines = childrenOf(hands, "path", pairs.length);
    for (const each of pairs) {
      const [cx, cy] = [chart.x.pixel(each), chart.y.pixel(0)];
      const [right, up] = handOf(table, each, position).map((share) => share * radius);
      const name = each === pair ? "vt-now" : "";
      setAttributes(circles[each], { cx, cy, r: radius, class: name });
      setAttributes(lines[each], { d: `M${cx} ${cy}l${right} ${-up}`, class: name });
    }
    handle.set({
      x: pair,
      y: -2,
      value: pair,
      text: `pair ${pair}, dimensions ${2 * pair} and ${2 * pair + 1}`,
    });
  }
  return { draw };
}

export default { render };
