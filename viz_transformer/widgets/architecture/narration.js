// What the picture shows now, in words, and which word is chosen.

import { visible } from "../base/js/text.js";

/**
 * The chosen word of each stack: the row if it has come. Else the newest that the decoder has read, and
 * in the encoder, which reads all at once, the gap, or the second word.
 */
export function chosenWords(stacks, rows, row, source) {
  return Object.fromEntries(
    stacks.map(({ stack, boxes }) => {
      const newest = Math.max(...boxes.map(({ key }) => rows.get(key) ?? 0)) - 1;
      const usual = stack === "decoder" ? newest : firstChosen(source);
      return [stack, Math.min(row ?? usual, newest)];
    }),
  );
}

/** The gap of a sentence, or its second word. */
export function firstChosen(source) {
  return Math.max(1, source.indexOf("<mask>"));
}

/** What happens at a step, in words. */
export function narration({ reply, parts, boxes }, steps, step) {
  const { box, word } = steps[step];
  const { part, stack, layer } = boxes.find(({ key }) => key === box);
  const where = layer === null ? stack : `${stack} layer ${layer}`;
  const told = `Step ${step + 1} of ${steps.length}: ${where}, ${parts[part].name}. `;
  if (word === null) return `${told}All ${reply.source.length} tokens go through it at once.`;
  const token = `“${visible(reply.target[word])}”`;
  if (part !== "output")
    return `${told}Token ${word + 1} of ${reply.target.length}, ${token}, goes through it.`;
  return `${told}After ${token} comes “${visible(reply.written[word])}”.`;
}
