// The three kinds of attention: their names, and what their axes are. Python has the same in
// viz_transformer/trace/kinds.py.

/**
 * @typedef {object} Kind
 * @property {string} name short, for a list to choose from
 * @property {string} label in full, for a title
 * @property {"source" | "target"} query the words that look
 * @property {"source" | "target"} key the words that are looked at
 */

/** @type {Record<string, Kind>} "encoder", "decoder" and "cross" */
export const ATTENTION_KINDS = {
  encoder: { name: "Encoder", label: "Encoder self-attention", query: "source", key: "source" },
  decoder: { name: "Decoder", label: "Decoder self-attention", query: "target", key: "target" },
  cross: { name: "Cross", label: "Cross-attention", query: "target", key: "source" },
};
