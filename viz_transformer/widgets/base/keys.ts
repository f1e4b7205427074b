// The cells of a table that the arrow keys go through.

export interface Cell {
  row: number;
  col: number;
}

/** The cell that a key moves to, or null for another key. */
export function moveInTable({ row, col }: Cell, rows: number, cols: number, key: string): Cell | null {
  const to = {
    ArrowUp: [row - 1, col],
    ArrowDown: [row + 1, col],
    ArrowLeft: [row, col - 1],
    ArrowRight: [row, col + 1],
    Home: [row, 0],
    End: [row, cols - 1],
  }[key];
  if (!to) return null;
  const inside = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  return { row: inside(to[0]!, rows), col: inside(to[1]!, cols) };
}
