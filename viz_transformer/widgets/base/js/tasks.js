// What a view says about the task of its model: to translate a text, to continue it, to fill its gap.
// Many texts continue a beginning, and many words fill a gap, so there another is not wrong.

import shared from "../../../shared.json" with { type: "json" };

/**
 * @typedef {object} TaskWords
 * @property {string} field the name of the field for the text
 * @property {string} button
 * @property {string} words what the log-probabilities are of
 * @property {string} now what the model makes of a text at a moment of its training
 * @property {string} reference what stands beside it
 * @property {string[]} verdicts of an outcome that is the reference, and of any other
 * @property {string[]} spoken both for a screen reader
 */

export const TASKS = /** @type {Record<string, TaskWords>} */ (shared.tasks);
