// The replies to the sentences that were asked for: what was once read is shown within a frame.

import { type connectKernel, newestOf } from "../base/js/kernel.js";
import { NewestMap } from "../base/js/newest_map.js";
import type { Reply } from "./values.ts";

type Kernel = ReturnType<typeof connectKernel>;

/**
 * The reply to the sentence that is wanted, or until it is here the one before it. `want(sentence)`
 * returns it, and why it could not be read; `read(sentence)` asks for another one, which `onRead` then shows.
 */
export function newestReply(kernel: Kernel, onNews: () => void) {
  const known = new NewestMap();
  let shown: Reply | null = null;
  let [asked, problem]: [string | null, string] = [null, ""];
  const submitted = newestOf((sentence: string, onSlow: () => void) => kernel.ask({ sentence }, onSlow));

  function tell(told: string): void {
    problem = told;
    onNews();
  }

  function want(sentence: string) {
    if (known.has(sentence)) {
      shown = known.get(sentence);
      if (asked !== sentence) [asked, problem] = [sentence, ""];
    } else if (asked !== sentence) {
      asked = sentence;
      kernel.latest(
        { sentence },
        (reply: Reply) => {
          known.set(sentence, reply);
          tell("");
        },
        (error: Error) => tell(error.message),
      );
    }
    return { reply: shown, problem };
  }

  function read(sentence: string, onRead: (reply: Reply) => void): void {
    tell("");
    submitted.latest(
      sentence,
      (reply: Reply) => {
        known.set(sentence, reply);
        onRead(reply);
      },
      (error: Error) => tell(error.message),
    );
  }

  return { want, read, forget: () => tell("") };
}
