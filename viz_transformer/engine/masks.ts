// Attention masks: which query may attend to which key.
//
// A mask is a Uint8Array [query, key], and 1 means "may attend". The encoder's self-attention and the
// decoder's cross-attention both look at the source, so both take the source's padding mask. The
// decoder's self-attention takes the target's joined with the causal mask.

import type { Interventions } from "./interventions.ts";
import type { Config } from "./parameters.ts";

/**
 * Let every query attend to the words of a sentence and not to the padding after them. `ids` are the keys';
 * without a `padId` nothing is padding. [query, key]
 */
export function paddingMask(ids: ArrayLike<number>, padId: number | null, nQueries = ids.length): Uint8Array {
  return forEveryQuery(
    Uint8Array.from(ids, (id) => Number(id !== padId)), // [key]
    nQueries,
  );
}

/** The same row [key] for every query: [query, key]. */
function forEveryQuery(row: Uint8Array, nQueries: number) {
  const mask = new Uint8Array(nQueries * row.length); // [query, key]
  for (let query = 0; query < nQueries; query++) mask.set(row, query * row.length);
  return mask;
}

/**
 * Let a position attend to itself and to the past, never to the future. [length, length], 1 on the diagonal
 * and below it.
 *
 * While it trains, a decoder reads the whole target sentence at once; without this mask it would
 * copy the next word instead of predicting it (Vaswani et al. 2017, section 3.2.3).
 */
export function causalMask(length: number): Uint8Array {
  return Uint8Array.from({ length: length * length }, (_, i) => Number(i % length <= Math.floor(i / length)));
}

/** Let a query attend where two masks of one shape both let it. */
export function joinMasks(mask: Uint8Array, other: Uint8Array): Uint8Array {
  return mask.map((may, i) => may & other[i]);
}

/** The mask of attention to a source: its padding is hidden, unless an intervention shows it. */
export function sourceMask(
  config: Config,
  ids: ArrayLike<number>,
  interventions: Required<Interventions>,
  nQueries = ids.length,
) {
  return paddingMask(ids, interventions.paddingMask ? config.pad_id : null, nQueries);
}

/**
 * Which target words may be attended to at all, [key]; the first stands at the position `start`.
 *
 * Some models start every target with `pad_id` itself (Marian): there the first position is no padding.
 */
export function targetPaddingMask(
  config: Config,
  ids: ArrayLike<number>,
  interventions: Required<Interventions>,
  start = 0,
) {
  const mask = sourceMask(config, ids, interventions, 1); // [key]
  if (start === 0 && config.start_id === config.pad_id) mask[0] = 1;
  return mask;
}

/** The mask of the decoder's self-attention: no padding, and no look ahead. */
export function targetMask(config: Config, ids: ArrayLike<number>, interventions: Required<Interventions>) {
  const padding = forEveryQuery(targetPaddingMask(config, ids, interventions), ids.length); // [query, key]
  return interventions.causalMask ? joinMasks(padding, causalMask(ids.length)) : padding;
}
