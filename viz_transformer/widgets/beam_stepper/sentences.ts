// What a search shows at a step, in words.

import shared from "../../shared.json" with { type: "json" };
import { formatNumber, percent, type Piece, quoted, runningText, shortened, visible } from "../base/text.ts";
import {
  type Candidate,
  chanceOf,
  isEnd,
  isRelative,
  leaderOf,
  parentOf,
  type SearchRequest,
  type SearchResult,
  SETTINGS,
} from "./candidates.ts";

const LETTERS = 60; // of a text in a sentence

/** A text as it is read, in the colour of what is written. */
export const textPiece = (tokens: readonly string[]): Piece => ({
  role: "query",
  word: shortened(runningText(tokens) || "(nothing)", LETTERS),
});

/** A log-probability or a score; null stands for −∞. */
export const formatNats = (value: number | null, digits = 3): string =>
  value === null ? "−∞" : formatNumber(value, digits);

/** The mark and the word for what became of a candidate, so that none is shown by its colour alone. */
export const markOf = ({ status, share }: Pick<Candidate, "status" | "share">): string =>
  status === "pruned" && (share ?? null) !== null ? "" : shared.statuses[status];

/** What became of a candidate, and why. A word that was not drawn has not been pruned: its reason is enough. */
export const fateOf = ({ status, reason, share }: Candidate): string =>
  `${(share ?? null) === null ? `${status}: ` : ""}${visible(reason)}`;

export const describeCandidate = (candidate: Candidate, text: readonly string[]): string =>
  `${quoted(runningText(text))}: ${fateOf(candidate)}. ` +
  `Log-probability ${formatNats(candidate.log_prob)}, score ${formatNats(candidate.score)}.`;

const after = (step: number) => `After ${step ? `${step + 1} words` : "one word"}, `;
const isGreedy = ({ request, sampled }: SearchResult) => !sampled && request.beam_width === 1;

/** What leads, and at the end what was found. */
export function headlineOf(result: SearchResult, step: number): Piece[] {
  const [best] = result.hypotheses;
  const last = isEnd(result, step);
  const leader = leaderOf(result, step);
  const text = textPiece(last ? best.tokens : result.texts[step][leader]);
  const chance = percent(last ? Math.exp(best.log_prob ?? -Infinity) : chanceOf(result.steps[step][leader]));
  if (isGreedy(result) && last) return ["Greedy search writes ", text, `: ${chance}`];
  if (isGreedy(result)) return [`${after(step)}greedy search has `, text, `: ${chance}`];
  if (result.sampled && !last) return [after(step), text, " is drawn"];
  if (result.sampled) return [text, ` is drawn; its probability: ${chance}`];
  return last ? [text, ` wins: ${chance}`] : [after(step), text, ` leads: ${chance}`];
}

/** One line more: what led before, what has ended, at the end what greedy search writes; else what a height is. */
export function lineOf(result: SearchResult, step: number): Piece[] {
  if (isEnd(result, step)) return outcomeOf(result);
  if (result.sampled)
    return [`A branch is as high as its word is likely to be drawn: ${describeFilters(result.request)}.`];
  const { steps, texts } = result;
  const ledBefore = step ? leaderOf(result, step - 1) : null;
  if (ledBefore !== null && parentOf(steps, step, leaderOf(result, step)) !== ledBefore) {
    const chance = percent(chanceOf(steps[step - 1][ledBefore]));
    return [after(step - 1), textPiece(texts[step - 1][ledBefore]), ` led: ${chance}.`];
  }
  const ended = steps[step].findIndex(({ status }) => status === "finished");
  if (ended >= 0)
    return [
      textPiece(texts[step][ended].slice(0, -1)),
      ` has ended: ${percent(chanceOf(steps[step][ended]))}.`,
    ];
  const height = isRelative(result) ? "share of its step's probability" : "text's probability so far";
  return [`A branch is as high as its ${height}; ✂ is pruned.`];
}

/** The measure by which a text was found, and greedy search's text where that is another. */
function outcomeOf(result: SearchResult): Piece[] {
  const [best] = result.hypotheses;
  const { greedy, sampled } = result;
  const told = `${sampled ? "Log-probability" : "Score"} ${formatNats(sampled ? best.log_prob : best.score)}`;
  if (!greedy || isGreedy(result)) return [`${told}.`];
  const parting = partingOf(best.tokens, greedy.tokens, result.end);
  if (parting === 0) return [`${told}; greedy search writes the same.`];
  const value = formatNats(sampled ? greedy.log_prob : greedy.score);
  const where = parting ? `, and differs from word ${parting} on` : "";
  return [`${told}; greedy search writes `, textPiece(greedy.tokens), `, ${value}${where}.`];
}

/** The first word, counted from 1, by which two texts differ, 0 if they are the same; null where none does. */
export function partingOf(text: readonly string[], other: readonly string[], end: string): number | null {
  const [own, others] = [text, other].map((tokens) => [...tokens, end]);
  const at = own.findIndex((token, i) => token !== others[i]);
  // Where one of the two holds the end token as a word, they may part nowhere.
  if (at < 0) return own.length === others.length ? 0 : null;
  return at < others.length ? at + 1 : null;
}

/** What words are drawn from. */
export const describeFilters = ({ temperature, top_k, top_p }: SearchRequest): string =>
  `temperature ${temperature}, top-k ${top_k ?? "all"}, top-p ${top_p ?? "all"}`;

const checkpointOf = ({ checkpoint }: SearchRequest) => (checkpoint ? `${visible(checkpoint)}, ` : "");

/** The settings of a search. */
export const describeSettings = (request: SearchRequest): string =>
  checkpointOf(request) +
  (request.method === "sample"
    ? `${describeFilters(request)}, seed ${request.seed}`
    : `beam width ${request.beam_width}, length penalty ${request.length_penalty}`);

/** What an exported page has results for: beams by their length penalty, samples one by one. */
export function describeCarried(requests: readonly SearchRequest[]): string {
  const widths = new Map<string, Set<number>>();
  const samples = new Set<string>();
  for (const request of requests) {
    const group = `${checkpointOf(request)}length penalty ${request.length_penalty} with beam width`;
    if (request.method === "sample") samples.add(describeSettings(request));
    else widths.set(group, new Set([...(widths.get(group) ?? []), request.beam_width ?? 1]));
  }
  const beams = Array.from(
    widths,
    ([group, each]) => `${group} ${[...each].sort((a, b) => a - b).join(", ")}`,
  );
  return `Without the notebook, this page can show: ${[...samples, ...beams].join("; ")}.`;
}

/** Why there is no result, what there is one for, and what is shown meanwhile. */
export function describeProblem(
  message: string,
  carried: readonly SearchRequest[],
  shown: SearchRequest | undefined,
): string {
  return [
    /[.!?]$/.test(message) ? message : `${message}.`,
    ...(carried.length ? [describeCarried(carried)] : []),
    ...(shown ? [`Still shown: ${quoted(shown.text)}, ${describeSettings(shown)}.`] : []),
  ].join(" ");
}

/** The line of Python that gives a candidate: of a model that decodes, or else of the view itself. */
export function codeOf(
  request: SearchRequest,
  { step, index }: { step: number; index: number },
  decodes: boolean,
) {
  const candidate = `.steps[${step}].candidates[${index}]`;
  if (!decodes) return `view.search${candidate}`;
  const options = SETTINGS[request.method]
    .map((name) => [name, request[name]] as const)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `, ${name}=${value}`);
  const model = request.checkpoint ? `models[${JSON.stringify(request.checkpoint)}]` : "model";
  const call = request.method === "sample" ? "sample" : "decode";
  return `${model}.${call}(${JSON.stringify(request.text)}${options.join("")})${candidate}`;
}
