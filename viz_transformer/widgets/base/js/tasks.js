// What a view says about the task of its model: to translate a text, to continue it, to fill its gap.

/** @typedef {{field: string, button: string, words: string}} TaskWords */

/** @type {Record<string, TaskWords>} */
export const TASKS = {
  translate: {
    field: "sentence to translate",
    button: "Translate",
    words: "log-probability of each word of the unchanged translation, in nats",
  },
  continue: {
    field: "text to continue",
    button: "Continue",
    words: "log-probability of each word of the text, as the unchanged model continues it, in nats",
  },
  fill: {
    field: "text with a gap, written [?]",
    button: "Fill",
    words: "log-probability of the word that the unchanged model puts in the gap, in nats",
  },
};
