// The measured starts as the page reads them.

import { formatNumber, named, type Piece, runningText, shortNumber } from "../base/text.ts";
import { float32Row } from "../base/bytes.ts";

export interface Starts {
  /** Standard deviations, rising, with the loss of each, and the share of places with the token just read on top. */
  stds: number[];
  losses: number[];
  echoes: number[];
  /** By id. */
  tokens: string[];
  /** Ids [sentence][place]: what was just read, and what should be written next. */
  read: number[][];
  wanted: number[][];
  /** float32 [std, place of all sentences, vocab] */
  logits: DataView;
}

/** `index` is that of the standard deviation. */
export interface Chosen {
  index: number;
  sentence: number;
  place: number;
}

/** The logit of every token at the chosen place, [vocab]. */
export function logitsAt({ read, tokens, logits }: Starts, { index, sentence, place }: Chosen): number[] {
  const placesOf = (sentences: number[][]) => sentences.reduce((sum, ids) => sum + ids.length, 0);
  const row = index * placesOf(read) + placesOf(read.slice(0, sentence)) + place;
  return float32Row(logits, row, tokens.length);
}

/** The loss of a model that bets evenly on all tokens. */
export const evenLoss = ({ tokens }: Pick<Starts, "tokens">): number => Math.log(tokens.length);

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
