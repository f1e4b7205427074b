// The inspector: what is chosen as bars, as an equation with its numbers, and as a line of Python.

import type { Theme } from "../base/js/colour.js";
import { colourOf, weightColour } from "../base/js/colour.js";
import { percent } from "../base/percent.ts";
import { formatWeight, isUnchanged, markMeaning, visible } from "../base/js/text.js";
import { pinOfKind } from "./choose.ts";
import type { DisplayedHead } from "./displayed_head.js";
import { linkedSentence } from "./linked_columns.js";
import { pathsOf } from "./attention_paths.js";
import type { Readout } from "./readout.ts";
import type { Room } from "./room.ts";
import { headInWords, headingOf, notes } from "./sentences.ts";
import type { Snapshot } from "./snapshot.js";

const MOST_BARS = 8;
const MOST_TERMS = 3; // of the weighted sum

export function Inspector({ room, snapshot }: { room: Room; snapshot: Snapshot }) {
  const { lit, pictureOf, sections, chosen, state, options, problem } = snapshot;
  const shown = pictureOf(lit.kind);
  const read = snapshot.read(MOST_BARS);
  const head = state.hoveredHead ?? chosen;
  const entry = sections.find(({ kind }) => kind === head.kind)!;
  return (
    <>
      <h3 class="vt-title">{headingOf(snapshot)}</h3>
      {problem && <p role="alert">{problem}</p>}
      <Bars
        room={room}
        shown={shown}
        read={read}
        byKey={lit.query === null}
        kind={lit.kind}
        theme={room.frame.theme}
      />
      <div class="vt-readout" role="status" aria-live="polite">
        <Pair shown={shown} read={read} />
        <Equation shown={shown} read={read} isRow={lit.query !== null && lit.key === null} />
        <p class="vt-sum">{sumOf(snapshot, read)}</p>
        {read.detail && <p class="vt-code vt-detail">{read.detail}</p>}
      </div>
      <p class="vt-label">{headInWords(entry, head)}</p>
      <p class="vt-notes">
        {notes(snapshot.shown, { ...options, lines: room.lines, patches: snapshot.patches }).join(" ")}
      </p>
    </>
  );
}

interface BarsProps {
  room: Room;
  shown: DisplayedHead;
  read: Readout;
  byKey: boolean;
  kind: string;
  theme: Theme;
}

/** A bar for each weight of a row, or of a column; all of a short one in order, of a long one the strongest. */
function Bars({ room, shown, read, byKey, kind, theme }: BarsProps) {
  if (read.pairs.length === 0) return null;
  const count = byKey ? shown.rows : shown.cols;
  const [first] = read.pairs;
  const all = count <= MOST_BARS;
  const cells = all
    ? Array.from({ length: count }, (_, i) =>
        byKey ? { query: i, key: first!.key } : { query: first!.query, key: i },
      )
    : read.pairs;
  const most = Math.max(...read.pairs.map(({ weight }) => Math.abs(weight)));
  return (
    <div class="vt-bars">
      {cells.map(({ query, key }) => {
        const at = query * shown.cols + key;
        const weight = shown.weights![at];
        const isMasked = Boolean(shown.masked?.[at]);
        const size = shown.limit === null ? weight : Math.abs(weight) / (most || 1);
        const colour =
          shown.limit === null ? colourOf(weight, theme.stops) : weightColour(weight, shown.limit, theme);
        const name = byKey ? shown.queries[query] : shown.keys[key];
        return (
          <button
            type="button"
            class="vt-weight-row"
            key={`${query} ${key}`}
            data-lm-suppress-shortcuts="true"
            aria-pressed={read.pairs.length === 1 && first!.query === query && first!.key === key}
            onClick={() => pinOfKind(room, { kind, query, key })}
          >
            <bdi class={byKey ? "vt-of-query" : "vt-of-key"} title={markMeaning(name) ?? visible(name)}>
              {visible(name)}
            </bdi>
            <span class={isMasked ? "vt-weight-bar vt-masked" : "vt-weight-bar"}>
              {size >= 0.005 && (
                <span style={{ width: `${Math.min(100, 100 * size)}%`, background: `rgb(${colour})` }} />
              )}
            </span>
            <span class="vt-weight-number">{isMasked ? "masked" : numberOf(shown, weight)}</span>
          </button>
        );
      })}
    </div>
  );
}

function numberOf({ limit, entry }: DisplayedHead, weight: number): string {
  if (limit === null) return weight === 0 ? "" : percent(weight);
  return isUnchanged(weight, limit) ? "" : formatWeight(weight, limit, entry.least);
}

/** The strongest weight of what is active, with its rank. */
function Pair({ shown, read }: { shown: DisplayedHead; read: Readout }) {
  const [pair] = read.pairs;
  if (!pair) return null;
  const place = pair.masked ? ", masked" : `, rank ${pair.rank} of ${pair.of}`;
  return (
    <p class="vt-pair">
      <bdi>{visible(shown.queries[pair.query])}</bdi>
      {" to "}
      <bdi>{visible(shown.keys[pair.key])}</bdi>
      {": "}
      <b>{formatWeight(pair.weight, shown.limit, shown.entry.least)}</b>
      {place}
    </p>
  );
}

/** What the head makes of a row: the values, weighted. */
function Equation({ shown, read, isRow }: { shown: DisplayedHead; read: Readout; isRow: boolean }) {
  if (!isRow || shown.limit !== null || shown.aggregate !== "head") return null;
  const terms = read.pairs.filter(({ weight }) => weight >= 0.005).slice(0, MOST_TERMS);
  return (
    <p class="vt-equation">
      {"softmax(q · Kᵀ / √dₖ) · V = "}
      {terms.map(({ key, weight }, i) => (
        <span key={key}>
          {i > 0 && " + "}
          <b>{weight.toFixed(2)}</b>
          {" v("}
          <bdi class="vt-of-key">{visible(shown.keys[key])}</bdi>)
        </span>
      ))}
      {terms.length < shown.cols && " + …"}
    </p>
  );
}

/** The sum of the row; of linked columns where the paths lead. */
function sumOf(
  { linked, lit, links, names, options, placesFor, pictureOf }: Snapshot,
  { sum }: Readout,
): string {
  const [place] = placesFor(lit);
  const shown = pictureOf(lit.kind);
  if (!linked || !place || !shown.weights || shown.limit !== null) return sum;
  const counts = names.map((each) => each.length);
  return linkedSentence(linked, names, pathsOf(links, counts, place, options.threshold).reach, place);
}
