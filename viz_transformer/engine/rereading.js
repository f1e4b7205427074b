// A sentence read again after an edit: only the rows that the edit reaches are computed again.
//
// A position's vector changes if its word or its mask did, or if it attends to a position that changed.
// All others keep their vectors, keys and values, to the last bit.

import { keysValuesOf } from "./attention.js";
import { embed, outputVocabSize } from "./embedding.js";
import { checkIds } from "./inputs.js";
import { checkedInterventions } from "./interventions.js";
import { linear, makeMatrix } from "./matrix.js";
import { runStack } from "./stacks.js";

/**
 * @import { KeysValues } from "./attention.js"
 * @import { Matrix } from "./matrix.js"
 * @import { Model } from "./model.js"
 *
 * @typedef {object} MaskedSentence
 * @property {number[]} source what the encoder reads, [source]
 * @property {number[]} target what the decoder reads, [target]
 * @property {Record<"encoder" | "decoder" | "cross", Uint8Array>} masks of each kind, [query, key]
 *
 * @typedef {object} StackReading what a stack made of a sentence
 * @property {number[]} rows that were computed, and not taken from an earlier reading
 * @property {Matrix} x [position, d_model]
 * @property {KeysValues[]} keysValues of each layer
 *
 * @typedef {object} Reading
 * @property {MaskedSentence} sentence
 * @property {StackReading | null} encoder
 * @property {KeysValues[] | null} sources what each layer's cross-attention looks at
 * @property {StackReading | null} decoder
 */

/**
 * Read a sentence up to the stack that has a kind of attention.
 *
 * @param {Model} model
 * @param {string} kind
 * @param {MaskedSentence} sentence
 * @param {Reading | null} before of a sentence that this one is an edit of: its words stand where they
 *   stood, and there may be more after them
 * @returns {Reading}
 */
export function readSentence(model, kind, sentence, before = null) {
  const encoder = model.encoder && readSource(model, sentence, before);
  if (kind === "encoder") return { sentence, encoder, sources: null, decoder: null };
  const sources = encoder && readSources(model.decoder, encoder, before);
  const decoder = readTarget(model, sentence, encoder?.rows ?? [], sources, before);
  return { sentence, encoder, sources, decoder };
}

/**
 * What the model makes of the rows that were computed: logits, or of the encoder its vectors.
 *
 * @param {Model} model
 * @param {Reading} reading
 * @returns {{ rows: number[], outputs: Matrix }} the outputs [row, feature]
 */
export function outputsOf(model, { encoder, decoder }) {
  const { rows, x } = decoder ?? encoder;
  const vectors = makeMatrix(rows.length, x.cols, chosenRows(x.data, x.cols, rows)); // [row, d_model]
  return { rows, outputs: decoder ? linear(vectors, model.output) : vectors };
}

function readSource(model, { source, masks }, before) {
  const { config, encoder, sourceEmbedding } = model;
  checkIds("source_ids", source, config.vocab_size, config.max_length);
  const was = before?.sentence;
  const edited = (row) =>
    source[row] !== was?.source[row] || !sameRow(row, masks.encoder, source, was.masks.encoder, was.source);
  const rows = reachedRows(edited, masks.encoder, source.length);
  return readRows(encoder, sourceEmbedding, source, rows, masks.encoder, before?.encoder);
}

function readTarget(model, { source, target, masks }, sourceRows, sources, before) {
  const { config, decoder, targetEmbedding } = model;
  checkIds("target_ids", target, outputVocabSize(config), config.max_length);
  const was = before?.sentence;
  const looksAtEdit = (row) => sourceRows.some((key) => masks.cross[row * source.length + key]);
  const edited = (row) =>
    target[row] !== was?.target[row] ||
    !sameRow(row, masks.decoder, target, was.masks.decoder, was.target) ||
    !sameRow(row, masks.cross, source, was.masks.cross, was.source) ||
    looksAtEdit(row);
  const rows = reachedRows(edited, masks.decoder, target.length);
  const sourceMask = sources && chosenRows(masks.cross, source.length, rows); // [row, source]
  return readRows(decoder, targetEmbedding, target, rows, masks.decoder, before?.decoder, {
    sources,
    sourceMask,
  });
}

/** Whether a query may attend to the same of the keys that there were before. */
function sameRow(row, mask, keys, maskBefore, keysBefore) {
  const may = mask.subarray(row * keys.length);
  return maskBefore
    .subarray(row * keysBefore.length, (row + 1) * keysBefore.length)
    .every((couldBefore, key) => couldBefore === may[key]);
}

/** The rows that are edited, and those that attend to one, directly or through others. */
function reachedRows(edited, mask, length) {
  const all = Array.from({ length }, (_, row) => row);
  const attendsTo = (rows) => (row) => rows.includes(row) || rows.some((key) => mask[row * length + key]);
  let [before, reached] = [[], all.filter(edited)];
  while (reached.length > before.length) [before, reached] = [reached, all.filter(attendsTo(reached))];
  return reached;
}

/** @returns {StackReading} */
function readRows(stack, embedding, ids, rows, mask, before, cross = {}) {
  if (!rows.length) return { ...before, rows };
  const length = ids.length;
  const interventions = checkedInterventions(null, null);
  const chosen = rows.map((row) => ids[row]);
  const { x, layers } = runStack(stack, embed(embedding, chosen, rows, interventions), {
    positions: rows,
    masks: [chosenRows(mask, length, rows)], // [row, position]
    interventions,
    among: stack.layers.map((_, layer) => (fresh) => [
      placedKeysValues(before?.keysValues[layer], fresh, rows, length),
    ]),
    ...cross,
  });
  const keysValues = layers.map((layer) => layer.keysValues[0]);
  return { rows, x: placed(before?.x, x, rows, length), keysValues };
}

/** The keys and values that each layer's cross-attention makes of the encoder's output. */
function readSources(decoder, { rows, x }, before) {
  if (!rows.length) return before.sources;
  const fresh = makeMatrix(rows.length, x.cols, chosenRows(x.data, x.cols, rows)); // [row, d_model]
  return decoder.layers.map(({ crossAttention }, layer) =>
    placedKeysValues(before?.sources[layer], keysValuesOf(crossAttention, fresh), rows, x.rows),
  );
}

function placedKeysValues(before, { keys, values }, rows, length) {
  return {
    keys: placed(before?.keys, keys, rows, length),
    values: placed(before?.values, values, rows, length),
  };
}

/** A matrix of `length` rows: some fresh, and the others as they were. */
function placed(before, fresh, rows, length) {
  if (rows.length === length) return fresh;
  const whole = makeMatrix(length, fresh.cols);
  whole.data.set(before.data);
  for (const [i, row] of rows.entries())
    whole.data.set(fresh.data.subarray(i * fresh.cols, (i + 1) * fresh.cols), row * fresh.cols);
  return whole;
}

/** Some rows of a matrix, copied, one after the other. */
function chosenRows(data, cols, rows) {
  const chosen = new data.constructor(rows.length * cols);
  for (const [i, row] of rows.entries()) chosen.set(data.subarray(row * cols, (row + 1) * cols), i * cols);
  return chosen;
}
