// The changed heads with their names, and what the changes do to the words of the answer.

import { ATTENTION_KINDS, type HeadPlace as Head, sameHead } from "../base/kinds.ts";
import { differences } from "../base/text.ts";
import type { Reply } from "./replies.ts";

export type { Head };
/** A changed head. */
export type Factor = Head & { factor: number };

export const headName = ({ kind, layer, head }: Head): string => `${kind} layer ${layer} head ${head}`;
export const shortName = ({ kind, layer, head }: Head): string => `${kind} head ${layer}·${head}`;

/** The factor of a head: 1 unless it is among the changed ones. */
export const factorOf = (factors: readonly Factor[], head: Head): number =>
  factors.find((each) => sameHead(each, head))?.factor ?? 1;

/** The changed heads with one more factor set, in Python's order; a factor of 1 is no change. */
export function withFactor(
  factors: readonly Factor[],
  { kind, layer, head }: Head,
  factor: number,
): Factor[] {
  const others = factors.filter((each) => !sameHead(each, { kind, layer, head }));
  const all = factor === 1 ? others : [...others, { kind, layer, head, factor }];
  const order = Object.keys(ATTENTION_KINDS);
  return all.sort(
    (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || a.layer - b.layer || a.head - b.head,
  );
}

/** A factor with no more digits than it needs. */
export const shortFactor = (factor: number): string => String(Number(factor.toFixed(2))).replace("-", "−");

/** What a head's button is called: the head, and its factor. */
export const headState = (head: Head, factor: number): string =>
  `${headName(head)}, ${factor === 0 ? "off" : `factor ${shortFactor(factor)}`}`;

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
