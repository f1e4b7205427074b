// The parts of a mask, and the mask that they make: boolean algebra over words and padding.
//
// composition.py composes the same in Python; the tests compare both with model/masks.py.

import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { quoted } from "../base/js/text.js";

export const PAD_TOKEN = "<pad>";

/**
 * Tokens of each sentence: what the encoder reads, what the decoder reads, and what it writes.
 *
 * @typedef {{source: string[][], target: string[][], written: string[][]}} Words
 */

/** @typedef {[sentence: number, query: number, key: number, may: boolean]} PaintedCell */

/**
 * @typedef {object} MaskState
 * @property {string} kind encoder, decoder or cross
 * @property {string} side of the padding, right or left
 * @property {boolean} padding whether padding is masked
 * @property {boolean} causal whether later positions are masked
 * @property {string} mistake
 * @property {number[]} lengths tokens kept of each sentence
 * @property {PaintedCell[]} painted cells set by hand
 */

/**
 * @typedef {object} MaskPart one of the masks that are joined
 * @property {"padding" | "causal" | "causal_as_padding"} name
 * @property {"source" | "target"} [of] the side whose padding it is
 * @property {number[]} shape [batch, 1, query, key], each axis perhaps of length 1
 * @property {(b: number, q: number, k: number) => boolean} at
 */

/**
 * @typedef {object} ComposedMask
 * @property {number} sentences
 * @property {number} queries
 * @property {number} keys
 * @property {string[][]} queryTokens [batch][query]
 * @property {string[][]} keyTokens [batch][key]
 * @property {boolean[][][]} may [batch][query][key], true where the query may attend to the key
 * @property {MaskPart[]} parts
 * @property {boolean} inverted
 * @property {PaintedCell[]} painted those inside the mask
 * @property {(b: number, q: number, k: number) => boolean} allowed whether an output may depend on a
 *   key by the task, independent of the mask
 * @property {(token: string) => boolean} isWord
 * @property {boolean} copied whether the source was taken as the target
 * @property {string[][] | null} written [batch][query]; null in the encoder
 * @property {Words} padded the padded tokens of all sides
 */

/**
 * Tokens of a batch, cut to `lengths`, repeated or copied as the mistake has it, and padded to
 * `extra` more tokens than the longest sentence has.
 *
 * @param {Words} words
 * @param {MaskState} state
 * @param {number} [extra]
 * @returns {Words}
 */
export function padBatch(words, { kind, side, mistake, lengths }, extra = 0) {
  const copied = mistake === "source_as_target";
  const from = {
    source: "source",
    target: copied ? "source" : "target",
    written: copied ? "source" : "written",
  };
  let kept = mapValues(from, (name) => words[name].map((tokens, b) => tokens.slice(0, lengths[b])));
  let longest = mapValues(kept, (batch) => Math.max(...batch.map((tokens) => tokens.length)) + extra);
  if (mistake === "target_padding") {
    const most = Math.max(...Object.values(longest));
    longest = mapValues(longest, () => most);
  }
  if (mistake === "causal_as_padding") {
    const count = longest[ATTENTION_KINDS[kind].key];
    kept = mapValues(kept, (batch) => Array.from({ length: count }, (_, i) => batch[i % batch.length]));
  }
  return mapValues(kept, (batch, name) =>
    batch.map((tokens) => {
      const padding = Array(longest[name] - tokens.length).fill(PAD_TOKEN);
      return side === "left" ? [...padding, ...tokens] : [...tokens, ...padding];
    }),
  );
}

/**
 * The padded words and the mask over them.
 *
 * @param {Words} words
 * @param {MaskState} state
 * @param {number} [extra] padding tokens added to those of the longest sentence; painted cells stay
 *   with their words
 * @returns {ComposedMask}
 */
export function composeMask(words, state, extra = 0) {
  const padded = padBatch(words, state, extra);
  const { query, key } = ATTENTION_KINDS[state.kind];
  const [queryTokens, keyTokens] = [padded[query], padded[key]];
  const size = { sentences: keyTokens.length, queries: queryTokens[0].length, keys: keyTokens[0].length };
  const parts = maskParts(padded, state, size);
  const inverted = state.mistake === "inverted";
  const may = keyTokens.map((_, b) =>
    queryTokens[b].map((_, q) =>
      keyTokens[b].map((_, k) => parts.every((part) => part.at(b, q, k)) !== inverted),
    ),
  );
  const shift = state.side === "left" ? extra : 0;
  const painted = state.painted
    .map(([b, q, k, value]) => /** @type {PaintedCell} */ ([b, q + shift, k + shift, value]))
    .filter(([b, q, k]) => b < size.sentences && q < size.queries && k < size.keys);
  for (const [b, q, k, value] of painted) may[b][q][k] = value;
  const offset = state.mistake === "source_as_target" ? -1 : 0; // unshifted, a word stands where it is written
  return {
    ...size,
    queryTokens,
    keyTokens,
    may,
    parts,
    inverted,
    painted,
    allowed: (b, q, k) =>
      isWord(queryTokens[b][q]) && isWord(keyTokens[b][k]) && (state.kind !== "decoder" || k <= q + offset),
    isWord,
    copied: state.mistake === "source_as_target",
    written: state.kind === "encoder" ? null : padded.written,
    padded,
  };
}

/** The traits that make the mask. */
export const MASK_TRAITS = ["kind", "side", "padding", "causal", "mistake", "lengths", "painted"];

/**
 * @param {{get: (trait: string) => any}} model
 * @returns {MaskState}
 */
export function maskStateOf(model) {
  return /** @type {any} */ (Object.fromEntries(MASK_TRAITS.map((name) => [name, model.get(name)])));
}

/** @param {string} token */
function isWord(token) {
  return token !== PAD_TOKEN;
}

/**
 * The masks that are joined, in order.
 *
 * @param {Words} padded
 * @param {MaskState} state
 * @param {{sentences: number, queries: number, keys: number}} size
 * @returns {MaskPart[]}
 */
function maskParts(padded, { kind, padding, causal, mistake }, { sentences, queries, keys }) {
  /** @type {MaskPart[]} */
  const parts = [];
  if (padding) {
    const of = mistake === "target_padding" && kind === "cross" ? "target" : ATTENTION_KINDS[kind].key;
    const tokens = padded[of];
    parts.push({
      name: "padding",
      of,
      shape: [sentences, 1, 1, keys],
      at: (b, _q, k) => isWord(tokens[b][k]),
    });
  }
  if (causal && mistake === "causal_as_padding") {
    parts.push({ name: "causal_as_padding", shape: [sentences, 1, 1, keys], at: (b, _q, k) => k <= b });
  } else if (causal) {
    parts.push({ name: "causal", shape: [1, 1, queries, keys], at: (_b, q, k) => k <= q });
  }
  return parts;
}

/**
 * The queries of sentence `b` that may attend to nothing.
 *
 * @param {ComposedMask} composed
 * @param {number} b
 */
export function emptyRows(composed, b) {
  return composed.may[b].flatMap((row, q) => (row.some(Boolean) ? [] : [q]));
}

/**
 * Why a query may or may not attend to a key, in one sentence.
 *
 * @param {ComposedMask} composed
 * @param {number} b
 * @param {number} q
 * @param {number} k
 */
export function describeMaskCell(composed, b, q, k) {
  const [query, key] = [quoted(composed.queryTokens[b][q]), quoted(composed.keyTokens[b][k])];
  const may = composed.may[b][q][k];
  const says = `${query} (query) may ${may ? "" : "not "}attend to ${key} (key)`;
  if (composed.painted.some((cell) => cell[0] === b && cell[1] === q && cell[2] === k))
    return `${says}: painted by hand.`;
  const barring = composed.parts.filter((part) => !part.at(b, q, k));
  if (composed.inverted) {
    return may
      ? `${says}: the right mask closes it, and this one is inverted.`
      : `${says}: the right mask opens it, and this one is inverted.`;
  }
  if (may) return `${says}.`;
  const reasons = barring.map((part) => barringReason(part, composed, b));
  return `${says}: ${reasons.join(", and ")}.`;
}

/**
 * Why a part masks a cell of sentence `b`.
 *
 * @param {MaskPart} part
 * @param {ComposedMask} composed
 * @param {number} b
 */
function barringReason({ name, of }, { keyTokens, padded }, b) {
  if (name === "causal") return "it comes later";
  if (name === "causal_as_padding") return `all of sentence ${b + 1} may attend only to its first ${b + 1}`;
  return of === "target" && keyTokens !== padded.target
    ? "the mask is made from the padding of the target, which has no word there"
    : "it is padding";
}

/**
 * A cell in one of the conventions: "may", "may_not" or "additive".
 *
 * @param {boolean} may
 * @param {string} polarity
 */
export function cellText(may, polarity) {
  if (polarity === "additive") return may ? "0" : "−∞";
  return may === (polarity === "may") ? "True" : "False";
}

/**
 * The painted cells after one more; a cell painted back to what the parts make is left out.
 *
 * @param {Words} words
 * @param {MaskState} state
 * @param {[sentence: number, query: number, key: number]} cell
 * @param {boolean} value
 * @returns {PaintedCell[]}
 */
export function paintCell(words, state, [b, q, k], value) {
  const others = state.painted.filter((cell) => !(cell[0] === b && cell[1] === q && cell[2] === k));
  const plain = composeMask(words, { ...state, painted: others }).may[b]?.[q]?.[k];
  if (plain === undefined) return state.painted; // of a larger mask, which is still on the screen for a frame
  return plain === value ? others : [...others, [b, q, k, value]];
}

/**
 * @template V, W
 * @param {{source: V, target: V, written: V}} object
 * @param {(value: V, name: string) => W} change
 * @returns {{source: W, target: W, written: W}}
 */
function mapValues(object, change) {
  return {
    source: change(object.source, "source"),
    target: change(object.target, "target"),
    written: change(object.written, "written"),
  };
}
