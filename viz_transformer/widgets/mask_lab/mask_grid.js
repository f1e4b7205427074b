// The mask as a grid to paint: one cell in the Tab order, arrows move, Space and the pointer paint.

import { element } from "../base/js/controls.js";
import { gridCell, moveInTable } from "../base/js/number_table.js";
import { visible } from "../base/js/text.js";

/**
 * `set(shown)` shows {rowNames, colNames, may: [rows][cols], textOf(may), labelOf(row, col),
 * painted: Set of "row,col", empty: [rows], edited: col or null, chosen: {row, col}}.
 * `onPoint(cell or null)` hears pointer and focus, `onPaint(cell, value)` each cell painted, and
 * `onChoose(cell)` the cell that a click or Space was on.
 */
export function maskGrid(parent, { label, onPoint, onPaint, onChoose }) {
  const box = element(parent, "div", "vt-grid-box");
  const table = element(box, "table", "vt-mask-grid", { role: "grid", "aria-label": label });
  let [cells, rowHeads, colHeads, names, at, shown, stroke] = [
    [],
    [],
    [],
    "",
    { row: 0, col: 0 },
    null,
    null,
  ];

  const placeOf = (target) => {
    const cell = target?.closest?.("td");
    return cell && table.contains(cell)
      ? { row: Number(cell.dataset.row), col: Number(cell.dataset.col) }
      : null;
  };
  const focusOn = (place) => {
    cells[at.row]?.[at.col]?.setAttribute("tabindex", "-1");
    at = place;
    cells[at.row]?.[at.col]?.setAttribute("tabindex", "0");
  };
  const paint = (place, value) => {
    if (shown.may[place.row][place.col] !== value) onPaint(place, value);
  };

  table.addEventListener("pointerdown", (event) => {
    const place = placeOf(event.target);
    if (!place || event.button !== 0) return;
    event.preventDefault(); // no selection of text while painting
    event.target.releasePointerCapture?.(event.pointerId);
    focusOn(place);
    cells[place.row][place.col].focus();
    stroke = { value: !shown.may[place.row][place.col] };
    onChoose(place);
    paint(place, stroke.value);
  });
  table.addEventListener("pointerover", (event) => {
    const place = placeOf(event.target);
    onPoint(place);
    if (stroke && place && event.buttons & 1) paint(place, stroke.value);
    else if (!(event.buttons & 1)) stroke = null;
  });
  table.addEventListener("pointerup", () => {
    stroke = null;
  });
  table.addEventListener("pointerleave", () => onPoint(null));
  table.addEventListener("focusin", (event) => onPoint(placeOf(event.target)));
  table.addEventListener("focusout", () => onPoint(null));
  table.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !placeOf(event.target)) return;
    const to = moveInTable(at, cells.length, cells[0].length, event.key);
    if (to) {
      focusOn(to);
      cells[to.row][to.col].focus();
    } else if (event.key === " ") {
      onChoose(at);
      paint(at, !shown.may[at.row][at.col]);
    } else if (event.key === "Enter") onChoose(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function build(rowNames, colNames) {
    table.replaceChildren();
    const head = element(element(table, "thead"), "tr", "", { role: "row" });
    const corner = element(head, "th", "vt-corner", { scope: "col" });
    corner.textContent = "query ↓ key →";
    colHeads = colNames.map((name) => namedHead(head, name, "col"));
    const body = element(table, "tbody");
    [cells, rowHeads] = [[], []];
    rowNames.forEach((name, row) => {
      const line = element(body, "tr", "", { role: "row" });
      rowHeads.push(namedHead(line, name, "row"));
      cells.push(colNames.map((_, col) => gridCell(line, row, col)));
    });
    focusOn({ row: Math.min(at.row, rowNames.length - 1), col: Math.min(at.col, colNames.length - 1) });
  }

  function set(next) {
    shown = next;
    const wanted = JSON.stringify([next.rowNames, next.colNames]);
    if (wanted !== names) {
      names = wanted;
      build(next.rowNames, next.colNames);
    }
    next.may.forEach((line, row) =>
      line.forEach((may, col) => {
        const cell = cells[row][col];
        const text = next.textOf(may);
        if (cell.firstChild?.textContent !== text) {
          cell.replaceChildren();
          element(cell, "span").textContent = text;
        }
        const painted = next.painted.has(`${row},${col}`);
        cell.className = [may ? "vt-may" : "vt-masked", painted ? "vt-painted" : ""]
          .filter(Boolean)
          .join(" ");
        cell.setAttribute("aria-label", next.labelOf(row, col));
        cell.setAttribute("aria-selected", String(next.chosen.row === row && next.chosen.col === col));
      }),
    );
    rowHeads.forEach((head, row) => head.classList.toggle("vt-empty", next.empty.includes(row)));
    colHeads.forEach((head, col) => head.classList.toggle("vt-edited", next.edited === col));
  }

  return { node: box, set };
}

function namedHead(line, name, scope) {
  const head = element(line, "th", "", { scope });
  const word = element(head, "bdi");
  word.textContent = visible(name);
  word.title = visible(name);
  return head;
}
