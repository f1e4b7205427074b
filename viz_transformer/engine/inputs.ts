// Checks of what a model is given: token ids and masks.

import { UserError } from "./errors.ts";

/** Check that there are ids, in range and not too many. */
export function checkIds(name: string, ids: ArrayLike<number>, vocabSize: number, maxLength: number) {
  if (!ids?.length) {
    throw new UserError(
      `${name} has shape [1, 0], but a sentence has at least one id; give a text with words`,
    );
  }
  checkLength(name, [1, ids.length], ids.length, maxLength);
  checkRange(name, [1, ids.length], ids, vocabSize);
}

/** Check the next ids of texts under way, one for each text, all at one position. */
export function checkNextIds(ids: ArrayLike<number>, vocabSize: number, maxLength: number, position: number) {
  checkLength("target_ids", [ids.length, 1], position + 1, maxLength);
  checkRange("target_ids", [ids.length, 1], ids, vocabSize);
}

function checkLength(name: string, shape: number[], end: number, maxLength: number) {
  if (end <= maxLength) return;
  throw new UserError(
    `${name} of shape [${shape.join(", ")}] reaches position ${end}, but the model's max_length is ` +
      `${maxLength}; shorten the text, or make a model with a larger max_length`,
  );
}

function checkRange(name: string, shape: number[], ids: ArrayLike<number>, vocabSize: number) {
  for (let i = 0; i < ids.length; i++) {
    if (Number.isInteger(ids[i]) && ids[i] >= 0 && ids[i] < vocabSize) continue;
    throw new UserError(
      `${name} of shape [${shape.join(", ")}] holds the id ${ids[i]}, but vocab_size is ${vocabSize}: ids ` +
        `go from 0 to ${vocabSize - 1}; encode the text with the vocabulary that the model was made for`,
    );
  }
}

/** Check that a mask has a number for every query and key. */
export function checkMask(kind: string, mask: Uint8Array, nQueries: number, nKeys: number) {
  if (mask.length === nQueries * nKeys) return;
  throw new UserError(
    `the ${kind} mask holds ${mask.length} numbers, but there are ${nQueries} queries and ${nKeys} keys; ` +
      `give ${nQueries * nKeys}, query after query, each 1 for 'may attend' or 0`,
  );
}
