// The measured starts as the page reads them.

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
  return tokens.map((_, id) => logits.getFloat32(4 * (row * tokens.length + id), true));
}

/** The loss of a model that bets evenly on all tokens. */
export const evenLoss = ({ tokens }: Pick<Starts, "tokens">): number => Math.log(tokens.length);
