// The studio's answers: the trace of a text, for a room that has no sentence of its own. labs/studio.py
// answers the same requests in the kernel.

import { rawTrace } from "./raw_trace.js";

/**
 * @param {Record<string, any>} models one, under the name ""
 * @param {{ text: string }} request
 */
export function answerStudio({ "": model }, { text }) {
  return { trace: rawTrace(model.trace(text)) };
}
