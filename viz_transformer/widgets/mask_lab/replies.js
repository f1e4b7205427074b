// The kernel's replies to one question about a mask, each kept with the state that it answers.

import { canonicalJson, connectKernel } from "../base/js/kernel.js";

/** @import { MaskState } from "./composition.js" */

/**
 * Ask about each new state; `of(state)` is {reply, problem}, both empty while the reply is awaited.
 *
 * @param {any} model
 * @param {"leaks" | "libraries" | "eager"} ask
 * @param {() => void} onReply
 */
export function createReplies(model, ask, onReply) {
  const kernel = connectKernel(model);
  let asked = "";
  let answered = { at: "", reply: null, problem: "" };

  /** @param {MaskState} state */
  function of(state) {
    const request = { ask, ...state };
    const at = canonicalJson(request);
    if (at !== asked) {
      asked = at;
      const keep = (reply, problem) => {
        answered = { at, reply, problem };
        onReply();
      };
      kernel.latest(
        request,
        (reply) => keep(reply, ""),
        (error) => keep(null, error.message),
      );
    }
    return answered.at === at ? answered : { reply: null, problem: "" };
  }

  return { of, close: kernel.close };
}
