// The weights of an attention as a picture to scale: for each head a grid, a row for each query and
// a column for each key.

const [SIDE, GAP, MOST_HEADS, MOST_LINES] = [22, 4, 16, 10];

interface Grid {
  width: number;
  height: number;
  rows: number;
  cols: number;
}

/** The outline of the grids as the path of an SVG, and its size. */
export function headGrids({ heads, queries, keys }: { heads: number; queries: number; keys: number }) {
  const cell = SIDE / Math.max(queries, keys);
  const long = (cells: number) => Math.max(2, round(cells * cell));
  const [width, height] = [long(keys), long(queries)];
  const shown = Math.min(heads, MOST_HEADS);
  const lines = (cells: number) => (cells <= MOST_LINES ? cells : 1);
  const [rows, cols] = [lines(queries), lines(keys)];
  const path = Array.from({ length: shown }, (_, head) =>
    gridPath(1 + head * (width + GAP), 1, { width, height, rows, cols }),
  ).join("");
  return { path, width: shown * (width + GAP) - GAP + 2, height: height + 2 };
}

/** The lines of one grid. */
function gridPath(left: number, top: number, { width, height, rows, cols }: Grid): string {
  const across = Array.from(
    { length: rows + 1 },
    (_, row) => `M${round(left)} ${round(top + (row * height) / rows)}h${width}`,
  );
  const down = Array.from(
    { length: cols + 1 },
    (_, col) => `M${round(left + (col * width) / cols)} ${round(top)}v${height}`,
  );
  return [...across, ...down].join("");
}

function round(number: number): number {
  return Math.round(number * 100) / 100;
}
