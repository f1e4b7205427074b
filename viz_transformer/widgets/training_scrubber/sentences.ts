// What the headline and the line below it say: computed from what is shown, never why.

import { TASKS } from "../base/kinds.ts";
import { named, percent, type Piece, plainText, shortened } from "../base/text.ts";
import { type Cell, compareWords, headAtMoment, validationInWords } from "./runs.ts";
import type { Side } from "./view.tsx";

const [LETTERS, LONG] = [18, 80]; // of a run's name and of a text

const stepOf = ({ run, moment }: Side) => run.moments[moment]!;
const compared = ({ run, moment, sentence }: Side) =>
  compareWords(run.translations[moment]![sentence]!, run.references[sentence]!, run.task);

/** The step and whether the text is right, for a screen reader. */
export const momentInWords = (side: Side): string => `step ${stepOf(side)}, ${compared(side).spoken}`;

function weightAt({ entry, chosen }: Side, moment: number, { query, key }: Cell): number {
  return headAtMoment(entry!, moment, chosen.layer, chosen.head)[query * entry!.cols + key]!;
}

/** The weight that is pointed at, or else followed. */
function gives(side: Side): Piece[] {
  const { entry, chosen, pointed, followed, moment } = side;
  const cell = pointed ?? followed;
  return [
    named("query", entry!.queries[cell.query]),
    " gives ",
    named("key", entry!.keys[cell.key]),
    ` ${percent(weightAt(side, moment, cell))} in head ${chosen.layer}·${chosen.head}`,
  ];
}

export const followedInWords = (side: Side): string => plainText(gives({ ...side, pointed: null }));

/** One run: the weight that is followed; two: which of them is right. */
export function headlineOf(sides: readonly Side[]): Piece[] {
  const [first, other] = sides as [Side, Side?];
  const step = `Step ${stepOf(first)}: `;
  if (!first.entry) return [`${step}the heads are loading`];
  if (!other) return [step, ...gives(first)];
  const verdicts = sides.map((side) => {
    const { right } = compared(side);
    return `${shortened(side.run.name, LETTERS)} ${TASKS[side.run.task]!.verdicts[right ? 0 : 1]}`;
  });
  return [step + verdicts.join("; ")];
}

/** One run: how the weight that is followed begins and ends, and where the validation loss is lowest; two: the weight that is pointed at, or the right text. */
export function lineOf(sides: readonly Side[]): Piece[] {
  const [first] = sides as [Side];
  const { run, sentence, entry, pointed, followed } = first;
  if (!entry) return [];
  if (sides.length > 1) {
    const under = sides.find((side) => side.pointed);
    return under
      ? gives(under)
      : [`${TASKS[run.task]!.reference}: `, named("query", run.references[sentence], LONG)];
  }
  const [begin, end] = [0, run.moments.length - 1].map((at) => {
    const share = percent(weightAt(first, at, pointed ?? followed));
    return `${share} at step ${run.moments[at]}`;
  });
  const validation = validationInWords(run);
  return [`It is ${begin} and ${end}.${validation && ` The ${validation}.`}`];
}
