// What the explorer says: its headline, its headings, its notes, and what a head does.

import { type KindHeads, ownNumbers } from "../base/head_grid.ts";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import {
  differencePower,
  formatWeight,
  isUnchanged,
  marksExplained,
  named,
  percent,
  type Piece,
  powerOfTen,
  shortened,
  visible,
} from "../base/text.ts";
import { isMany } from "./attention_paths.ts";
import { COLOUR_SCALES } from "./colour_scale.ts";
import { type DisplayedHead, shareOf } from "./displayed_head.ts";
import { countApart, type Patches } from "./patch_picture.ts";
import { wordsRead } from "./readout.ts";
import { type Cell, shownInWords } from "./selection.ts";
import { pairInWords, partInHeading, partInWords, traceInPython } from "./shown_part.ts";
import type { Snapshot } from "./snapshot.ts";
import { scoresInWords } from "./wall_heads.ts";
import type { Entry } from "./weight_store.ts";

const LETTERS = 24; // of the name of a trace
const SINK = 0.9; // the first token has nearly all: what tells words apart is in the rest
const FEW_ROWS = 20; // prove no pattern, however plain the pictures look
const WEAK = 0.05; // a head hardly attends to what gets less

/** What the active cell, row or column of a picture is, in one sentence; null where none is active. */
export function activeInWords(shown: DisplayedHead, cell: Cell): Piece[] | null {
  const { entry, weights, cols, limit, masked } = shown;
  const { queries, keys } = wordsRead(shown, cell, 1);
  const [row, col] = [queries[0], keys[0]];
  if (row === undefined || col === undefined) return null;
  const [query, key] = [named("query", shown.queries[row]), named("key", shown.keys[col])];
  const weight = weights![row * cols + col];
  if (masked?.[row * cols + col])
    return [query, " may not attend to ", key, `: ${whyMasked(shown, row, col)}`];
  if (cell.query === null) {
    if (limit === null) return [key, " gets most from ", query, `: ${shareOf(shown, weight)}`];
    return [
      key,
      entry.unnormalised ? " is given most by " : " changed most in ",
      query,
      `: ${told(shown, weight)}`,
    ];
  }
  const doing: Piece[] = [entry.reads ? "Writing " : "Reading ", query, ", "];
  if (entry.unnormalised) return [...doing, "it gives ", key, ` the weight ${told(shown, weight)}`];
  if (limit !== null) {
    const [now, before] = shown.compared ? shown.compared.map(inQuotes) : [null, "before"];
    const how = isUnchanged(weight, limit) ? "as much" : weight > 0 ? "more" : "less";
    const than = `${how === "as much" ? "as" : "than"} ${now ? `in ${before}` : before}`;
    return [
      ...doing,
      "it attends to ",
      key,
      ` ${how} ${now ? `in ${now} ` : ""}${than}: ${told(shown, weight)}`,
    ];
  }
  return [...doing, ...attends(shown, cell.key === null, weight), key, `: ${shareOf(shown, weight)}`];
}

/** "this head looks at", and its like. */
function attends({ aggregate, heads }: DisplayedHead, isStrongest: boolean, weight: number): Piece[] {
  if (aggregate === "rollout") return ["its vector is made of "];
  const [who, verb] = heads.length === 1 ? ["this head", "looks"] : [`these ${heads.length} heads`, "look"];
  if (!isStrongest && weight < WEAK) return [`${who} hardly ${verb} at `];
  return [`${who} ${verb} ${isStrongest && weight < 0.5 ? "most " : ""}at `];
}

function whyMasked({ entry, queryAxis, keyAxis }: DisplayedHead, query: number, key: number): string {
  const isLater = keyAxis.groups[key][0] > queryAxis.groups[query][0];
  return entry.kind === "decoder" && isLater ? "it comes later" : "the mask hides it";
}

const inQuotes = (name: string) => `“${shortened(name, LETTERS)}”`;

const told = ({ limit, entry }: DisplayedHead, weight: number): string =>
  formatWeight(weight, limit, entry.least).replaceAll(" ", "\u00a0");

/** The sentence on the stage: what is shown, never why. */
export function headline(snapshot: Snapshot): Piece[] {
  const { mode, sections, lit, pictureOf, problem, entry, chosen } = snapshot;
  if (mode === "wall") return [wallInWords(sections)];
  const shown = pictureOf(lit.kind);
  if (!shown.weights) return [problem || "This head is loading"];
  const active = activeInWords(shown, lit);
  if (active) return active;
  const label = entry.labels?.[chosen.layer]?.[chosen.head];
  return [label ? `This head: ${label.name}` : `${ATTENTION_KINDS[entry.kind].label}, weight by weight`];
}

/** How many heads there are, and of how many the pattern is clear. */
function wallInWords(sections: Snapshot["sections"]): string {
  const all = sections.reduce((sum, { layers, heads }) => sum + layers * heads, 0);
  const labels = sections.flatMap((section) => (section.labels ? section.labels.flat() : []));
  const clear = labels.filter(Boolean).length;
  if (labels.length !== all || sections.some(({ signed }) => signed)) return `All ${all} heads`;
  if (clear) return `${clear} of ${all} heads have a clear pattern`;
  return sections.every(({ rows }) => rows < FEW_ROWS)
    ? `All ${all} heads: the text is too short to establish a pattern`
    : `No pattern of these ${all} heads is stronger than chance in this text`;
}

/** The line below: where, in the linked columns, the word that is read has looked itself. */
export function lineBelow(snapshot: Snapshot): Piece[] {
  const { mode, lit, pictureOf, chosenOf, entries } = snapshot;
  const shown = mode === "wall" ? null : pictureOf(lit.kind);
  const [key] = shown?.weights && lit.query !== null ? wordsRead(shown, lit, 1).keys : [];
  if (mode === "linked" && lit.kind === "cross" && key !== undefined && entries.has("encoder")) {
    const read = pictureOf("encoder");
    const [source] =
      read.weights && read.limit === null ? wordsRead(read, { query: key, key: null }, 1).keys : [];
    if (source === undefined) return [];
    const { layer, head } = chosenOf("encoder");
    const own = ownNumbers(entries.get("encoder")!, layer, head).join("·");
    const weight = shareOf(read, read.weights![key * read.cols + source]);
    const words = [named("key", read.queries[key]), " looked at ", named("key", read.keys[source])];
    return [`In encoder head ${own}, `, ...words, `: ${weight}`];
  }
  const rounding = roundingInWords(snapshot);
  if (mode === "wall") return [`Click a head to see it large.${rounding}`];
  if (shown?.compared) {
    const [one, other] = shown.compared.map(inQuotes);
    return [`${one} minus ${other}. Green: more in ${one}. Brown: more in ${other}.${rounding}`];
  }
  if (shown?.weights && shown.aggregate !== "head" && lit.query !== null) {
    const rest = withoutFirst(shown, wordsRead(shown, lit, 1).queries[0]!, snapshot);
    if (rest.length) return [...rest, rounding];
  }
  return [`Point at a word; click to keep it.${rounding}`]; // always: what is below must not move under the pointer
}

/** What an exported page has rounded, and left out, of the weights that are shown. */
function roundingInWords({ mode, lit, entry, pictureOf, lost }: Snapshot): string {
  const dtype = mode === "wall" ? entry.dtype : pictureOf(lit.kind).dtype;
  const coarse = dtype === "uint8" ? " 8 bits: whole percents." : "";
  const threshold = entry.carried?.threshold;
  if (!threshold || mode === "wall") return coarse;
  return `${coarse} Below ${threshold} left out: ${percent(lost)}.`;
}

/** What a row gives to the other keys where the first one has nearly all, as shares of the rest; else nothing. */
function withoutFirst(
  shown: DisplayedHead,
  query: number,
  { mode, options }: Pick<Snapshot, "mode" | "options">,
): Piece[] {
  const { weights, cols, limit, keys, keyAxis, dtype } = shown;
  const [first, ...others] = weights!.subarray(query * cols, (query + 1) * cols);
  const rest = others.reduce((sum, weight) => sum + weight, 0);
  if (limit !== null || keyAxis.groups[0]?.[0] !== 0 || first! < SINK) return [];
  // What 8 bits have rounded away is still there: only the first query sees nothing else.
  if (!rest) return query && dtype === "uint8" ? ["Nearly all is on the first token."] : [];
  const order = others.map((_, i) => i).sort((a, b) => others[b]! - others[a]!);
  const words = order
    .slice(0, 2)
    .flatMap((i): Piece[] => [", ", named("key", keys[i + 1]!), ` ${percent(others[i]! / rest)}`]);
  if (mode === "matrix" && options.colourScale === "rest")
    return ["Without the first token", ...words, " of the rest"];
  const how = mode === "matrix" ? ", which ⋯ can leave out of the colours" : "";
  return ["Beside the first token", ...words, ` of the rest${how}`];
}

/** What the picture shows, as a heading. */
export function headingOf({ chosen, entry, linked }: Snapshot): string {
  const label = ATTENTION_KINDS[entry.kind].label;
  const words = `${label} · ${shownInWords(entry, chosen)}${partInHeading(entry.attendsBy)}`;
  if (!entry.signed || entry.unnormalised) return words;
  const other = entry.matched && !linked && chosen.aggregate === "head";
  return `Difference · ${words}${other ? ` − layer ${entry.matched!.layers[chosen.layer]} of the other` : ""}`;
}

/** A head's label and entropy in words. */
export function headInWords(
  entry: Pick<KindHeads, "kind" | "heads"> & Partial<KindHeads>,
  at: { layer: number; head: number },
): string {
  const { labels, entropies, heads, signed, kind, scores, numbers = null } = entry;
  const { layer, head } = at;
  const label = labels?.[layer]?.[head];
  const share = entropies?.[layer * heads + head] ?? NaN; // NaN too where no query has a choice
  const entropy = Number.isNaN(share) ? "" : `entropy ${formatWeight(share, signed ? 1 : null)}`;
  const scale = signed ? "more or less than before" : "of its maximum";
  const parts = [
    `Head ${ownNumbers({ numbers }, layer, head).join("·")} of ${ATTENTION_KINDS[kind as Entry["kind"]].label.toLowerCase()}`,
  ];
  if (entropy) parts.push(`${entropy} ${scale}`);
  const shown = label?.sentence?.replace(/“(.+)”/, (_, token: string) => `“${visible(token)}”`);
  if (label) parts.push(`${label.name}: ${shown}`);
  else if (labels) parts.push("no clear pattern");
  const own = scoresInWords({ scores, heads }, layer, head);
  if (own.length) parts.push(own.join(", "));
  return parts.join(" · ");
}

function matchInWords({ layers, matched, attendsBy }: Entry, layer: number): string {
  const traces = ["trace", "other"].map((each) => traceInPython(each, attendsBy)).join(", ");
  const { layers: met, of, heads } = matched!;
  const depth = `Layer ${layer} of ${layers} meets layer ${met[layer]} of ${of}, at the same share of its depth.`;
  const mean = heads
    ? ` The models have ${heads.join(" and ")} heads, so each layer is the mean of its heads.`
    : "";
  return `${depth}${mean} In Python: one, two = vt.analysis.match_traces(${traces}).`;
}

/** What the colours of differences, or of weights that are not normalised, stand for. */
export function coloursInWords({ unnormalised, least }: Pick<Entry, "unnormalised" | "least">): string {
  if (!unnormalised) return "Green: more than before. Brown: less than before.";
  return least < 0 ? "Green: above 0. Brown: below 0." : "Green: above 0.";
}

function picturedInWords(
  patches: Patches,
  hasImage: boolean,
  limit: number | null,
  isReduced: boolean,
): string[] {
  const byWeight = hasImage
    ? "The picture is bare at the largest weight of its patches, and fades towards 0."
    : "The colours of patches go up to the largest weight among them.";
  const apart = countApart(patches) ? "The colours of tokens apart end there too." : "";
  const bySign = hasImage ? "The picture only darkens and lightens the colours of its patches." : "";
  const each = isReduced ? "Patches show each token by itself, none hidden or merged." : "";
  return [...(limit === null ? [byWeight, apart] : [bySign]), each].filter(Boolean);
}

interface Omissions {
  threshold: number;
  mergeWords: boolean;
  hideSpecial: boolean;
  colourScale?: string;
  /** The lines between the columns. */
  lines: ({ count: number; all: number } | null)[];
  patches?: Patches | null;
  image?: { width?: number } | null;
}

/** What the picture leaves out or changes, in sentences. */
export function notes(shown: DisplayedHead, omitted: Omissions): string[] {
  const {
    threshold,
    mergeWords,
    hideSpecial,
    lines,
    patches = null,
    image = null,
    colourScale = "linear",
  } = omitted;
  const { queryAxis, keyAxis, masked, limit, weights, entry } = shown;
  const merged = (axis: DisplayedHead["queryAxis"]) => axis.groups.some((group) => group.length > 1);
  const hidden = (axis: DisplayedHead["queryAxis"]) => axis.at.includes(-1);
  const sentences = [];
  const marks = marksExplained([...shown.queries, ...shown.keys, ...(entry?.reads ?? [])]);
  if (marks) sentences.push(marks);
  const part = partInWords(entry?.attendsBy);
  if (part) sentences.push(part);
  if (entry?.note) sentences.push(entry.note);
  if (shown.pair && shown.pair !== "all") sentences.push(pairInWords(shown.pair));
  if (entry?.matched) sentences.push(matchInWords(entry, shown.layer));
  if (limit !== null) sentences.push(coloursInWords(entry));
  if (limit !== null && differencePower(limit))
    sentences.push(
      `Numbers written in cells are multiples of ${powerOfTen(Number(`1e${differencePower(limit)}`))}.`,
    );
  if (limit === null && COLOUR_SCALES[colourScale]?.told) sentences.push(COLOUR_SCALES[colourScale].told);
  if (masked?.includes(1)) sentences.push("Hatched: masked, so the weight is 0.");
  if (threshold > 0)
    sentences.push(
      limit === null
        ? `Weights below ${threshold.toFixed(2)} are not drawn.`
        : `${entry.unnormalised ? "Weights" : "Changes"} below ${threshold.toFixed(2)} of the scale are not drawn.`,
    );
  if (hideSpecial && (hidden(queryAxis) || hidden(keyAxis)))
    sentences.push("Special tokens are hidden, so a row may sum to less than 1.");
  if (mergeWords && (merged(queryAxis) || merged(keyAxis)))
    sentences.push(
      "Pieces are merged into words: a weight is summed over the pieces of the key, and averaged over those of the query.",
    );
  if (patches)
    sentences.push(...picturedInWords(patches, Boolean(image?.width), limit, hideSpecial || mergeWords));
  const sum = (of: "count" | "all") => lines.reduce((total, one) => total + (one?.[of] ?? 0), 0);
  if (weights && lines.length && isMany(shown)) sentences.push("Lines are drawn for the queries in view.");
  else if (weights && sum("count") < sum("all"))
    sentences.push(`The strongest ${sum("count")} of ${sum("all")} lines are drawn.`);
  return sentences;
}
