// The verdict on a search: what was found, what greedy search would have written, where they part.

import { quoted, runningText } from "../base/js/text.js";
import { formatNats } from "./candidates.js";

/**
 * @param {Pick<import("./candidates.js").SearchResult, "hypotheses" | "greedy" | "sampled" | "end">} result
 * @returns {string}
 */
export function verdictSentence({ hypotheses: [best], greedy, sampled, end }) {
  const [method, measure] = sampled ? ["Sampling drew", "log-probability"] : ["Beam search found", "score"];
  const outcome = `${method} ${quotedText(best.tokens)} (${measure} ${formatNats(best.score)})`;
  if (!greedy) return `${outcome}.`;
  const [own, other] = [best, greedy].map(({ tokens }) => [...tokens, end]);
  const step = own.findIndex((token, i) => token !== other[i]);
  if (step < 0 && own.length === other.length) return `${outcome}; greedy search writes the same.`;
  const value = sampled ? greedy.log_prob : greedy.score;
  const instead = `Greedy search would have written ${quotedText(greedy.tokens)} (${measure} ${formatNats(value)}).`;
  // Where one of the two holds the end token as a word, they may part nowhere.
  if (step < 0 || step >= other.length) return `${instead} ${outcome}.`;
  return `${instead} ${outcome}. They part at step ${step + 1}: greedy search writes ${quoted(other[step])}, and this text has ${quoted(own[step])}.`;
}

function quotedText(tokens) {
  return quoted(runningText(tokens) || "(nothing)");
}
