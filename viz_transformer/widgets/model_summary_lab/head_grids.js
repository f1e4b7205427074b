// The weights of an attention as a picture to scale: for each head a grid, a row for each query and
// a column for each key.

const [SIDE, GAP, MOST_HEADS, MOST_LINES] = [22, 4, 16, 10];

/**
 * The outline of the grids as the path of an SVG, and its size.
 *
 * @param {{heads: number, queries: number, keys: number}} shape
 */
export function headGrids({ heads, queries, keys }) {
  const cell = SIDE / Math.max(queries, keys);
  const [width, height] = [keys, queries].map((cells) => Math.max(2, round(cells * cell)));
  const shown = Math.min(heads, MOST_HEADS);
  const [rows, cols] = [queries, keys].map((cells) => (cells <= MOST_LINES ? cells : 1));
  const path = Array.from({ length: shown }, (_, head) =>
    gridPath(1 + head * (width + GAP), 1, { width, height, rows, cols }),
  ).join("");
  return { path, width: shown * (width + GAP) - GAP + 2, height: height + 2 };
}

/** The lines of one grid. */
function gridPath(left, top, { width, height, rows, cols }) {
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

function round(number) {
  return Math.round(number * 100) / 100;
}
