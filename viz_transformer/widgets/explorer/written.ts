// What a model wrote for a sentence and what else it might have, beside the same of the sentence before.

import type { Model } from "../base/kernel.ts";

/** A sentence, its tokens, the tokens written for it, and the likeliest words where each of them is written. */
export interface Written {
  text: string;
  source: string[];
  target: string[];
  next: [word: string, share: number][][];
}

/** The sentence before, where it differs from this one in a single word: `word`, at the position `at`. */
export interface Change {
  at: number;
  word: string;
  before: Written;
}

export function writtenOf(model: Model): { written: Written | null; change: Change | null } {
  const [written, before] = (["written", "before"] as const).map((name) => {
    const found: Written | undefined = model.get(name);
    return found?.source ? found : null;
  });
  if (!written || written.source.length !== before?.source.length) return { written, change: null };
  const places = Array.from(written.source.keys()).filter((at) => written.source[at] !== before.source[at]);
  const [at] = places;
  return { written, change: places.length === 1 ? { at, word: before.source[at], before } : null };
}

/** The word that was written before in place of one of this sentence; null where it is the same. */
export function replacedWord(written: Written | null, change: Change | null, at: number): string | null {
  const before = change?.before.target;
  if (!written || before?.length !== written.target.length || before[at] === written.target[at]) return null;
  return before[at] ?? null;
}
