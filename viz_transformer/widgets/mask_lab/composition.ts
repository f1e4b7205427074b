// The parts of a mask, and the mask that they make: boolean algebra over words and padding.
//
// composition.py composes the same in Python; the tests compare both with model/masks.py.

import { ATTENTION_KINDS } from "../base/kinds.ts";
import { quoted } from "../base/text.ts";

export const PAD_TOKEN = "<pad>";

type Side = "source" | "target" | "written";
/** Tokens of each sentence: what the encoder reads, what the decoder reads, and what it has to write. */
export type Words = Record<Side, string[][]>;
export type PaintedCell = [sentence: number, query: number, key: number, may: boolean];
/** A question to a mask: of a sentence, a query and a key. */
type At = (b: number, q: number, k: number) => boolean;

/** The traits that make the mask. */
export const MASK_TRAITS = ["kind", "side", "padding", "causal", "mistake", "lengths", "painted"] as const;

export interface MaskState {
  kind: string;
  side: string;
  padding: boolean;
  causal: boolean;
  mistake: string;
  lengths: number[];
  painted: PaintedCell[];
}

/** One of the masks that are joined. */
export interface MaskPart {
  name: "padding" | "causal" | "causal_as_padding";
  /** The side whose padding it is. */
  of?: Side;
  /** [batch, 1, query, key], each axis perhaps of length 1. */
  shape: number[];
  at: At;
}

interface Size {
  sentences: number;
  queries: number;
  keys: number;
}

export interface ComposedMask extends Size {
  kind: string;
  /** [batch][query] and [batch][key]. */
  queryTokens: string[][];
  keyTokens: string[][];
  /** [batch][query][key], true where the query may attend to the key. */
  may: boolean[][][];
  parts: MaskPart[];
  isInverted: boolean;
  /** Cells set by hand, those inside the mask. */
  painted: PaintedCell[];
  /** Whether an output may depend on a key by the task, independent of the mask. */
  allowed: At;
  /** Whether the source was taken as the target. */
  isCopied: boolean;
  /** What each query has to write, [batch][query]; null in the encoder. */
  written: string[][] | null;
  /** The padded tokens of all sides. */
  padded: Words;
}

export const isWord = (token: string | undefined) => token !== PAD_TOKEN;

/**
 * Tokens of a batch, cut to their lengths, repeated or copied as the mistake has it, and padded to `extra` more
 * tokens than the longest sentence has.
 */
function padBatch(words: Words, { kind, side, mistake, lengths }: MaskState, extra: number): Words {
  const isCopied = mistake === "source_as_target";
  const from = { ...words, ...(isCopied ? { target: words.source, written: words.source } : {}) };
  let kept = mapSides(from, (batch) => batch.map((tokens, b) => tokens.slice(0, lengths[b])));
  let longest = mapSides(kept, (batch) => Math.max(...batch.map((tokens) => tokens.length)) + extra);
  if (mistake === "target_padding") {
    const most = Math.max(...Object.values(longest));
    longest = mapSides(longest, () => most);
  }
  if (mistake === "causal_as_padding") {
    const count = longest[ATTENTION_KINDS[kind].key as Side];
    kept = mapSides(kept, (batch) => Array.from({ length: count }, (_, i) => batch[i % batch.length] ?? []));
  }
  return mapSides(kept, (batch, name) =>
    batch.map((tokens) => {
      const padding = Array(longest[name] - tokens.length).fill(PAD_TOKEN);
      return side === "left" ? [...padding, ...tokens] : [...tokens, ...padding];
    }),
  );
}

/** The padded words and the mask over them; with `extra` padding, painted cells stay with their words. */
export function composeMask(words: Words, state: MaskState, extra = 0): ComposedMask {
  const padded = padBatch(words, state, extra);
  const { query, key } = ATTENTION_KINDS[state.kind];
  const [queryTokens, keyTokens] = [padded[query as Side], padded[key as Side]];
  const size = {
    sentences: keyTokens.length,
    queries: queryTokens[0]?.length ?? 0,
    keys: keyTokens[0]?.length ?? 0,
  };
  const parts = maskParts(padded, state, size);
  const isInverted = state.mistake === "inverted";
  const may = queryTokens.map((tokens, b) =>
    tokens.map((_, q) =>
      Array.from({ length: size.keys }, (_, k) => parts.every((part) => part.at(b, q, k)) !== isInverted),
    ),
  );
  const shift = state.side === "left" ? extra : 0;
  const painted = state.painted
    .map(([b, q, k, value]): PaintedCell => [b, q + shift, k + shift, value])
    .filter(([b, q, k]) => may[b]?.[q]?.[k] !== undefined);
  for (const [b, q, k, value] of painted) may[b]![q]![k] = value;
  const isCopied = state.mistake === "source_as_target";
  const isDecoder = state.kind === "decoder";
  const isKey = (b: number, k: number) => isWord(keyTokens[b]?.[k]);
  return {
    ...{
      ...size,
      kind: state.kind,
      queryTokens,
      keyTokens,
      may,
      parts,
      isInverted,
      painted,
      isCopied,
      padded,
    },
    allowed: (b, q, k) =>
      isWord(queryTokens[b]?.[q]) && isKey(b, k) && (!isDecoder || k <= q - Number(isCopied)), // unshifted, a word stands where it is written
    written: state.kind === "encoder" ? null : padded.written,
  };
}

function maskParts(padded: Words, { kind, padding, causal, mistake }: MaskState, size: Size): MaskPart[] {
  const { sentences, queries, keys } = size;
  const parts: MaskPart[] = [];
  if (padding) {
    const ofTarget = mistake === "target_padding" && kind === "cross";
    const of: Side = ofTarget ? "target" : (ATTENTION_KINDS[kind].key as Side);
    const at: At = (b, _q, k) => isWord(padded[of][b]?.[k]);
    parts.push({ name: "padding", of, shape: [sentences, 1, 1, keys], at });
  }
  if (causal && mistake === "causal_as_padding") {
    parts.push({ name: "causal_as_padding", shape: [sentences, 1, 1, keys], at: (b, _q, k) => k <= b });
  } else if (causal) {
    parts.push({ name: "causal", shape: [1, 1, queries, keys], at: (_b, q, k) => k <= q });
  }
  return parts;
}

/** The queries of sentence `b` that may attend to nothing. */
export const emptyRows = ({ may }: ComposedMask, b: number): number[] =>
  (may[b] ?? []).flatMap((row, q) => (row.some(Boolean) ? [] : [q]));

/** Why a query may or may not attend to a key, in one sentence. */
export function describeMaskCell(composed: ComposedMask, b: number, q: number, k: number): string {
  const [query, key] = [quoted(composed.queryTokens[b]?.[q]), quoted(composed.keyTokens[b]?.[k])];
  const may = composed.may[b]?.[q]?.[k] ?? false;
  const says = `${query} (query) may ${may ? "" : "not "}attend to ${key} (key)`;
  if (composed.painted.some((cell) => cell[0] === b && cell[1] === q && cell[2] === k))
    return `${says}: painted by hand.`;
  if (composed.isInverted)
    return `${says}: the right mask ${may ? "hides" : "allows"} it, and this one is inverted.`;
  const reasons = composed.parts
    .filter((part) => !part.at(b, q, k))
    .map((part) => barringReason(part, composed, b));
  return reasons.length ? `${says}: ${reasons.join(", and ")}.` : `${says}.`;
}

/** Why a part masks a cell of sentence `b`. */
function barringReason({ name, of }: MaskPart, { kind }: ComposedMask, b: number): string {
  if (name === "causal") return "it comes later";
  if (name === "causal_as_padding") return `all of sentence ${b + 1} may attend only to its first ${b + 1}`;
  return of === ATTENTION_KINDS[kind].key
    ? "it is padding"
    : "the mask is made from the padding of the target, which has no word there";
}

/** A cell in one of the conventions: "may", "may_not" or "additive". */
export function cellText(may: boolean, polarity: string): string {
  if (polarity === "additive") return may ? "0" : "−∞";
  return may === (polarity === "may") ? "True" : "False";
}

/** The painted cells after more; a cell painted back to what the parts make is left out. */
export function paintCells(words: Words, state: MaskState, cells: PaintedCell[]): PaintedCell[] {
  const plain = composeMask(words, { ...state, painted: [] }).may;
  const inside = cells.filter(([b, q, k]) => plain[b]?.[q]?.[k] !== undefined); // it may have been larger a frame ago
  const isOther = (cell: PaintedCell) =>
    !inside.some((each) => each[0] === cell[0] && each[1] === cell[1] && each[2] === cell[2]);
  return [
    ...state.painted.filter(isOther),
    ...inside.filter(([b, q, k, value]) => plain[b]?.[q]?.[k] !== value),
  ];
}

function mapSides<V, W>(sides: Record<Side, V>, change: (value: V, name: Side) => W): Record<Side, W> {
  const { source, target, written } = sides;
  return {
    source: change(source, "source"),
    target: change(target, "target"),
    written: change(written, "written"),
  };
}

const NAMES = { padding: "padding", causal: "look-ahead", causal_as_padding: "look-ahead, as padding" };

export interface Box {
  name: string;
  shape: string;
  /** How it is stretched or made, in words. */
  note: string;
  /** What of it is not stretched. */
  own: { sheets: number; rows: number };
  at: (b: number, q: number, k: number) => boolean;
}

/** The boxes to draw: the parts and the mask that they make. */
export function shapeBoxes(composed: ComposedMask, polarity: string): Box[] {
  const { sentences: B, queries: Q, keys: K, parts, may, isInverted, painted } = composed;
  const boxes = parts.map(({ name, shape, at }): Box => {
    const [overBatch, overQuery] = [shape[0] === 1, shape[2] === 1];
    const axes = [overBatch && "sentences", overQuery && "queries"].filter(Boolean);
    const torchs = name === "causal" ? `attn_mask [${Q}, ${K}]` : `key_padding_mask [${shape[0]}, ${K}]`;
    return {
      name: NAMES[name],
      shape: polarity === "may_not" ? torchs : `[${shape.join(", ")}]`,
      note: axes.length ? `the same for all ${axes.join(" and ")}` : "",
      own: { sheets: overBatch ? 1 : B, rows: overQuery ? 1 : Q },
      at,
    };
  });
  const steps = [
    parts.length > 1 && "joined by &",
    isInverted && "inverted by ~",
    painted.length > 0 && "painted",
  ];
  return [
    ...boxes,
    {
      name: "mask",
      shape: `[${B}, 1, ${Q}, ${K}]`,
      note: steps.filter(Boolean).join(", "),
      own: { sheets: B, rows: Q },
      at: (b, q, k) => may[b]?.[q]?.[k] ?? false,
    },
  ];
}
