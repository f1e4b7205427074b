// Greedy search: the most probable word at each step; viz_transformer/decoding/greedy.py does the same.

import { openText } from "./constraints.js";
import { topIds } from "./distribution.js";

/**
 * Write a text by taking the most probable word each time; of equal ones the lowest id.
 *
 * @param {any} model
 * @param {number[]} given
 * @param {import("../vocabulary.js").Vocabulary} vocabulary
 * @param {{ maxLength?: number | null, interventions?: object | null }} options
 * @returns {number[]} ids, without `<sos>` and `<eos>`
 */
export function greedy(model, given, vocabulary, options = {}) {
  const { steps, firstId, constraints } = openText(model, given, vocabulary, options);
  const ids = [];
  let id = firstId;
  while (true) {
    const [logits] = steps.step([id]); // [vocab]
    [id] = topIds(constraints.forbid(logits, ids.length), 1);
    if (id === vocabulary.eosId) return ids; // at its maximum a text can but end
    ids.push(id);
  }
}
