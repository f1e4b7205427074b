// What the picture shows now, in words.

import { named, percent, type Piece, visible } from "../base/text.ts";
import { type Box, type Depth, isAttention, roleOf, type Step } from "./steps.ts";
import { drawnWeights, type Reply, tokensOf, weightsOf } from "./values.ts";

interface Told {
  reply: Reply;
  boxes: readonly Box[];
  box: Box;
  depth: Depth;
  /** The chosen word of the box's stack. */
  row: number;
  head: number | null;
  nHeads: number;
  partName: (box: Box) => string;
}

/** The place of a box: "decoder layer 1". */
export const placeOf = ({ stack, layer }: Box) => (layer === null ? stack : `${stack} layer ${layer}`);

/** What is seen, in one line. */
export function headlineOf(told: Told): Piece[] {
  const { reply, box, row } = told;
  const word = named(roleOf(box), tokensOf(reply, box.stack)[row]);
  if (box.part === "output") {
    const [likeliest, share] = reply.likeliest?.[row]?.[0] ?? ["", 0];
    const verb = reply.source?.length ? "writes" : "predicts";
    const end = [`, the model ${verb} “`, named("query", likeliest), `”: ${percent(share)}`];
    return [box.stack === "encoder" ? "In place of " : "After ", word, ...end];
  }
  const doing = doingOf(told);
  if (!isAttention(box))
    return isWriting(told)
      ? [...doing, `, ${told.partName(box)}`]
      : [`${capital(told.partName(box))} of `, word];
  const heads = weightsOf(reply, box, row, told.nHeads);
  const keys = tokensOf(reply, box.part === "cross_attention" ? "encoder" : box.stack);
  if (told.depth === "block") {
    const tops = heads.map((weights) => weights.indexOf(Math.max(...weights)));
    const most = tops.reduce((a, b) => (count(tops, b) > count(tops, a) ? b : a), tops[0] ?? 0);
    const many = count(tops, most);
    const who = many === heads.length ? `all ${many} heads look` : `${many} of ${heads.length} heads look`;
    return [...doing, `, ${who} most at `, named("key", keys[most])];
  }
  const weights = drawnWeights(heads, told.head);
  const top = weights.indexOf(Math.max(...weights));
  const share = percent(weights[top] ?? 0);
  return [...doing, `, ${placeOf(box)} looks at `, named("key", keys[top]), `: ${share}`];
}

type Chosen = Pick<Told, "reply" | "box" | "row">;

/** Whether the chosen vector is one that a word is written from: in a layer of a decoder. */
const isWriting = ({ reply, box, row }: Chosen) =>
  box.stack === "decoder" && box.layer !== null && reply.written !== null && row >= (reply.given ?? 0);

/** "Writing su", where a word is written, else "Reading teacher". */
function doingOf(chosen: Chosen): Piece[] {
  return isWriting(chosen)
    ? ["Writing ", named("query", wordOf(chosen))]
    : ["Reading ", named(roleOf(chosen.box), wordOf(chosen))];
}

/** The word that the chosen vector writes in a layer of a decoder, else the one that it reads. */
const wordOf = (chosen: Chosen): string | undefined =>
  (isWriting(chosen) ? chosen.reply.written! : tokensOf(chosen.reply, chosen.box.stack))[chosen.row];

/** "The vector that writes “su”", or "The vector of “teacher”". */
export const vectorInWords = (chosen: Chosen): string =>
  `The vector ${isWriting(chosen) ? "that writes" : "of"} “${visible(wordOf(chosen) ?? "")}”`;

/** What the chosen word's bars show. */
export function looksInWords(chosen: Chosen): string {
  const word = `“${visible(wordOf(chosen) ?? "")}”`;
  return isWriting(chosen) ? `The weights for writing ${word}` : `What ${word} looks at`;
}

const count = (all: readonly number[], value: number) => all.filter((each) => each === value).length;

export const capital = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1);

/** What happens at a step, in words. */
export function narration(told: Told, steps: readonly Step[], step: number): string {
  const { reply, boxes } = told;
  if (told.depth !== "model") return `${capital(placeOf(told.box))}, ${told.partName(told.box)}.`;
  const { box: key, word } = steps[step] ?? { box: "", word: null };
  const box = boxes.find((each) => each.key === key);
  if (!box) return "";
  const at = `Step ${step + 1} of ${steps.length}: ${placeOf(box)}, ${told.partName(box)}.`;
  if (word === null) return `${at} All ${reply.source?.length ?? 0} tokens go through it at once.`;
  const token = `“${visible(reply.target?.[word] ?? "")}”`;
  if (box.part === "output") return `${at} After ${token} comes “${visible(reply.written?.[word] ?? "")}”.`;
  return `${at} Token ${word + 1} of ${reply.target?.length}, ${token}, goes through it.`;
}
