// The replies to one question about a mask, each kept with the state that it answers.

import { canonicalJson, connectKernel } from "../base/js/kernel.js";
import { maskRequest } from "./requests.js";

/** @import { MaskState, Words } from "./composition.js" */

/** @typedef {{reply: any, problem: string}} Answer both empty while the reply is awaited */

/**
 * Ask about each new state; `of(words, state)` is its answer.
 *
 * @param {any} model
 * @param {"leaks" | "formulas" | "libraries" | "eager"} ask
 * @param {() => void} onReply
 */
export function createReplies(model, ask, onReply) {
  const kernel = connectKernel(model);
  let asked = "";
  let answered = { at: "", reply: null, problem: "" };

  /**
   * @param {Words} words
   * @param {MaskState} state
   * @returns {Answer}
   */
  function of(words, state) {
    const at = canonicalJson({ words, state });
    if (at !== asked) {
      asked = at;
      const keep = ({ reply = null, error = null }) => {
        answered = { at, reply, problem: error?.message ?? "" };
      };
      kernel.settle(maskRequest(words, state, ask), keep, onReply);
    }
    return answered.at === at ? answered : { reply: null, problem: "" };
  }

  return { of, close: kernel.close };
}
