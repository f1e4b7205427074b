// What a change does to the words: which were struck through, and which came in.

import { differences } from "../base/js/text_difference.js";
import type { Reply } from "./replies.ts";

/** A place of the answer: the word of the unchanged model, and that of the changed one. */
export interface Column {
  before: string | null;
  after: string | null;
  /** Which of the log-probabilities is the word's; null of a word that came in between. */
  index: number | null;
}

type Answer = Pick<Reply, "translation" | "output">;

/** The places of two answers; `gap` is where a word is filled in, if one is: only its log-probability is known. */
export function columnsOf(before: Answer, after: Answer, gap: number): Column[] {
  const { output } = before;
  if (gap >= 0)
    return before.translation.map((word, i) => ({
      before: word,
      after: after.translation[i] ?? null,
      index: i === gap ? 0 : null,
    }));
  // Some models are not judged by their first word, and some answers end with a mark that is no word.
  const { translation } = before;
  const starts = (lead: number) => translation.slice(lead).every((word, i) => word === output[i]);
  const lead = starts(0) ? 0 : 1;
  const end = output.slice(translation.length - lead);
  return paired(output, [...after.translation.slice(lead), ...end]);
}

/** Words that differ stand in each other's place as far as there are as many of them. */
function paired(before: readonly string[], after: readonly string[]): Column[] {
  const [isOut, isIn] = differences(before, after) as [boolean[], boolean[]];
  const columns: Column[] = [];
  for (let i = 0, j = 0; i < before.length || j < after.length; ) {
    const [out, came] = [i < before.length && isOut[i], j < after.length && isIn[j]];
    const both = out === came;
    columns.push({
      before: both || out ? before[i]! : null,
      after: both || came ? after[j]! : null,
      index: both || out ? i : null,
    });
    if (both || out) i++;
    if (both || came) j++;
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
    const [went, came] = runs.at(-1)!;
    if (column.before !== null) went.push(column.before);
    if (column.after !== null) came.push(column.after);
  });
  return runs;
}
