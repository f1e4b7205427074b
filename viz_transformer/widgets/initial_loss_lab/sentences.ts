// What the initial loss lab says.

import { formatNumber, runningText, shortNumber } from "../base/text.ts";
import { named, type Piece } from "../base/pieces.ts";
import { type Chosen, evenLoss, logitsAt, type Starts } from "./starts.ts";

export const stdText = (std: number): string => shortNumber(std, 3);

/** What the model would write next, and whether it only repeats. */
export function headlineOf(starts: Starts, chosen: Chosen): Piece[] {
  const { tokens, read } = starts;
  const logits = logitsAt(starts, chosen);
  const best = logits.indexOf(Math.max(...logits));
  const own = read[chosen.sentence]![chosen.place]!;
  return [
    ...["After ", named("key", tokens[own]), " the largest logit is that of "],
    ...(best === own ? ["the same word"] : [named("query", tokens[best])]),
  ];
}

/** The loss beside that of a uniform guess, and how often the model repeats. */
export const lineOf = (starts: Starts, { index }: Chosen): string =>
  `Loss ${formatNumber(starts.losses[index], 1)}; a uniform guess gives ${formatNumber(evenLoss(starts), 2)}. ` +
  `At ${Math.round(100 * starts.echoes[index]!)}% of all positions it repeats the word that it has read.`;

/** A sentence by its words, without the sign of its beginning. */
export const sentenceText = ({ read, tokens }: Starts, sentence: number): string =>
  runningText(read[sentence]!.slice(1).map((id) => tokens[id]));

/** Lines of Python. */
export const codeOf = ({ stds }: Starts, { index, sentence, place }: Chosen): string[] => [
  "view = vt.initial_loss_lab()",
  `view.std = ${stds[index]}`,
  `view.sentence, view.place = ${sentence}, ${place}`,
];
