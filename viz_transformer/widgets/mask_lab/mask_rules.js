// What a mask is made of, and the mask that it makes: boolean algebra over words and padding.
//
// widgets/mask_state.py composes the same in Python; the tests hold both to model/masks.py.

import { visible } from "../base/js/text.js";

export const PAD_TOKEN = "<pad>";

const RIGHT = { side: "right", padding: true, mistake: "none" };

/** States to start from: what is set, what to look at first, and what it is in words. */
export const PRESETS = [
  {
    name: "Decoder",
    right: true,
    look: "word",
    state: { ...RIGHT, kind: "decoder", causal: true },
    text: "The decoder’s self-attention: a word may look at itself and at the words before it, never at padding.",
  },
  {
    name: "Encoder",
    right: true,
    look: "padding",
    state: { ...RIGHT, kind: "encoder", causal: false },
    text: "The encoder reads the whole sentence: every word may look at every word, never at padding.",
  },
  {
    name: "Cross-attention",
    right: true,
    look: "padding",
    state: { ...RIGHT, kind: "cross", causal: false },
    text: "The decoder looks at the source: every target word may look at every source word, never at the source’s padding.",
  },
  {
    name: "Left padding",
    right: true,
    look: "empty",
    state: { ...RIGHT, kind: "decoder", causal: true, side: "left" },
    text: "Padding before the words, as when a batch of texts is continued. With the look-ahead mask, the rows of the padding may look at nothing at all. The table at the bottom shows what each library makes of that: zeros, NaN, or a look at everything.",
  },
  {
    name: "No look-ahead mask",
    look: "word",
    state: { ...RIGHT, kind: "decoder", causal: false },
    text: "Every word may look at the words after it. While it trains, this decoder copies the next word instead of predicting it.",
  },
  {
    name: "No padding mask",
    look: "padding",
    state: { ...RIGHT, kind: "encoder", padding: false, causal: false },
    text: "Words may look at padding, so a sentence means something else in a batch with a longer one.",
  },
  {
    name: "Polarity inverted",
    look: "word",
    state: { ...RIGHT, kind: "decoder", causal: true, mistake: "inverted" },
    text: "A mask made for nn.MultiheadAttention (True = may not) was given to F.scaled_dot_product_attention (True = may). Torch says nothing; past and future have changed places.",
  },
  {
    name: "Look-ahead as padding",
    look: "later row",
    state: { ...RIGHT, kind: "decoder", padding: false, causal: true, mistake: "causal_as_padding" },
    text: "The look-ahead mask [length, length] was given as key_padding_mask [batch, key]. This batch has as many sentences as positions, so the shapes fit and torch says nothing: row 2 of the mask now rules all of sentence 2.",
  },
  {
    name: "Target’s padding",
    look: "wrong key",
    state: { ...RIGHT, kind: "cross", causal: false, mistake: "target_padding" },
    text: "Cross-attention looks at the source, but this mask was made from the padding of the target. Both are padded to one length, so the shapes fit and torch says nothing.",
  },
  {
    name: "Source as target",
    look: "word",
    state: { ...RIGHT, kind: "decoder", causal: false, mistake: "source_as_target" },
    text: "The decoder reads the very sentence that it shall write, not shifted by one: what it must write stands before its eyes, even with the look-ahead mask.",
  },
];

/** The preset that a state is, or undefined. */
export function presetOf(state) {
  return PRESETS.find((preset) =>
    Object.entries(preset.state).every(([name, value]) => state[name] === value),
  );
}

/** Tokens of a batch, cut to `lengths`, repeated or copied as the mistake wants it, and padded. */
export function padBatch(words, { kind, side, mistake, lengths }) {
  const copied = mistake === "source_as_target";
  const from = {
    source: "source",
    target: copied ? "source" : "target",
    written: copied ? "source" : "written",
  };
  let kept = mapValues(from, (name) => words[name].map((tokens, b) => tokens.slice(0, lengths[b])));
  let longest = mapValues(kept, (batch) => Math.max(...batch.map((tokens) => tokens.length)));
  if (mistake === "target_padding") {
    const most = Math.max(...Object.values(longest));
    longest = mapValues(longest, () => most);
  }
  const keySide = kind === "decoder" ? "target" : "source";
  if (mistake === "causal_as_padding") {
    const count = longest[keySide];
    kept = mapValues(kept, (batch) => Array.from({ length: count }, (_, i) => batch[i % batch.length]));
  }
  const padded = mapValues(kept, (batch, name) =>
    batch.map((tokens) => {
      const padding = Array(longest[name] - tokens.length).fill(PAD_TOKEN);
      return side === "left" ? [...padding, ...tokens] : [...tokens, ...padding];
    }),
  );
  return { ...padded, keySide, querySide: kind === "encoder" ? "source" : "target" };
}

/**
 * The padded words and the mask over them.
 *
 * `may[b][q][k]` is true where query q of sentence b may attend to key k; `parts` are the masks that
 * were joined, each with its `shape` and `at(b, q, k)`; `allowed(b, q, k)` says whether the output of
 * q may depend on k by the task, whatever the mask says.
 */
export function composeMask(words, state) {
  const batch = padBatch(words, state);
  const [queries, keys] = [batch[batch.querySide], batch[batch.keySide]];
  const size = { sentences: keys.length, queries: queries[0].length, keys: keys[0].length };
  const isWord = (token) => token !== PAD_TOKEN;
  const { sentences: B, queries: Q, keys: K } = size;
  const parts = [];
  if (state.padding) {
    const ofTarget = state.mistake === "target_padding" && state.kind === "cross";
    const looked = ofTarget ? batch.target : keys;
    parts.push({
      name: "padding",
      of: ofTarget ? "target" : batch.keySide,
      shape: [B, 1, 1, K],
      at: (b, q, k) => isWord(looked[b][k]),
    });
  }
  if (state.causal && state.mistake === "causal_as_padding") {
    parts.push({ name: "causal_as_padding", shape: [B, 1, 1, K], at: (b, q, k) => k <= b });
  } else if (state.causal) {
    parts.push({ name: "causal", shape: [1, 1, Q, K], at: (b, q, k) => k <= q });
  }
  const inverted = state.mistake === "inverted";
  const may = keys.map((_, b) =>
    queries[b].map((_, q) => keys[b].map((_, k) => parts.every((part) => part.at(b, q, k)) !== inverted)),
  );
  const painted = state.painted.filter(([b, q, k]) => b < B && q < Q && k < K);
  for (const [b, q, k, value] of painted) may[b][q][k] = value;
  const reach = state.mistake === "source_as_target" ? -1 : 0; // unshifted, a word stands where it is written
  const allowed = (b, q, k) =>
    isWord(queries[b][q]) && isWord(keys[b][k]) && (state.kind !== "decoder" || k <= q + reach);
  return {
    ...size,
    queriesOf: queries,
    keysOf: keys,
    may,
    parts,
    inverted,
    painted,
    allowed,
    isWord,
    copied: state.mistake === "source_as_target",
    written: state.kind === "encoder" ? null : batch.written,
    idsOf: batch,
  };
}

/** The queries of a sentence that may look at nothing. */
export function emptyRows(composed, b) {
  return composed.may[b].flatMap((row, q) => (row.some(Boolean) ? [] : [q]));
}

/** The sentence, cell and edited key that show best what a preset is about. */
export function firstLook({ look }, composed) {
  const { sentences: B, queries: Q, keys: K, keysOf, isWord, may } = composed;
  const cells = (b) => Array.from({ length: K }, (_, k) => k);
  const last =
    Array.from({ length: B }, (_, b) => b).find((b) => keysOf[b].some((token) => !isWord(token))) ?? 0;
  if (look === "padding" || look === "wrong key") {
    const pads = cells(last).filter((k) => !isWord(keysOf[last][k]));
    const seen = pads.filter((k) => may[last].some((row) => row[k]));
    return { sentence: last, query: 0, key: seen[0] ?? pads[0] ?? 0, edited: seen[0] ?? pads[0] ?? 0 };
  }
  if (look === "empty") {
    return {
      sentence: last,
      query: emptyRows(composed, last)[0] ?? 0,
      key: 0,
      edited: Math.min(K - 1, Math.floor(K / 2)),
    };
  }
  const middle = Math.floor(K / 2);
  // As padding, the look-ahead mask shows its fault only in the later sentences of the batch.
  const later =
    look === "later row"
      ? keysOf.findIndex((tokens, b) => b > middle && tokens.join(" ") === keysOf[0].join(" "))
      : 0;
  return {
    sentence: Math.max(0, later),
    query: Math.min(Q - 1, Math.max(0, middle - 1)),
    key: middle,
    edited: middle,
  };
}

/** Why a query may or may not look at a key, in one sentence. */
export function describeMaskCell(composed, b, q, k) {
  const [query, key] = [quoted_(composed.queriesOf[b][q]), quoted_(composed.keysOf[b][k])];
  const may = composed.may[b][q][k];
  const says = `${query} (query) may ${may ? "" : "not "}look at ${key} (key)`;
  if (composed.painted.some((cell) => cell[0] === b && cell[1] === q && cell[2] === k))
    return `${says}: painted by hand.`;
  const barring = composed.parts.filter((part) => !part.at(b, q, k));
  if (composed.inverted) {
    return may
      ? `${says}: the right mask bars it, and this one is inverted.`
      : `${says}: the right mask lets it, and this one is inverted.`;
  }
  if (may) return `${says}.`;
  const reasons = barring.map(
    ({ name, of }) =>
      ({
        padding:
          of === "target" && composed.keysOf !== composed.idsOf.target
            ? "the target, whose padding was taken, has none of its words there"
            : "it is padding",
        causal: "it comes later",
        causal_as_padding: `all of sentence ${b + 1} may look at its first ${b + 1} alone`,
      })[name],
  );
  return `${says}: ${reasons.join(", and ")}.`;
}

/** How a cell is written in a convention. */
export function cellText(may, polarity) {
  if (polarity === "additive") return may ? "0" : "−∞";
  return may === (polarity === "may") ? "True" : "False";
}

/** Painted cells after one more: painted back to what the parts make, a cell is painted no more. */
export function paintCell(words, state, [b, q, k], value) {
  const others = state.painted.filter((cell) => !(cell[0] === b && cell[1] === q && cell[2] === k));
  const plain = composeMask(words, { ...state, painted: others }).may[b][q][k];
  return plain === value ? others : [...others, [b, q, k, value]];
}

/** A token in quotation marks, isolated so that a right-to-left word leaves the sentence in order. */
export function quoted_(token) {
  return `“\u2068${visible(token)}\u2069”`;
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]));
}
