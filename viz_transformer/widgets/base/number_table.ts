// A table of coloured numbers: an accessible grid for a small matrix.

import { colourOf, type Theme, textColourOn } from "./colour.ts";
import { element, setText } from "./controls.ts";
import { formatNumber, visible } from "./text.ts";

type Stops = Pick<Theme, "stops" | "changes" | "signedStops">;

/** How values become colours. */
interface Colouring {
  scale: "weight" | "change" | "signed" | "plain";
  limit?: number;
}

/** A cell's colour, or null: "weight" and "change" run from 0 to limit, "signed" from −limit to limit. */
export function numberColour(value: number, { scale, limit = 1 }: Colouring, theme: Stops) {
  if (scale === "plain" || !Number.isFinite(value)) return null;
  if (scale === "weight") return colourOf(value / limit, theme.stops);
  if (scale === "change") return colourOf(value / limit, theme.changes);
  return colourOf(0.5 + value / (2 * limit || 1), theme.signedStops);
}

/** The cell that a key moves to, or null for another key. */
export function moveInTable({ row, col }: Cell, rows: number, cols: number, key: string) {
  const to = (
    {
      ArrowUp: [row - 1, col],
      ArrowDown: [row + 1, col],
      ArrowLeft: [row, col - 1],
      ArrowRight: [row, col + 1],
      Home: [row, 0],
      End: [row, cols - 1],
    } as Record<string, [number, number]>
  )[key];
  if (!to) return null;
  const inside = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  return { row: inside(to[0], rows), col: inside(to[1], cols) };
}

interface Cell {
  row: number;
  col: number;
}

export interface NumberTable extends Colouring {
  /** [rows][cols] */
  values: ArrayLike<number>[];
  rowNames: (string | number)[];
  colNames: (string | number)[];
  digits?: number;
  masked?: ArrayLike<unknown>[] | null;
  chosen?: Cell | null;
  /** The class of a cell that is marked. */
  marked?: (row: number, col: number) => string;
  text?: (value: number, digits: number) => string;
}

/**
 * An accessible grid of numbers: one cell in the Tab order, arrow keys move.
 *
 * `set(table, theme)` shows it; what does not change is kept. `onPoint(cell or null)` is called for pointer and focus, `onChoose(cell)` for a click, Enter
 * and Space.
 */
export function numberTable(
  parent: Element,
  {
    label,
    onPoint = (_) => {},
    onChoose = (_) => {},
  }: { label: string; onPoint?: (cell: Cell | null) => void; onChoose?: (cell: Cell) => void },
) {
  const box = element(parent, "div", "vt-numbers");
  const table = element(box, "table", "", { role: "grid", "aria-label": label });
  let cells: HTMLTableCellElement[][] = [];
  let [names, at] = ["", { row: 0, col: 0 }];

  const focusOn = (place: Cell) => {
    cells[at.row]?.[at.col]?.setAttribute("tabindex", "-1");
    at = place;
    cells[at.row]?.[at.col]?.setAttribute("tabindex", "0");
  };
  table.addEventListener("pointerover", (event) => onPoint(cellOf(event)));
  table.addEventListener("pointerleave", () => onPoint(null));
  table.addEventListener("focusin", (event) => onPoint(cellOf(event)));
  table.addEventListener("focusout", () => onPoint(null));
  table.addEventListener("click", (event) => {
    const place = cellOf(event);
    if (!place) return;
    focusOn(place);
    onChoose(place);
  });
  table.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !cellOf(event)) return;
    const to = moveInTable(at, cells.length, cells[0].length, event.key);
    if (to) {
      focusOn(to);
      cells[to.row][to.col].focus();
    } else if (event.key === "Enter" || event.key === " ") onChoose(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function set(shown: NumberTable, theme: Theme) {
    const { rowNames, colNames } = shown;
    const wanted = JSON.stringify([rowNames, colNames]);
    if (wanted !== names) {
      names = wanted;
      cells = buildTable(table, shown);
      focusOn({ row: Math.min(at.row, rowNames.length - 1), col: Math.min(at.col, colNames.length - 1) });
    }
    shown.values.forEach((line, row) => {
      Array.from(line).forEach((value, col) => {
        fillCell(cells[row][col], value, row, col, shown, theme);
      });
    });
  }

  return { node: box, set };
}

/** The cell under an event, or null. */
function cellOf(event: Event) {
  const cell = event.target instanceof Element ? event.target.closest("td") : null;
  return cell ? { row: Number(cell.dataset.row), col: Number(cell.dataset.col) } : null;
}

/** One focusable cell of a grid, in its `line`. */
export function gridCell(line: HTMLTableRowElement, row: number, col: number) {
  return element(line, "td", "", {
    role: "gridcell",
    tabindex: "-1",
    "data-row": row,
    "data-col": col,
    "data-lm-suppress-shortcuts": "true",
  });
}

function buildTable(table: HTMLTableElement, { rowNames, colNames }: NumberTable) {
  table.replaceChildren();
  const head = element(element(table, "thead"), "tr");
  element(head, "th", "", { scope: "col" });
  for (const name of colNames) appendName(element(head, "th", "", { scope: "col" }), name);
  const body = element(table, "tbody");
  return rowNames.map((rowName, row) => {
    const line = element(body, "tr");
    appendName(element(line, "th", "", { scope: "row" }), rowName);
    return colNames.map((_, col) => gridCell(line, row, col));
  });
}

function appendName(cell: HTMLTableCellElement, name: string | number) {
  element(cell, "bdi").textContent = visible(String(name));
}

function fillCell(
  cell: HTMLTableCellElement,
  value: number,
  row: number,
  col: number,
  shown: NumberTable,
  theme: Theme,
) {
  const { digits = 2, masked, chosen, marked, text = formatNumber } = shown;
  setText(cell, text(value, digits));
  const rgb = numberColour(value, shown, theme);
  cell.style.backgroundColor = rgb ? `rgb(${rgb})` : "";
  cell.style.color = rgb ? textColourOn(rgb) : "";
  const classes = [masked?.[row]?.[col] ? "vt-masked" : "", marked?.(row, col) ?? ""];
  cell.className = classes.filter(Boolean).join(" ");
  cell.setAttribute("aria-selected", String(Boolean(chosen) && chosen?.row === row && chosen?.col === col));
}
