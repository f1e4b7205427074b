// The replies to the sentences that were asked for: what was once read is shown within a frame.

import { NewestMap } from "../base/js/newest_map.js";

/**
 * The reply to the sentence that is wanted, or until it is here the one before it. `want(sentence)`
 * returns why it could not be read; `ask(sentence)` is a promise of the reply.
 *
 * @param {ReturnType<typeof import("../base/js/kernel.js").connectKernel>} kernel
 * @param {import("../base/js/view.js").View} view
 */
export function newestReply(kernel, view) {
  const known = new NewestMap();
  let [shown, asked, failure] = [null, null, ""];

  function want(sentence) {
    if (known.has(sentence)) [shown, asked, failure] = [known.get(sentence), sentence, ""];
    if (asked === sentence) return failure;
    asked = sentence;
    const settle = (told) => {
      if (asked === sentence) failure = told;
      view.redraw();
    };
    const keep = (reply) => {
      known.set(sentence, reply);
      settle("");
    };
    kernel.latest({ sentence }, keep, (error) => settle(error.message));
    return failure;
  }

  function ask(sentence, onSlow) {
    return kernel.ask({ sentence }, onSlow).then((reply) => {
      known.set(sentence, reply);
      return reply;
    });
  }
  return { want, ask, shown: () => shown, close: kernel.close };
}
