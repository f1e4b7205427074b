// A canvas as a grid for screen readers, with the one cell that the keyboard is on.

import { element, uniqueId } from "./controls.ts";

/**
 * Make a canvas a grid to screen readers.
 *
 * @returns announces a cell; where `row` is null, no cell is active
 */
export function ariaGrid(
  canvas: HTMLCanvasElement,
): (cell: { rows: number; cols: number; row: number | null; col: number | null; text: string }) => void {
  canvas.setAttribute("role", "grid");
  const line = element(canvas, "div", "", { role: "row" });
  const cell = element(line, "div", "", { role: "gridcell", id: uniqueId() });
  let announced = "";
  return ({ rows, cols, row, col, text }) => {
    const wanted = JSON.stringify([rows, cols, row, col, text]);
    if (wanted === announced) return;
    announced = wanted;
    canvas.setAttribute("aria-rowcount", String(rows));
    canvas.setAttribute("aria-colcount", String(cols));
    line.setAttribute("aria-rowindex", String((row ?? 0) + 1));
    cell.setAttribute("aria-colindex", String((col ?? 0) + 1));
    cell.textContent = text;
    if (row === null) canvas.removeAttribute("aria-activedescendant");
    else canvas.setAttribute("aria-activedescendant", cell.id);
  };
}
