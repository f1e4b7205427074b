// The studio's answers: what shows another text in a room that has none to set. widgets/studio/live.py answers the
// same requests in the kernel.

import { NotInPage } from "../errors.ts";
import type { AnyTextModel, Models } from "../text_model.ts";
import type { Trace } from "../trace.ts";
import { rawTrace } from "./bytes.ts";

/** By the room's key, the values of its traits that show a text. */
const FOLLOWING: Record<string, (model: AnyTextModel, text: string) => object> = {
  heads: (model, text) => ({ data: { traces: [rawTrace(model.trace(text))] } }),
  masks: (model, text) => batchTraits(batchOf(text).map((each) => model.trace(each))),
  positions: (model, text) => {
    model.trace(text); // refuses what the model cannot read
    return wordTraits(model.vocabulary.wordsOf(text));
  },
};

export function answerStudio({ "": model }: Models, { text, room }: { text?: string; room?: string }) {
  const follow = FOLLOWING[room ?? ""];
  if (text === undefined || !follow) throw new NotInPage("a room is made by Python");
  return { traits: follow(model, text) };
}

/** A text and its first half, which needs padding beside it. */
function batchOf(text: string): string[] {
  const words = text.trim().split(/\s+/);
  return [text, words.slice(0, Math.ceil(words.length / 2)).join(" ")];
}

/** A mask lab's: all words of a batch, and nothing chosen in them. */
function batchTraits(traces: Trace[]) {
  const written = traces.map(({ sourceTokens, outputTokens }) => outputTokens ?? sourceTokens);
  const either = (tokens: string[], others: string[]) => (tokens.length ? tokens : others);
  const words = {
    source: traces.map(({ sourceTokens }, i) => either(sourceTokens, written[i])),
    target: traces.map(({ sourceTokens, targetTokens }) => either(targetTokens, sourceTokens)),
    written,
  };
  const lengths = words.source.map((tokens, i) => Math.max(tokens.length, words.target[i].length));
  return { words, lengths, painted: [], sentence: 0, query: null, key: null, edited: 0 };
}

/** A position lab's: the words, as written and reversed. */
function wordTraits(words: string[]) {
  const order = words.map((_, i) => i);
  return { words, orders: words.length > 1 ? [order, order.toReversed()] : [order], order };
}
