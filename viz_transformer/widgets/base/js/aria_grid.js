// What a canvas shows, for who cannot see it: a grid with the one cell that the keyboard is on.

import { element, uniqueId } from "./controls.js";

/** Make a canvas a grid to screen readers: `say({rows, cols, row, col, text})`; row null: on none. */
export function spokenGrid(canvas) {
  canvas.setAttribute("role", "grid");
  const line = element(canvas, "div", "", { role: "row" });
  const cell = element(line, "div", "", { role: "gridcell", id: uniqueId() });
  let said = "";
  return ({ rows, cols, row, col, text }) => {
    const now = JSON.stringify([rows, cols, row, col, text]);
    if (now === said) return;
    said = now;
    canvas.setAttribute("aria-rowcount", rows);
    canvas.setAttribute("aria-colcount", cols);
    line.setAttribute("aria-rowindex", (row ?? 0) + 1);
    cell.setAttribute("aria-colindex", (col ?? 0) + 1);
    cell.textContent = text;
    if (row === null) canvas.removeAttribute("aria-activedescendant");
    else canvas.setAttribute("aria-activedescendant", cell.id);
  };
}
