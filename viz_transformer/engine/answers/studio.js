// The studio's answers: what shows another text in a room that has none to set. labs/studio.py answers the same
// requests in the kernel.

import { NotInPage } from "../errors.js";
import { rawTrace } from "./raw_trace.js";

/** By the room's key, the values of its traits that show a text. */
const FOLLOWING = {
  heads: (model, text) => ({ data: { traces: [rawTrace(model.trace(text))] } }),
  masks: (model, text) => batchTraits(batchOf(text).map((each) => model.trace(each))),
  positions: (model, text) => wordTraits(model.vocabulary.wordsOf(text)),
};

/**
 * @param {Record<string, any>} models one, under the name ""
 * @param {{ text?: string, room?: string }} request
 */
export function answerStudio({ "": model }, { text, room }) {
  if (text === undefined) throw new NotInPage("a room is made by Python");
  return { traits: FOLLOWING[room](model, text) };
}

/** A text and its first half, which needs padding beside it. */
function batchOf(text) {
  const words = text.trim().split(/\s+/);
  return [text, words.slice(0, Math.ceil(words.length / 2)).join(" ")];
}

/** A mask lab's: all words of a batch, and nothing chosen in them. */
function batchTraits(traces) {
  const words = {
    source: traces.map(({ sourceTokens, outputTokens }) =>
      sourceTokens.length ? sourceTokens : outputTokens,
    ),
    target: traces.map(({ sourceTokens, targetTokens }) =>
      targetTokens.length ? targetTokens : sourceTokens,
    ),
    written: traces.map(({ sourceTokens, outputTokens }) => outputTokens ?? sourceTokens),
  };
  const lengths = words.source.map((tokens, i) => Math.max(tokens.length, words.target[i].length));
  return { words, lengths, painted: [], sentence: 0, query: null, key: null, edited: 0 };
}

/** A position lab's: the words, as written and reversed. */
function wordTraits(words) {
  const order = words.map((_, i) => i);
  return { words, orders: words.length > 1 ? [order, order.toReversed()] : [order], order };
}
