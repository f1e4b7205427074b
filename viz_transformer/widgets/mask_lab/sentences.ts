// What the mask lab says: its headline, one line more, and why a leak matters. The count of leaks and the headline
// come from the same numbers, so that they never disagree.

import shared from "../../shared.json" with { type: "json" };
import { counted, named, type Piece, quoted } from "../base/text.ts";
import { type ComposedMask, emptyRows, isWord, type MaskState } from "./composition.ts";
import {
  countLeaks,
  countMoved,
  largestLeak,
  type LeakRow,
  leakRows,
  type Leaks,
  type Selected,
} from "./leaks.ts";
import { whyNotLonger } from "./requests.ts";

export type Shown = Selected & MaskState;

interface Told {
  headline: Piece[];
  line: Piece[];
  /** Whether something leaks, here or elsewhere in the batch. */
  isLeaky: boolean;
}

const outputs = (count: number) => counted(count, "output");

/** What is shown, in a headline and a line; `problem` says why nothing is measured. */
export function told(leaks: Leaks | null, composed: ComposedMask, shown: Shown, problem: string): Told {
  const mask = composed.may[shown.sentence] ?? [];
  const closed = mask.flat().filter((may) => !may).length;
  const size = composed.queries * composed.keys;
  const refused = leaks && shown.edit === "padding" ? whyNotLonger(composed, shown) : "";
  if (!leaks || refused)
    return {
      headline: [`${shared.kinds[shown.kind as "cross"].label}: ${closed} of ${size} cells are masked`],
      line: [problem || (refused && `With two more padding tokens, ${refused}.`) || "Asking the model …"],
      isLeaky: false,
    };
  const made = shown.edit === "padding" ? toldOfPadding : toldOfWord;
  const found = made(leaks, composed, shown, leakRows(leaks, composed, shown));
  const empty = emptyRows(composed, shown.sentence).length;
  if (empty) found.line.push(` ∅: ${counted(empty, "row")} may attend to no key.`);
  return found;
}

function toldOfWord(leaks: Leaks, composed: ComposedMask, shown: Shown, rows: LeakRow[]): Told {
  const { sentence, edited } = shown;
  const tokenOf = (b: number, k: number) => named("key", composed.keyTokens[b]?.[k]);
  const key = tokenOf(sentence, edited);
  const { leaks: count, places } = countLeaks(leaks, composed);
  const line: Piece[] = [
    ...["Bars: how far outputs move when ", key, " becomes "],
    ...[named("you", leaks.replacements[sentence]?.[edited]), "."],
    ` Leaks in this batch: ${count} of ${places}.`,
  ];
  const leaked = rows.filter(({ verdict }) => verdict === "leak");
  if (leaked.length) {
    const most = leaked.reduce((one, other) => (other.change > one.change ? other : one));
    const into = [key, ` leaks into ${outputs(leaked.length)}: `];
    return { headline: [...into, ...toldOfOutput(most, leaked.length)], line, isLeaky: true };
  }
  const worst = largestLeak(leaks, composed);
  if (worst) {
    const where = worst.sentence === sentence ? "" : ` of sentence ${worst.sentence + 1}`;
    const leaky = tokenOf(worst.sentence, worst.edited);
    return {
      headline: [key, " leaks into no output; ", leaky, `${where} leaks into ${outputs(worst.count)}`],
      line,
      isLeaky: true,
    };
  }
  const cut = rows.filter(({ verdict }) => verdict === "cut").length;
  const moves = rows.some(({ verdict }) => verdict === "moved");
  const also = moves ? ["only outputs that may depend on it"] : ["no output"];
  return {
    headline: cut
      ? ["No leak, but ", key, ` is hidden from ${outputs(cut)} that may depend on it`]
      : ["No leak: ", key, " moves ", ...also],
    line,
    isLeaky: false,
  };
}

function toldOfOutput({ word, writes }: LeakRow, count: number): Piece[] {
  const query = named("query", word);
  if (!writes || writes.now.word === writes.right.word)
    return count > 1 ? [query, " moves most"] : [query, " moves"];
  const { now, right } = writes;
  return [query, " writes ", named("you", now.word), ", not ", named("query", right.word)];
}

function toldOfPadding(leaks: Leaks, composed: ComposedMask, { side }: Shown, rows: LeakRow[]): Told {
  const { moved, places } = countMoved(leaks, composed);
  const here = rows.filter(({ verdict }) => verdict === "leak" || verdict === "shifted").length;
  const isLeaky = moved > 0 && side === "right";
  const line = [
    `Outputs in this batch that two more padding tokens, not drawn here, move: ${moved} of ${places}.`,
  ];
  if (moved && side === "left") line.push(" Each word is now at a later position, which no mask can hide.");
  const also = moved && !here ? `, but ${moved} of other sentences` : "";
  const start = moved ? "" : "No leak: ";
  const added = `${start ? "two" : "Two"} more padding tokens move`;
  return {
    headline: [`${start}${added} ${here ? outputs(here) : "no output"} of this sentence${also}`],
    line,
    isLeaky,
  };
}

/** Why the leaks of the chosen token matter, or "". */
export function whyItMatters(rows: LeakRow[], composed: ComposedMask, shown: Shown): string {
  if (!rows.some(({ verdict }) => verdict === "leak")) return "";
  if (shown.edit === "padding") return "The outputs of a sentence must not depend on its padding.";
  const key = composed.keyTokens[shown.sentence]?.[shown.edited] ?? "";
  if (!isWord(key)) return "Padding is not a word, so it must not change an output.";
  if (composed.isCopied)
    return `The decoder has already read ${quoted(key)} when it has to predict it, so it learns only to copy.`;
  return composed.kind === "decoder"
    ? "These outputs depend on later words: a decoder trained like this only copies the next word."
    : "";
}
