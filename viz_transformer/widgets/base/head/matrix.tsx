// One matrix on the stage: numbers in cells where they have room, else a sheet of colours to point at.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { around, fitCanvas, paintPixels, pointerPosition, strokeBox } from "../canvas.ts";
import { css, packPixel, type Rgb, signedRgb, textColourOn, type Theme, weightRgb } from "../colour.ts";
import { type Cell, consume, hasModifier, moveInTable } from "../keys.ts";
import { tween } from "../motion.ts";
import { elide, formatNumber, visible } from "../text.ts";
import { type Matrix, matrixOf } from "./arithmetic.ts";
import { type Mark, roleAt } from "./plan.ts";
import type { Place } from "./room.ts";
import { indices } from "../scales.ts";

const MARKS: Record<string, string> = { a: "--query", b: "--key", is: "--ink" };
const SCALES: Record<string, "weight" | "plain"> = {
  weights: "weight",
  exponentials: "weight",
  allowed: "plain",
};

interface MatrixProps {
  place: Place;
  matrix: Matrix;
  label: string;
  marks: Mark[];
  /** The number that has the strongest colour. */
  limit: number;
  /** Every so many columns there is a gap. */
  seam: number;
  theme: Theme;
  redraw: () => void;
  measure: (text: string) => number;
  onPoint: (cell: Cell | null) => void;
  onChoose: (cell: Cell) => void;
}

/** A matrix with its caption and the names of its rows and columns. */
export function MatrixPanel(props: MatrixProps) {
  const { place, matrix, redraw, measure } = props;
  const motion = useRef(tween()).current;
  const values = Array.from(matrix.values);
  const shown = values.every(Number.isFinite) ? motion.at(values) : values;
  if (motion.isMoving()) redraw();
  const moved = { ...props, matrix: matrixOf(matrix.rows, matrix.cols, shown) };
  const { left, top, rowNames, colNames, names, row, cell } = place;
  const fit = (name: string, width: number) => elide(visible(name), width / place.text, measure);
  return (
    <div class={`vt-matrix vt-part-${place.part}`} data-matrix={place.name}>
      {place.caption && (
        <div
          class="vt-caption"
          style={{ left: `${left}px`, top: `calc(${top}px - ${colNames ? 3 : 1.5}em)` }}
        >
          {place.caption}
        </div>
      )}
      {colNames?.map((name, col) => (
        <div
          class="vt-col-name vt-of-key"
          key={`${col} ${name}`}
          aria-hidden="true"
          style={{ left: `${left + col * cell}px`, top: `calc(${top}px - 1.5em)`, width: `${cell}px` }}
        >
          <bdi>{fit(name, cell - 4)}</bdi>
        </div>
      ))}
      {rowNames?.map((name, at) => (
        <div
          class={`vt-row-name ${nameKind(place.name)}`}
          key={`${at} ${name}`}
          aria-hidden="true"
          style={{
            left: `${left - names}px`,
            top: `${top + at * row}px`,
            width: `${names - 8}px`,
            lineHeight: `${row}px`,
          }}
        >
          <bdi>{fit(name, names - 10)}</bdi>
        </div>
      ))}
      {place.digits === null ? <Sheet {...moved} /> : <Numbers {...moved} />}
    </div>
  );
}

/** The class of the names of a matrix's rows: words that attend, words that are attended to, or neither. */
function nameKind(name: string): string {
  if (name === "x" || name === "all") return "vt-of-query";
  return ["seen", "k", "turned_k", "v"].includes(name) ? "vt-of-key" : "";
}

function colourIn({ place, limit, theme }: MatrixProps, value: number): Rgb | null {
  const scale = SCALES[place.name] ?? "signed";
  if (scale === "plain" || !Number.isFinite(value)) return null;
  return scale === "weight" ? weightRgb(value, theme) : signedRgb(value, limit, theme);
}

function cellOf(event: Event): Cell | null {
  const cell = (event.target as Element).closest<HTMLElement>("td");
  return cell ? { row: Number(cell.dataset.row), col: Number(cell.dataset.col) } : null;
}

/** An accessible grid of numbers: one cell in the Tab order, arrow keys move. */
function Numbers(props: MatrixProps) {
  const { place, matrix, label, marks, onPoint, onChoose } = props;
  const { rows, cols, cell, row: height, digits } = place;
  const table = useRef<HTMLTableElement>(null);
  const [wanted, setAt] = useState({ row: 0, col: 0 });
  const at = { row: Math.min(wanted.row, rows - 1), col: Math.min(wanted.col, cols - 1) };
  const focus = (to: Cell) => {
    setAt(to);
    table.current?.rows[to.row]?.cells[to.col]?.focus();
  };
  return (
    <table
      ref={table}
      class="vt-grid"
      role="grid"
      aria-label={`${label}: arrow keys move from number to number`}
      style={{
        left: `${place.left}px`,
        top: `${place.top}px`,
        width: `${cols * cell}px`,
        fontSize: `${place.size}px`,
      }}
      onPointerOver={(event) => onPoint(cellOf(event))}
      onPointerLeave={() => onPoint(null)}
      onFocusCapture={(event) => onPoint(cellOf(event))}
      onBlurCapture={() => onPoint(null)}
      onClick={(event) => {
        const found = cellOf(event);
        if (!found) return;
        setAt(found);
        onChoose(found);
      }}
      onKeyDown={(event) => {
        const here = cellOf(event); // two keys may come in one frame
        if (!here || hasModifier(event)) return;
        const to = moveInTable(here, rows, cols, event.key);
        if (to) focus(to);
        else if (event.key === "Enter" || event.key === " ") onChoose(here);
        else return;
        consume(event);
      }}
    >
      <tbody>
        {indices(rows).map((row) => (
          <tr key={row} style={{ height: `${height}px` }}>
            {indices(cols).map((col) => {
              const value = matrix.at(row, col);
              const rgb = colourIn(props, value);
              const role = roleAt(marks, row, col);
              return (
                <td
                  key={col}
                  role="gridcell"
                  data-row={row}
                  data-col={col}
                  tabIndex={row === at.row && col === at.col ? 0 : -1}
                  data-lm-suppress-shortcuts="true"
                  class={`${role ? `vt-mark-${role}` : ""} ${value === -Infinity ? "vt-masked" : ""}`}
                  style={{ backgroundColor: rgb ? css(rgb) : "", color: rgb ? textColourOn(rgb) : "" }}
                >
                  {formatNumber(value, digits ?? 2)}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A sheet of colours: by pointer and keyboard, each of its numbers is told in the inspector. */
function Sheet(props: MatrixProps) {
  const { place, label, onPoint, onChoose } = props;
  const { rows, cols, cell, row: height } = place;
  const canvas = useRef<HTMLCanvasElement>(null);
  const at = useRef({ row: 0, col: 0 });
  at.current = { row: Math.min(at.current.row, rows - 1), col: Math.min(at.current.col, cols - 1) };
  useLayoutEffect(() => {
    if (canvas.current) drawSheet(canvas.current, props);
  });
  const under = (event: PointerEvent | MouseEvent) => {
    const [x = 0, y = 0] = pointerPosition(event.currentTarget as Element, event);
    const [row, col] = [Math.floor(y / height), Math.floor(x / cell)];
    return row >= 0 && row < rows && col >= 0 && col < cols ? { row, col } : null;
  };
  return (
    <canvas
      ref={canvas}
      class="vt-sheet-of-colours"
      role="application"
      tabIndex={0}
      data-lm-suppress-shortcuts="true"
      aria-label={`${label}: arrow keys move from number to number`}
      style={{ left: `${place.left}px`, top: `${place.top}px` }}
      onPointerMove={(event) => onPoint(under(event))}
      onPointerLeave={() => onPoint(null)}
      onFocus={(event) => {
        if (event.currentTarget.matches(":focus-visible")) onPoint(at.current);
      }}
      onBlur={() => onPoint(null)}
      onClick={(event) => {
        const found = under(event);
        if (!found) return;
        at.current = found;
        onChoose(found);
      }}
      onKeyDown={(event) => {
        if (hasModifier(event)) return;
        const to = moveInTable(at.current, rows, cols, event.key);
        if (to) {
          at.current = to;
          onPoint(to);
        } else if (event.key === "Enter" || event.key === " ") onChoose(at.current);
        else return;
        consume(event);
      }}
    />
  );
}

function drawSheet(canvas: HTMLCanvasElement, props: MatrixProps): void {
  const { place, matrix, marks, seam, theme } = props;
  const { rows, cols, cell, row: height } = place;
  const context = fitCanvas(canvas, Math.ceil(cols * cell), Math.ceil(rows * height));
  const small = document.createElement("canvas");
  paintPixels(small, cols, rows, (cell) => {
    const rgb = colourIn(props, matrix.values[cell] ?? 0);
    return rgb ? packPixel(rgb) : 0;
  });
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, cols * cell, rows * height);
  context.fillStyle = theme.background;
  for (let col = seam; seam && col < cols; col += seam) context.fillRect(col * cell - 1, 0, 2, rows * height);
  const style = getComputedStyle(canvas);
  for (const { row, col, role } of marks) {
    const [x, width] = col === null ? [0, cols * cell] : [col * cell, cell];
    const [y, tall] = row === null ? [0, rows * height] : [row * height, height];
    // A thin band in the page's own colour keeps the mark apart from what it lies on.
    const colour = style.getPropertyValue(MARKS[role] ?? "--ink");
    const box = [x, y, width, tall] as const;
    strokeBox(context, around(box, 1), theme.background, 1);
    strokeBox(context, box, colour, Math.min(width, tall) < 6 ? 1.5 : 2.5);
  }
}
