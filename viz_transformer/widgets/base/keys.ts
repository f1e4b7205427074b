// What keys do in a list and in a table.

export const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

type Modifiers = "ctrlKey" | "metaKey" | "altKey";

/** Whether a key is pressed together with one that makes a command of it. */
export const hasModifier = ({ ctrlKey, metaKey, altKey }: Pick<KeyboardEvent, Modifiers>): boolean =>
  ctrlKey || metaKey || altKey;

/** Keep an event from the browser and from all that is around. */
export function consume(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

/** The index among `count` values that a key moves to, or null for any other key. */
export function indexAfterKey(event: Pick<KeyboardEvent, "key" | Modifiers>, index: number, count: number) {
  if (hasModifier(event)) return null;
  const far = Math.max(2, Math.round(count / 10));
  const by = (
    { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: far, PageDown: -far } as Record<
      string,
      number
    >
  )[event.key];
  const to = by ? index + by : ({ Home: 0, End: count - 1 } as Record<string, number>)[event.key];
  return to === undefined ? null : Math.min(count - 1, Math.max(0, to));
}

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
