// Attention masks: which query may attend to which key.
//
// A mask is a Uint8Array [query, key], and 1 means "may attend". The encoder's self-attention and the
// decoder's cross-attention both look at the source, so both take the source's padding mask. The
// decoder's self-attention takes the target's joined with the causal mask.

/**
 * Let every query attend to the words of a sentence and not to the padding after them.
 *
 * @param {ArrayLike<number>} ids of the keys
 * @param {number | null} padId the id that pads; null where there is no padding
 * @param {number} nQueries
 * @returns {Uint8Array} [query, key]
 */
export function paddingMask(ids, padId, nQueries = ids.length) {
  return forEveryQuery(
    Uint8Array.from(ids, (id) => Number(id !== padId)), // [key]
    nQueries,
  );
}

/** The same row [key] for every query: [query, key]. */
function forEveryQuery(row, nQueries) {
  const mask = new Uint8Array(nQueries * row.length); // [query, key]
  for (let query = 0; query < nQueries; query++) mask.set(row, query * row.length);
  return mask;
}

/**
 * Let a position attend to itself and to the past, never to the future.
 *
 * While it trains, a decoder reads the whole target sentence at once; without this mask it would
 * copy the next word instead of predicting it (Vaswani et al. 2017, section 3.2.3).
 *
 * @param {number} length
 * @returns {Uint8Array} [length, length], 1 on the diagonal and below it
 */
export function causalMask(length) {
  return Uint8Array.from({ length: length * length }, (_, i) => Number(i % length <= Math.floor(i / length)));
}

/**
 * Let a query attend where two masks both let it.
 *
 * @param {Uint8Array} mask
 * @param {Uint8Array} other of the same shape
 * @returns {Uint8Array}
 */
export function joinMasks(mask, other) {
  return mask.map((may, i) => may & other[i]);
}

/** The mask of attention to a source: its padding is hidden, unless an intervention shows it. */
export function sourceMask(config, ids, interventions, nQueries = ids.length) {
  return paddingMask(ids, interventions.paddingMask ? config.pad_id : null, nQueries);
}

/**
 * Which target words may be attended to at all, [key]; the first stands at the position `start`.
 *
 * Some models start every target with `pad_id` itself (Marian): there the first position is no padding.
 */
export function targetPaddingMask(config, ids, interventions, start = 0) {
  const mask = sourceMask(config, ids, interventions, 1); // [key]
  if (start === 0 && config.start_id === config.pad_id) mask[0] = 1;
  return mask;
}

/** The mask of the decoder's self-attention: no padding, and no look ahead. */
export function targetMask(config, ids, interventions) {
  const padding = forEveryQuery(targetPaddingMask(config, ids, interventions), ids.length); // [query, key]
  return interventions.causalMask ? joinMasks(padding, causalMask(ids.length)) : padding;
}
