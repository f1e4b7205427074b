// The three kinds of attention: their names, and what their axes are.

import shared from "../../../shared.json" with { type: "json" };

/**
 * @typedef {object} Kind
 * @property {string} name short, for a list to choose from
 * @property {string} label in full, for a title
 * @property {"source" | "target"} query the words that look
 * @property {"source" | "target"} key the words that are looked at
 */

/** "encoder", "decoder" and "cross" */
export const ATTENTION_KINDS = /** @type {Record<string, Kind>} */ (shared.kinds);
