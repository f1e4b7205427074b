// A sentence read again after an edit: only the rows that the edit reaches are computed again.
//
// A position's vector changes if its word or its mask did, or if it attends to a position that changed.
// All others keep their vectors, keys and values, to the last bit.

import { keysValuesOf, type KeysValues } from "./attention.ts";
import { embed, outputVocabSize, type Embedding } from "./embedding.ts";
import { checkIds } from "./inputs.ts";
import { UNCHANGED } from "./interventions.ts";
import { countTo, linear, makeMatrix, type Matrix } from "./matrix.ts";
import type { Model } from "./model.ts";
import { runStack, type Stack } from "./stacks.ts";
import type { Kind } from "./trace.ts";

interface MaskedSentence {
  /** What the encoder reads, [source]. */
  source: number[];
  /** What the decoder reads, [target]. */
  target: number[];
  /** Of each kind, [query, key]. */
  masks: Record<Kind, Uint8Array>;
}

/** What a stack made of a sentence */
interface StackReading {
  /** That were computed, and not taken from an earlier reading. */
  rows: number[];
  /** [position, d_model] */
  x: Matrix;
  /** Of each layer. */
  keysValues: KeysValues[];
}

export interface Reading {
  sentence: MaskedSentence;
  encoder: StackReading | null;
  /** What each layer's cross-attention looks at. */
  sources: KeysValues[] | null;
  decoder: StackReading | null;
}

/**
 * Read a sentence up to the stack that has a kind of attention. If it is an edit of a sentence that was read
 * `before`, its words stand where they stood, and there may be more after them.
 */
export function readSentence(
  model: Model,
  kind: Kind,
  sentence: MaskedSentence,
  before: Reading | null = null,
): Reading {
  const encoder = model.encoder && readSource(model, sentence, before);
  if (kind === "encoder") return { sentence, encoder, sources: null, decoder: null };
  const sources = encoder && readSources(model.decoder!, encoder, before);
  const decoder = readTarget(model, sentence, encoder?.rows ?? [], sources, before);
  return { sentence, encoder, sources, decoder };
}

/**
 * What the model makes of the rows that were computed: logits, or of the encoder its vectors. [row, feature]
 */
export function outputsOf(model: Model, { encoder, decoder }: Reading): { rows: number[]; outputs: Matrix } {
  const { rows, x } = (decoder ?? encoder)!;
  const vectors = makeMatrix(rows.length, x.cols, chosenRows(x.data, x.cols, rows)); // [row, d_model]
  return { rows, outputs: decoder ? linear(vectors, model.output!) : vectors };
}

function readSource(model: Model, { source, masks }: MaskedSentence, before: Reading | null) {
  const { config, encoder, sourceEmbedding } = model;
  checkIds("source_ids", source, config.vocab_size, config.max_length);
  const was = before?.sentence;
  const edited = (row: number) =>
    !was ||
    source[row] !== was.source[row] ||
    !sameRow(row, masks.encoder, source, was.masks.encoder, was.source);
  const rows = reachedRows(edited, masks.encoder, source.length);
  return readRows(encoder!, sourceEmbedding!, source, rows, masks.encoder, before?.encoder ?? null);
}

function readTarget(
  model: Model,
  { source, target, masks }: MaskedSentence,
  sourceRows: number[],
  sources: KeysValues[] | null,
  before: Reading | null,
) {
  const { config, decoder, targetEmbedding } = model;
  checkIds("target_ids", target, outputVocabSize(config), config.max_length);
  const was = before?.sentence;
  const looksAtEdit = (row: number) => sourceRows.some((key) => masks.cross[row * source.length + key] > 0);
  const edited = (row: number) =>
    !was ||
    target[row] !== was.target[row] ||
    !sameRow(row, masks.decoder, target, was.masks.decoder, was.target) ||
    !sameRow(row, masks.cross, source, was.masks.cross, was.source) ||
    looksAtEdit(row);
  const rows = reachedRows(edited, masks.decoder, target.length);
  const sourceMask = sources && chosenRows(masks.cross, source.length, rows); // [row, source]
  return readRows(decoder!, targetEmbedding!, target, rows, masks.decoder, before?.decoder ?? null, {
    sources,
    sourceMask,
  });
}

/** Whether a query may attend to the same of the keys that there were before. */
function sameRow(
  row: number,
  mask: Uint8Array,
  keys: number[],
  maskBefore: Uint8Array,
  keysBefore: number[],
) {
  const may = mask.subarray(row * keys.length);
  return maskBefore
    .subarray(row * keysBefore.length, (row + 1) * keysBefore.length)
    .every((couldBefore, key) => couldBefore === may[key]);
}

/** The rows that are edited, and those that attend to one, directly or through others. */
function reachedRows(edited: (row: number) => boolean, mask: Uint8Array, length: number) {
  const all = countTo(length);
  const attendsTo = (rows: number[]) => (row: number) =>
    rows.includes(row) || rows.some((key) => mask[row * length + key] > 0);
  let [before, reached]: number[][] = [[], all.filter(edited)];
  while (reached.length > before.length) [before, reached] = [reached, all.filter(attendsTo(reached))];
  return reached;
}

function readRows(
  stack: Stack,
  embedding: Embedding,
  ids: number[],
  rows: number[],
  mask: Uint8Array,
  before: StackReading | null,
  cross: Pick<Parameters<typeof runStack>[2], "sources" | "sourceMask"> = {},
): StackReading {
  if (!rows.length) return { ...before!, rows };
  const length = ids.length;
  const chosen = rows.map((row) => ids[row]);
  const { x, layers } = runStack(stack, embed(embedding, chosen, rows, UNCHANGED), {
    positions: rows,
    masks: [chosenRows(mask, length, rows)], // [row, position]
    interventions: UNCHANGED,
    among: stack.layers.map((_, layer) => (fresh) => [
      placedKeysValues(before?.keysValues[layer], fresh, rows, length),
    ]),
    ...cross,
  });
  const keysValues = layers.map((layer) => layer.keysValues[0]);
  return { rows, x: placed(before?.x, x, rows, length), keysValues };
}

/** The keys and values that each layer's cross-attention makes of the encoder's output. */
function readSources(decoder: Stack, { rows, x }: StackReading, before: Reading | null) {
  if (!rows.length) return before!.sources!;
  const fresh = makeMatrix(rows.length, x.cols, chosenRows(x.data, x.cols, rows)); // [row, d_model]
  return decoder.layers.map(({ crossAttention }, layer) =>
    placedKeysValues(before?.sources?.[layer], keysValuesOf(crossAttention!, fresh), rows, x.rows),
  );
}

function placedKeysValues(
  before: KeysValues | undefined,
  { keys, values }: KeysValues,
  rows: number[],
  length: number,
) {
  return {
    keys: placed(before?.keys, keys, rows, length),
    values: placed(before?.values, values, rows, length),
  };
}

/** A matrix of `length` rows: some fresh, and the others as they were. */
function placed(before: Matrix | undefined, fresh: Matrix, rows: number[], length: number) {
  if (rows.length === length) return fresh;
  const whole = makeMatrix(length, fresh.cols);
  whole.data.set(before!.data);
  for (const [i, row] of rows.entries())
    whole.data.set(fresh.data.subarray(i * fresh.cols, (i + 1) * fresh.cols), row * fresh.cols);
  return whole;
}

/** Some rows of a matrix, copied, one after the other. */
function chosenRows<T extends Float32Array | Uint8Array>(data: T, cols: number, rows: number[]): T {
  const chosen = data.slice(0, rows.length * cols) as T;
  for (const [i, row] of rows.entries()) chosen.set(data.subarray(row * cols, (row + 1) * cols), i * cols);
  return chosen;
}
