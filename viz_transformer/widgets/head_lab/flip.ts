// What a change does to the words: which were struck through, and which came in.

import { differences } from "../base/text.ts";
import type { Reply } from "./replies.ts";

/** A place of the answer: the word of the unchanged model, that of the changed one, and which log-probability. */
export type Column = { before: string | null; after: string | null; index: number | null };

type Answer = Pick<Reply, "translation" | "output">;

/** The places of two answers; `gap` is where a word is filled in, if one is: only its log-probability is known. */
export function columnsOf({ translation, output }: Answer, after: Answer, gap: number): Column[] {
  if (gap >= 0)
    return translation.map((before, i) => {
      return { before, after: after.translation[i] ?? null, index: i === gap ? 0 : null };
    });
  // Some models are not judged by their first word, and some answers end with a mark that is no word.
  const lead = translation.every((word, i) => word === output[i]) ? 0 : 1;
  const end = output.slice(translation.length - lead);
  return paired(output, [...after.translation.slice(lead), ...end]);
}

/** Words that differ stand in each other's place as far as there are as many of them. */
function paired(before: readonly string[], after: readonly string[]): Column[] {
  const [isOut, isIn] = differences(before, after) as [boolean[], boolean[]];
  const columns: Column[] = [];
  for (let i = 0, j = 0; i < before.length || j < after.length; ) {
    const [out, came] = [isOut[i] ?? false, isIn[j] ?? false];
    const [hasBefore, hasAfter] = [out || !came, came || !out];
    columns.push({
      before: hasBefore ? before[i]! : null,
      after: hasAfter ? after[j]! : null,
      index: hasBefore ? i : null,
    });
    i += Number(hasBefore);
    j += Number(hasAfter);
  }
  return columns;
}

export const isMoved = ({ before, after }: Column): boolean => before !== after;

/** The runs of words that differ, each as the words that went and those that came. */
export function runsOf(columns: readonly Column[]): [went: string[], came: string[]][] {
  const runs: [string[], string[]][] = [];
  columns.forEach((column, i) => {
    if (!isMoved(column)) return;
    if (i === 0 || !isMoved(columns[i - 1]!)) runs.push([[], []]);
    if (column.before !== null) runs.at(-1)![0].push(column.before);
    if (column.after !== null) runs.at(-1)![1].push(column.after);
  });
  return runs;
}
