// What the training scrubber reads and works out: runs, heads at a moment, and how to say it.

import { differences } from "../base/js/text_difference.js";
import { halfTable } from "../base/js/weights.js";

/** The numbers in the bytes of a message (a DataView), which may start at any offset. */
export function numbersIn(bytes, Type) {
  return new Type(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** A run as it is sent, with its numbers as numbers; `momentLosses` is flat, [moment, sentence]. */
export function readRun(run) {
  return {
    ...run,
    momentLosses: numbersIn(run.momentLosses, Float32Array),
    steps: numbersIn(run.steps, Float64Array),
    losses: numbersIn(run.losses, Float32Array),
  };
}

/** A kind of attention of one sentence: `halves` are bit patterns [moment, layer, head, query, key]. */
export function readKind(sent) {
  const [layers, heads, rows, cols] = sent.shape;
  const masked = numbersIn(sent.masked, Uint8Array);
  return {
    ...sent,
    layers,
    heads,
    rows,
    cols,
    masked: masked.includes(1) ? masked : null,
    halves: numbersIn(sent.weights, Uint16Array),
    entropies: numbersIn(sent.entropies, Float32Array), // [moment, layer, head]
  };
}

/** One head's weights at a moment, a Float32Array [query, key]. */
export function headAtMoment({ halves, layers, heads, rows, cols }, moment, layer, head) {
  const table = halfTable();
  const start = ((moment * layers + layer) * heads + head) * rows * cols;
  const weights = new Float32Array(rows * cols);
  for (let i = 0; i < weights.length; i++) weights[i] = table[halves[start + i]];
  return weights;
}

let halfBytes = null;

/** All heads at a moment as bytes, 255 for a weight of 1: {values [layer, head, query, key], rows, cols}. */
export function overviewAtMoment({ halves, layers, heads, rows, cols }, moment) {
  halfBytes ??= Uint8Array.from(halfTable(), (value) =>
    Math.min(255, Math.max(0, Math.round(255 * value || 0))),
  );
  const size = layers * heads * rows * cols;
  const values = new Uint8Array(size);
  for (let i = 0; i < size; i++) values[i] = halfBytes[halves[moment * size + i]];
  return { values, rows, cols };
}

/** The place in a rising list that is nearest to a step; of two alike, the earlier. */
export function nearestTo(steps, step) {
  let best = 0;
  for (let i = 1; i < steps.length; i++) {
    if (Math.abs(steps[i] - step) < Math.abs(steps[best] - step)) best = i;
  }
  return best;
}

/** A loss in a few digits. */
export function shownLoss(loss) {
  if (!Number.isFinite(loss)) return "not a number";
  return loss === 0 || loss >= 0.01 ? loss.toFixed(2) : loss.toPrecision(1);
}

/** The step and the losses at a moment, in words. */
export function factsOf({ moments, steps, losses, momentLosses, sources }, moment, sentence) {
  const told = [`Step ${moments[moment]} of ${moments.at(-1)}`];
  if (losses.length) {
    const record = nearestTo(steps, moments[moment]);
    const where = steps[record] === moments[moment] ? "" : ` (at step ${steps[record]})`;
    told.push(`training loss ${shownLoss(losses[record])}${where}`);
  }
  told.push(`this sentence’s ${shownLoss(momentLosses[moment * sources.length + sentence])} nats a token`);
  return told.join(" · ");
}

/** Words between white space. */
export function wordsIn(text) {
  return text.split(/\s+/).filter(Boolean);
}

/**
 * A translation beside its reference: the `words` of both as [{text, differs}], whether it is
 * `right`, and that in words, `verdict`.
 */
export function compareWords(translation, reference) {
  const [said, wanted] = [wordsIn(translation), wordsIn(reference)];
  const [extra, missing] = differences(said, wanted);
  const count = Math.max(extra.filter(Boolean).length, missing.filter(Boolean).length);
  const marked = (words, flags) => words.map((text, i) => ({ text, differs: flags[i] }));
  return {
    said: marked(said, extra),
    wanted: marked(wanted, missing),
    right: count === 0,
    verdict: count === 0 ? "✓ right" : `✗ not yet: ${count} ${count === 1 ? "word differs" : "words differ"}`,
  };
}

/** How broadly a head looks at a moment, beside how it began. */
export function entropyInWords({ entropies, layers, heads }, moments, moment, layer, head) {
  const at = (index) => entropies[(index * layers + layer) * heads + head];
  const [first, now] = [at(0), at(moment)];
  if (Number.isNaN(now)) return "No query of this head has a choice, so it has no entropy.";
  if (moment === 0)
    return `Entropy ${now.toFixed(2)} of the most there can be: 1 looks everywhere alike, 0 at one word.`;
  return `Entropy ${first.toFixed(2)} of the most there can be at step ${moments[0]}, ${now.toFixed(2)} now.`;
}

/** A head's strongest weight, in words, for who cannot see the picture. */
export function strongestInWords({ queries, keys, cols }, weights, visibleText) {
  let best = 0;
  for (let i = 1; i < weights.length; i++) if (weights[i] > weights[best]) best = i;
  const [query, key] = [Math.floor(best / cols), best % cols];
  return `Strongest weight: ${visibleText(queries[query])} to ${visibleText(keys[key])}, ${weights[best].toFixed(2)}.`;
}
