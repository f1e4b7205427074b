// A small matrix as a table of coloured numbers.

import { colourOf, inkOn } from "./colour.js";
import { element } from "./controls.js";
import { formatNumber, visible } from "./text.js";

/** A cell's colour, or null: "weight" runs from 0 to 1, "signed" from −limit to limit. */
export function numberColour(value, { scale, limit = 1 }, theme) {
  if (scale === "plain" || !Number.isFinite(value)) return null;
  if (scale === "weight") return colourOf(value, theme.stops);
  return colourOf(0.5 + value / (2 * limit || 1), theme.signedStops);
}

/** The cell that a key moves to, or null for another key. */
export function moveInTable({ row, col }, rows, cols, key) {
  const to = {
    ArrowUp: [row - 1, col],
    ArrowDown: [row + 1, col],
    ArrowLeft: [row, col - 1],
    ArrowRight: [row, col + 1],
    Home: [row, 0],
    End: [row, cols - 1],
  }[key];
  if (!to) return null;
  const inside = (value, count) => Math.min(count - 1, Math.max(0, value));
  return { row: inside(to[0], rows), col: inside(to[1], cols) };
}

/**
 * An accessible grid of numbers: one cell in the Tab order, arrow keys move.
 *
 * `set(table, theme)` shows {values: [rows][cols], rowNames, colNames, digits, scale, limit,
 * masked: [rows][cols], chosen: {row, col}, marked: (row, col) → class}; what does not change is
 * kept. `onPoint(cell or null)` hears pointer and focus, `onChoose(cell)` click, Enter and Space.
 */
export function numberTable(parent, { label, onPoint = () => {}, onChoose = () => {} }) {
  const box = element(parent, "div", "vt-numbers");
  const table = element(box, "table", "", { role: "grid", "aria-label": label });
  let [cells, size, at] = [[], "", { row: 0, col: 0 }];

  const placeOf = (event) => {
    const cell = event.target.closest?.("td");
    return cell ? { row: Number(cell.dataset.row), col: Number(cell.dataset.col) } : null;
  };
  const focusOn = (place) => {
    cells[at.row]?.[at.col]?.setAttribute("tabindex", "-1");
    at = place;
    cells[at.row]?.[at.col]?.setAttribute("tabindex", "0");
  };
  table.addEventListener("pointerover", (event) => onPoint(placeOf(event)));
  table.addEventListener("pointerleave", () => onPoint(null));
  table.addEventListener("focusin", (event) => onPoint(placeOf(event)));
  table.addEventListener("focusout", () => onPoint(null));
  table.addEventListener("click", (event) => {
    const place = placeOf(event);
    if (!place) return;
    focusOn(place);
    onChoose(place);
  });
  table.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !placeOf(event)) return;
    const to = moveInTable(at, cells.length, cells[0].length, event.key);
    if (to) {
      focusOn(to);
      cells[to.row][to.col].focus();
    } else if (event.key === "Enter" || event.key === " ") onChoose(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function build(rowNames, colNames) {
    table.replaceChildren();
    const head = element(element(table, "thead"), "tr");
    element(head, "th", "", { scope: "col" });
    for (const name of colNames) name_(element(head, "th", "", { scope: "col" }), name);
    const body = element(table, "tbody");
    cells = rowNames.map((rowName, row) => {
      const line = element(body, "tr");
      name_(element(line, "th", "", { scope: "row" }), rowName);
      return colNames.map((_, col) =>
        element(line, "td", "", {
          role: "gridcell",
          tabindex: "-1",
          "data-row": row,
          "data-col": col,
          "data-lm-suppress-shortcuts": "true",
        }),
      );
    });
    focusOn({ row: Math.min(at.row, rowNames.length - 1), col: Math.min(at.col, colNames.length - 1) });
  }

  function set(shown, theme) {
    const { values, rowNames, colNames, digits = 2, masked, chosen, marked } = shown;
    const wanted = JSON.stringify([rowNames, colNames]);
    if (wanted !== size) {
      size = wanted;
      build(rowNames, colNames);
    }
    values.forEach((line, row) =>
      Array.from(line).forEach((value, col) => {
        const cell = cells[row][col];
        const text = formatNumber(value, digits);
        if (cell.textContent !== text) cell.textContent = text;
        const rgb = numberColour(value, shown, theme);
        cell.style.backgroundColor = rgb ? `rgb(${rgb})` : "";
        cell.style.color = rgb ? inkOn(rgb) : "";
        const classes = [masked?.[row]?.[col] ? "vt-masked" : "", marked?.(row, col) ?? ""];
        cell.className = classes.filter(Boolean).join(" ");
        cell.setAttribute(
          "aria-selected",
          String(Boolean(chosen) && chosen.row === row && chosen.col === col),
        );
      }),
    );
  }

  return { node: box, set };
}

function name_(cell, name) {
  const word = document.createElement("bdi");
  word.textContent = visible(String(name));
  cell.append(word);
}
