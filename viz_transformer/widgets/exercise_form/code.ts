// Code that is answered in a page: lines that are put in order, and gaps that are filled.

import type { Asked, Check } from "./checking.ts";

/** A line, and why it does not belong into the code, if it does not. */
export type Line = [text: string, whyWrong: string | null];
export type Gap = Pick<Asked, "value" | "options" | "mistakes" | "right">;

const LEFT_OUT = "A line that the code needs is left out.";

/** Move a line to a place among those that are used, or, where that is null, out of them. */
export function placed(used: readonly number[], line: number, place: number | null): number[] {
  const others = used.filter((each) => each !== line);
  return place === null ? others : others.toSpliced(Math.max(0, place), 0, line);
}

/** Whether lines make the code, in any order that is equally right. */
export function checkLines({ lines, order, blocks, right }: Asked, used: readonly number[]): Check {
  const wrong = used.find((line) => lines[line]![1] !== null);
  if (wrong !== undefined) return { passed: false, message: lines[wrong]![1]!, at: wrong };
  const places = placesOf(lines, used);
  if (lines.some(([, whyWrong], line) => whyWrong === null && !places.has(line)))
    return { passed: false, message: LEFT_OUT };
  const placeOf = (line: number) => places.get(line)!;
  const late = order.find(([one, other]) => placeOf(one) > placeOf(other));
  if (late) return { passed: false, message: late[2], at: used[placeOf(late[1])]! };
  const torn = blocks.find(([block]) => {
    const taken = block.map(placeOf);
    return Math.max(...taken) - Math.min(...taken) >= block.length;
  });
  return torn ? { passed: false, message: torn[1], at: torn[0][0]! } : { passed: true, message: right };
}

/** Where each line is; of lines with the same text, which is which makes no difference. */
function placesOf(lines: readonly Line[], used: readonly number[]): Map<number, number> {
  const places = new Map<number, number>();
  used.forEach((line, place) => {
    const same = lines.findIndex(([text], each) => text === lines[line]![0] && !places.has(each));
    places.set(same, place);
  });
  return places;
}

/** Whether every gap has the choice that belongs there. */
export function checkGaps({ gaps, right }: Asked, chosen: readonly string[]): Check {
  const empty = chosen.indexOf("");
  if (empty >= 0) return { message: `Gap ${empty + 1} is still empty.`, at: empty };
  const at = gaps.findIndex(({ value }, gap) => value !== chosen[gap]);
  if (at < 0) return { passed: true, message: right };
  const mistake = gaps[at]!.mistakes.find(([answer]) => answer === chosen[at]);
  return { passed: false, message: mistake?.[1] ?? `Gap ${at + 1} is not right yet.`, at };
}
