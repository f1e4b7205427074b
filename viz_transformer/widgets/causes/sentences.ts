// What the pictures of causes say: what is shown, never why.

import { formatNumber, formatSigned, named, percent, type Piece } from "../base/text.ts";
import {
  type Direct,
  type Grid,
  largest,
  type Lens,
  percentBack,
  type Picture,
  type Place,
  type Start,
  word,
} from "./grids.ts";
import type { Patched } from "./replies.ts";

/** "Mary − John" */
export const metricName = (name = "") =>
  name
    .replace(/^logit of /, "")
    .split(" − ")
    .map(word)
    .join(" − ");

/** "head 23·3", "network 3" or "John at layer 12" */
export function placeName(picture: Picture, grid: Grid, { layer, at }: Place): string {
  const [column, row] = [grid.columns[layer] ?? "", grid.rows[at] ?? ""];
  if (row === "network") return `network ${column}`;
  if (picture === "heads" || picture === "direct")
    return row.replace("head ", `head ${column}·`).replace("cross ", `cross head ${column}·`);
  return column === "in" ? `${row} as it enters` : `${row} at layer ${column}`;
}

/** "With the clean run’s John at layer 12, it writes Mary, not John"; without the words, what comes back. */
export function patchedInWords(
  start: Start,
  grid: Grid,
  picture: Picture,
  patches: readonly Place[],
  reply: Patched | undefined,
  value: number | undefined,
  failure: string,
): Piece[] {
  const [clean, corrupted] = [start.clean!, start.corrupted!];
  if (!patches.length)
    return [
      "The clean run writes ",
      named("query", word(clean.words[0]!)),
      ", the corrupted one ",
      named("query", word(corrupted.words[0]!)),
    ];
  const [first] = patches as [Place];
  const what = patches.length > 1 ? `${patches.length} parts` : placeName(picture, grid, first);
  const begin = `With the clean run’s ${what}, `;
  if (!reply && value !== undefined) return [begin, `${shareBack(start, value)} comes back`];
  if (!reply) return failure ? [`What the clean run’s ${what} would bring back is not known`] : [begin, "…"];
  const [was, now] = [word(corrupted.words[0]!), word(reply.words[0]!)];
  if (was === now) return [begin, "it still writes ", named("query", was)];
  return [begin, "it writes ", named("you", now), ", not ", { role: "was", word: was }];
}

const shareBack = ({ clean, corrupted }: Start, value: number) =>
  percentBack((value - corrupted!.value) / (clean!.value - corrupted!.value));

/** "Mary − John: −5.49 → 6.23, 101% of the way to the clean run's 6.12." */
export function metricInWords(start: Start, value: number | undefined): string {
  const [clean, corrupted] = [start.clean!.value, start.corrupted!.value];
  const name = metricName(start.metric);
  if (value === undefined) return `Measured: ${name}.`;
  return `${name}: ${formatNumber(corrupted, 2)} → ${formatNumber(value, 2)}, ${shareBack(start, value)} of the way to the clean run’s ${formatNumber(clean, 2)}.`;
}

/** The row from which on the answer of a position is the first; after the last row, if it never is. */
function firstRow(lens: Lens, ranks: ArrayLike<number>, at: number): number {
  let row = lens.rows.length;
  while (row > 0 && ranks[(row - 1) * lens.tokens.length + at] === 1) row -= 1;
  return row;
}

/** The place that a lens tells of first: the end of the text, where its answer becomes the first. */
export function lensPlace(lens: Lens, ranks: ArrayLike<number>, place: number | null | undefined): Place {
  const at = place ?? lens.tokens.length - 1;
  return { layer: Math.min(lens.rows.length - 1, firstRow(lens, ranks, at)), at };
}

/** "After to, layer 24 would write Mary: 41%" */
export function lensInWords(lens: Lens, grid: Grid, { layer, at }: Place, probability: number): Piece[] {
  const told = lens.top[(layer * lens.tokens.length + at) * lens.k]!;
  const from = grid.columns[layer] === "in" ? "what enters" : `layer ${grid.columns[layer]}`;
  return [
    "At ",
    named("key", grid.rows[at]!),
    `, ${from} would write `,
    named("query", word(told)),
    `: ${percent(probability)}`,
  ];
}

/** "The answer Mary has rank 24 of …" */
export function rankInWords(lens: Lens, ranks: ArrayLike<number>, { layer, at }: Place): string {
  const first = lens.rows[firstRow(lens, ranks, at)]?.replace("embedding", "the start");
  const since = first ? `first from ${first} on` : "never first";
  const rank = ranks[layer * lens.tokens.length + at]!.toLocaleString("en");
  return `${word(lens.followed[at]!)}: rank ${rank} here, ${since}.`;
}

/** "Head 23·3 adds most to Mary − John: +2.86" */
export function directInWords(direct: Direct, grid: Grid, place: Place | null): Piece[] {
  const [most] = largest(grid, 1) as [number];
  const rows = grid.rows.length;
  const shown = place ?? { layer: Math.floor(most / rows), at: most % rows };
  const value = grid.values[shown.layer * rows + shown.at]!;
  const name = placeName("direct", grid, shown);
  const what = value < 0 ? "takes" : "adds";
  const how = place ? what : `${what} most`;
  return [
    `${name[0]!.toUpperCase()}${name.slice(1)} ${how} ${value < 0 ? "from" : "to"} `,
    named("query", metricName(direct.target)),
    `: ${formatSigned(value, 2)}`,
  ];
}

/** "6.12 = 4.01 heads + 5.2 networks − 0.04 embedding + 0 biases" */
export function sumInWords(direct: Direct, grid: Grid): string {
  const rows = grid.rows.length;
  const sum = (isNetwork: boolean) =>
    grid.values.reduce((all, value, i) => all + ((i % rows === rows - 1) === isNetwork ? value : 0), 0);
  const parts = [
    [sum(false), "heads"],
    [sum(true), "networks"],
    [direct.embedding, "embedding"],
    [direct.bias, "biases"],
  ] as const;
  return `${formatNumber(direct.logit, 2)} = ${parts.map(([value, name]) => `${formatSigned(value, 2)} ${name}`).join(" ")}`;
}

const QUOTED = { positions: '"positions"', heads: '"heads"' } as const;

/** The line of Python that gives the same number. */
export function codeOf(picture: Picture, patches: readonly Place[], place: Place | null): string[] {
  const index = place ? `[${place.layer}, ${place.at}]` : "";
  if (picture === "lens") return [`lens.top_tokens${index}`];
  if (picture === "direct") return [`parts.heads${index}`];
  const [only] = patches;
  if (patches.length === 1 && only)
    return [
      "p = vt.attribution.patching(",
      "  model, clean, corrupted,",
      `  metric, ${QUOTED[picture]},`,
      "  tokenizer=tokenizer)",
      `p.values[${only.layer}, ${only.at}]`,
    ];
  const all = patches.map(({ layer, at }) => `{"layer": ${layer}, "at": ${at}}`).join(", ");
  return [`view.patches = [${all}]`];
}
