// The replies to a question about a mask: the newest is kept while the next one is awaited.

import { useRef } from "preact/hooks";
import { useKernel } from "../base/hooks.ts";
import { canonicalJson, type Model } from "../base/kernel.ts";
import type { MaskState, Words } from "./composition.ts";
import { type Ask, maskRequest } from "./requests.ts";

/** What answers, and a function that draws the next frame. */
export interface Page {
  model: Model;
  redraw: () => void;
}

/** Both empty while the reply is awaited. */
interface Answer {
  reply: unknown;
  problem: string;
}

const NOTHING: Answer = { reply: null, problem: "" };

/** The answer to a question about this mask, asked when it is a new one. */
export function useReply(
  { model, redraw }: Page,
  ask: Ask,
  words: Words,
  state: MaskState,
  isAsked = true,
): Answer {
  const kernel = useKernel(model);
  const kept = useRef({ asked: "", at: "", answer: NOTHING });
  const at = canonicalJson({ words, state });
  if (!isAsked) return NOTHING;
  if (at !== kept.current.asked) {
    kept.current.asked = at;
    const keep = ({ reply = null, error = null }: { reply?: unknown; error?: Error | null }) => {
      kept.current = { ...kept.current, at, answer: { reply, problem: error?.message ?? "" } };
    };
    kernel.settle(maskRequest(words, state, ask), keep, redraw);
  }
  return kept.current.at === at ? kept.current.answer : NOTHING;
}
