// A padded batch and the mask over it, as a mask lab's request holds them: tokens become ids.

import { repr, shortened, UserError } from "../errors.ts";
import { causalMask, joinMasks, paddingMask } from "../masks.ts";
import type { Kind } from "../trace.ts";
import type { Vocabulary } from "../vocabulary.ts";

/** A batch as a request holds it: padded rows of tokens, and a mask [batch][query][key]. */
export interface Batch {
  sources: string[][];
  targets: string[][];
  mask: number[][][];
}

/** One sentence of a batch. */
export interface MaskedSentence {
  /** What the encoder reads, [source]. */
  source: number[];
  /** What the decoder reads, [target]. */
  target: number[];
  /** That is tried, [query, key], 1 = may attend. */
  mask: Uint8Array;
  /** The right mask of each kind. */
  correct: Record<Kind, Uint8Array>;
}

/** By kind of attention, whose tokens are its queries and whose are its keys. */
export const SIDES_OF: Record<Kind, Record<"query" | "key", "source" | "target">> = {
  encoder: { query: "source", key: "source" },
  decoder: { query: "target", key: "target" },
  cross: { query: "target", key: "source" },
};

/** The sentences of a batch, for a mask of one kind of attention. */
export function readBatch(vocabulary: Vocabulary, kind: Kind, given: Batch): MaskedSentence[] {
  if (!isBatch(given, kind)) {
    throw new UserError(
      `${shortened(repr(given), 80)} is not a batch; give sources and targets as padded rows of known tokens, ` +
        "and a mask [batch][query][key]",
    );
  }
  return given.mask.map((rows, b) => {
    const [source, target] = [vocabulary.idsOf(given.sources[b]), vocabulary.idsOf(given.targets[b])];
    return {
      source,
      target,
      mask: Uint8Array.from(rows.flat()), // [query, key]
      correct: correctMasks(source, target, vocabulary.padId),
    };
  });
}

/** Whether there are as many tokens in each row, and a mask over them. */
function isBatch(given: Partial<Batch> | null, kind: Kind): given is Batch {
  const { sources, targets, mask } = given ?? {};
  const fit = <T>(list: T[] | undefined, count: number | undefined, check: (each: T) => boolean) =>
    Array.isArray(list) && list.length === count && list.every(check);
  const size = { source: sources?.[0]?.length, target: targets?.[0]?.length };
  const isRow = (side: "source" | "target") => (tokens: string[]) => fit(tokens, size[side], () => true);
  const { query, key } = SIDES_OF[kind];
  return (
    fit(sources, mask?.length, isRow("source")) &&
    fit(targets, mask?.length, isRow("target")) &&
    fit(mask, mask?.length, (rows) => fit(rows, size[query], (row) => fit(row, size[key], () => true)))
  );
}

function correctMasks(source: number[], target: number[], padId: number) {
  return {
    encoder: paddingMask(source, padId), // [source, source]
    decoder: joinMasks(paddingMask(target, padId), causalMask(target.length)), // [target, target]
    cross: paddingMask(source, padId, target.length), // [target, source]
  };
}

/** Numbers as the bytes that a message carries. */
export function float32View(numbers: Iterable<number>) {
  return new DataView(Float32Array.from(numbers).buffer);
}
