// The inspector of the causes: the likeliest words, the equation with its numbers, the line of Python.

import { Bars } from "../base/bars.tsx";
import { decodeWeights } from "../base/bytes.ts";
import type { Theme } from "../base/colour.ts";
import { Doors } from "../base/doors.tsx";
import { Code } from "../base/python_code.tsx";
import { formatNumber, formatSigned, percent } from "../base/text.ts";
import {
  type Direct,
  type Grid,
  largest,
  type Lens,
  percentBack,
  type Place,
  type Start,
  word,
} from "./grids.ts";
import type { Patched } from "./replies.ts";
import { placeName, sumInWords } from "./sentences.ts";

const MOST = 8; // cells that are listed

interface PatchProps {
  theme: Theme;
  start: Start;
  patches: readonly Place[];
  reply: Patched | undefined;
  /** The metric, which the grid may hold where the words are not known. */
  value: number | undefined;
  /** Why the words are not known. */
  failure: string;
  code: string[];
}

export function PatchInspector({ theme, start, patches, reply, value, failure, code }: PatchProps) {
  const [clean, corrupted] = [start.clean!, start.corrupted!];
  const shown = reply ?? { ...corrupted, before: corrupted.shares };
  const bars = shown.words.map((each, i) => {
    const [was, now] = [percent(shown.before[i]!), percent(shown.shares[i]!)];
    return [word(each), shown.shares[i]!, { told: was === now ? now : `${was} → ${now}` }] as const;
  });
  const isPatched = patches.length > 0;
  const [now, from, to] = [isPatched ? value : corrupted.value, corrupted.value, clean.value];
  const less = (number: number) => `(${formatNumber(number, 2)} ${formatSigned(-from, 2)})`;
  return (
    <>
      {isPatched && !reply ? (
        <p role={failure ? "alert" : "status"}>{failure || "…"}</p>
      ) : (
        <section>
          The corrupted run {reply ? "now writes" : "writes"}
          <Bars {...{ theme, bars, label: "likeliest words", kind: "probability" }} />
        </section>
      )}
      {now !== undefined && (
        <p class="vt-equation">
          {less(now)} / {less(to)} = <b data-changed={isPatched}>{percentBack((now - from) / (to - from))}</b>
        </p>
      )}
      <Code lines={code} />
      <Doors />
    </>
  );
}

interface LensProps {
  theme: Theme;
  lens: Lens;
  grid: Grid;
  place: Place;
  code: string[];
}

export function LensInspector({ theme, lens, grid, place, code }: LensProps) {
  const index = place.layer * lens.tokens.length + place.at;
  const first = index * lens.k;
  const shares = decodeWeights(lens.probabilities, "float32");
  const bars = Array.from(
    { length: lens.k },
    (_, i) => [word(lens.top[first + i]!), shares[first + i]!] as const,
  );
  const ranks = decodeWeights(lens.ranks, "float32");
  const own = decodeWeights(lens.shares, "float32");
  return (
    <>
      <section>
        <b class="vt-of-key">{placeName("lens", grid, place)}</b> would write
        <Bars {...{ theme, bars, label: "likeliest words", kind: "probability" }} />
      </section>
      <p class="vt-equation">
        the answer <b class="vt-of-query">{word(lens.followed[place.at]!)}</b>: {percent(own[index]!)}, rank{" "}
        {ranks[index]!.toLocaleString("en")}
      </p>
      <Code lines={code} />
      <Doors />
    </>
  );
}

interface DirectProps {
  theme: Theme;
  direct: Direct;
  grid: Grid;
  place: Place | null;
  code: string[];
  onChoose: (place: Place) => void;
}

export function DirectInspector({ theme, direct, grid, place, code, onChoose }: DirectProps) {
  const rows = grid.rows.length;
  const cells = largest(grid, MOST);
  const placeOf = (index: number) => ({ layer: Math.floor(index / rows), at: index % rows });
  const bars = cells.map((index) => {
    const value = grid.values[index]!;
    const look = {
      told: formatSigned(value, 2),
      colour: value < 0 ? "var(--below)" : "var(--above)",
      role: "",
    };
    return [placeName("direct", grid, placeOf(index)), Math.abs(value) / grid.limit, look] as const;
  });
  const chosen = place && cells.indexOf(place.layer * rows + place.at);
  return (
    <>
      <section>
        The largest parts
        <Bars
          {...{ theme, bars, label: "largest parts", kind: "weight", chosen }}
          onChoose={(i) => onChoose(placeOf(cells[i]!))}
        />
      </section>
      <p class="vt-equation">{sumInWords(direct, grid)}</p>
      <Code lines={code} />
      <Doors />
    </>
  );
}
