// Recorded runs: their numbers, their heads at a moment, and their description in words.

import { TASKS } from "../base/tasks.ts";
import { differences } from "../base/text_difference.ts";
import { formatNumber, quoted, shortNumber } from "../base/text.ts";
import { halfTable } from "../base/weights.ts";

/**
 * A run as the page reads it.
 *
 * @typedef {object} Run
 * @property {string} name
 * @property {string} task translate, continue or fill
 * @property {string[]} sources
 * @property {string[]} references
 * @property {number[]} moments the step of each moment
 * @property {string[][]} translations [moment][sentence]
 * @property {Float32Array} momentLosses [moment, sentence]
 * @property {Float64Array} steps [record]
 * @property {Float32Array} losses [record]
 */

/**
 * One kind of attention of one sentence.
 *
 * @typedef {object} KindEntry
 * @property {string} kind
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {number} layers
 * @property {number} heads
 * @property {number} rows
 * @property {number} cols
 * @property {Uint8Array | null} masked [query, key]
 * @property {Uint16Array} halves float16 bit patterns [moment, layer, head, query, key]
 * @property {Float32Array} entropies [moment, layer, head]
 * @property {[number, number]} [widest] the widest query and key in pixels, measured once
 */

/**
 * The numbers in the bytes of a message, which may start at any offset.
 *
 * @template T
 * @param {DataView} bytes
 * @param {new (buffer: ArrayBuffer) => T} Type
 * @returns {T}
 */
export function typedArrayOf(bytes, Type) {
  const { buffer, byteOffset, byteLength } = bytes;
  return new Type(/** @type {ArrayBuffer} */ (buffer.slice(byteOffset, byteOffset + byteLength)));
}

/**
 * A run as it is sent, with its bytes as numbers.
 *
 * @param {any} run
 * @returns {Run}
 */
export function readRun(run) {
  return {
    ...run,
    momentLosses: typedArrayOf(run.momentLosses, Float32Array),
    steps: typedArrayOf(run.steps, Float64Array),
    losses: typedArrayOf(run.losses, Float32Array),
  };
}

/**
 * A kind of attention of one sentence as it is sent, with its bytes as numbers.
 *
 * @param {any} sent
 * @returns {KindEntry}
 */
export function readKind(sent) {
  const [layers, heads, rows, cols] = sent.shape;
  const masked = typedArrayOf(sent.masked, Uint8Array);
  return {
    ...sent,
    layers,
    heads,
    rows,
    cols,
    masked: masked.includes(1) ? masked : null,
    halves: typedArrayOf(sent.weights, Uint16Array),
    entropies: typedArrayOf(sent.entropies, Float32Array), // [moment, layer, head]
  };
}

/**
 * One head's weights at a moment, [query, key].
 *
 * @param {KindEntry} entry
 * @param {number} moment
 * @param {number} layer
 * @param {number} head
 * @returns {Float32Array}
 */
export function headAtMoment({ halves, layers, heads, rows, cols }, moment, layer, head) {
  const table = halfTable();
  const start = ((moment * layers + layer) * heads + head) * rows * cols;
  const weights = new Float32Array(rows * cols);
  for (let i = 0; i < weights.length; i++) weights[i] = table[halves[start + i]];
  return weights;
}

let halfBytes = null;

/**
 * All heads at a moment as bytes [layer, head, query, key], 255 for a weight of 1.
 *
 * @param {KindEntry} entry
 * @param {number} moment
 * @returns {{ values: Uint8Array, rows: number, cols: number }}
 */
export function overviewAtMoment({ halves, layers, heads, rows, cols }, moment) {
  halfBytes ??= Uint8Array.from(halfTable(), (value) =>
    Math.min(255, Math.max(0, Math.round(255 * value || 0))),
  );
  const size = layers * heads * rows * cols;
  const values = new Uint8Array(size);
  for (let i = 0; i < size; i++) values[i] = halfBytes[halves[moment * size + i]];
  return { values, rows, cols };
}

/**
 * The index of the step in a rising list that is nearest to another; of two alike, the earlier.
 *
 * @param {ArrayLike<number>} steps
 * @param {number} step
 * @returns {number}
 */
export function nearestIndex(steps, step) {
  let best = 0;
  for (let i = 1; i < steps.length; i++) {
    if (Math.abs(steps[i] - step) < Math.abs(steps[best] - step)) best = i;
  }
  return best;
}

/**
 * A loss in a few digits.
 *
 * @param {number} loss
 * @returns {string}
 */
export function formatLoss(loss) {
  if (!Number.isFinite(loss)) return "not a number";
  return loss === 0 || loss >= 0.01 ? formatNumber(loss, 2) : shortNumber(loss, 1);
}

/**
 * The step and the losses at a moment, in words.
 *
 * @param {Run} run
 * @param {number} moment
 * @param {number} sentence
 * @returns {string}
 */
export function describeMoment({ moments, steps, losses, momentLosses, sources }, moment, sentence) {
  const facts = [`Step ${moments[moment]} of ${moments.at(-1)}`];
  if (losses.length) {
    const record = nearestIndex(steps, moments[moment]);
    const where = steps[record] === moments[moment] ? "" : ` (at step ${steps[record]})`;
    facts.push(`training loss ${formatLoss(losses[record])}${where}`);
  }
  facts.push(
    `this sentence’s ${formatLoss(momentLosses[moment * sources.length + sentence])} nats per token`,
  );
  return facts.join(" · ");
}

function splitWords(text) {
  return text.split(/\s+/).filter(Boolean);
}

/**
 * A translation beside its reference: the words of both, whether it is right, and that in words.
 *
 * @param {string} translation
 * @param {string} reference
 * @param {string} [task]
 * @returns {{ translation: { text: string, differs: boolean }[], right: boolean, verdict: string,
 *   reference: { text: string, differs: boolean }[] }}
 */
export function compareWords(translation, reference, task = "translate") {
  const [written, right] = [splitWords(translation), splitWords(reference)];
  const [extra, missing] = differences(written, right);
  const count = Math.max(extra.filter(Boolean).length, missing.filter(Boolean).length);
  const marked = (words, flags) => words.map((text, i) => ({ text, differs: flags[i] }));
  return {
    translation: marked(written, extra),
    reference: marked(right, missing),
    right: count === 0,
    verdict:
      count === 0
        ? TASKS[task].verdicts[0]
        : `${TASKS[task].verdicts[1]}: ${count} ${count === 1 ? "word differs" : "words differ"}`,
  };
}

/**
 * How broadly a head attends at a moment, beside how it began.
 *
 * @param {Pick<KindEntry, "entropies" | "layers" | "heads">} entry
 * @param {number[]} moments
 * @param {number} moment
 * @param {number} layer
 * @param {number} head
 * @returns {string}
 */
export function describeEntropy({ entropies, layers, heads }, moments, moment, layer, head) {
  const at = (index) => entropies[(index * layers + layer) * heads + head];
  const [first, now] = [at(0), at(moment)];
  if (Number.isNaN(now)) return "No query of this head has a choice, so it has no entropy.";
  if (moment === 0)
    return `Entropy ${now.toFixed(2)} of its maximum: 1 is spread evenly, 0 is all on one word.`;
  return `Entropy ${first.toFixed(2)} of its maximum at step ${moments[0]}, ${now.toFixed(2)} now.`;
}

/**
 * A head's strongest weight, in words, for those who cannot see the picture.
 *
 * @param {Pick<KindEntry, "queries" | "keys" | "cols">} entry
 * @param {Float32Array} weights [query, key]
 * @returns {string}
 */
export function describeStrongest(entry, weights) {
  const [query, key] = strongestCell(entry, weights);
  const weight = weights[query * entry.cols + key].toFixed(2);
  return `Strongest weight: ${quoted(entry.queries[query])} to ${quoted(entry.keys[key])}, ${weight}.`;
}

/** The row and the column of a head's strongest weight, the first of equals. */
export function strongestCell({ cols }, weights) {
  let best = 0;
  for (let i = 1; i < weights.length; i++) if (weights[i] > weights[best]) best = i;
  return [Math.floor(best / cols), best % cols];
}
