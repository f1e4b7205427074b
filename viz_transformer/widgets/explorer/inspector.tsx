// The inspector: what is chosen as bars, as an equation with its numbers, and as a line of Python.

import { Bars } from "../base/bars.tsx";
import { css, weightColour } from "../base/colour.ts";
import { Doors } from "../base/doors.tsx";
import { formatWeight, isUnchanged, shortened } from "../base/text.ts";
import { pathsOf } from "./attention_paths.ts";
import { pinOfKind } from "./choose.ts";
import { type DisplayedHead, shareOf } from "./displayed_head.ts";
import { linkedSentence } from "./linked_columns.ts";
import { type Readout, readout } from "./readout.ts";
import type { Room } from "./room.ts";
import { headingOf, headInWords, notes } from "./sentences.ts";
import type { Snapshot } from "./snapshot.ts";
import { Why } from "./why.tsx";

const MOST_BARS = 8;
const MOST_TERMS = 3; // of the weighted sum
const LETTERS = 60; // of a word

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
      <NextWords room={room} snapshot={snapshot} />
      <Weights room={room} snapshot={snapshot} read={read} />
      <div class="vt-readout" role="status" aria-live="polite">
        <Pair shown={shown} read={read} />
        <Equation shown={shown} read={read} isRow={lit.query !== null && lit.key === null} />
        <p class="vt-sum">{sumOf(snapshot, read)}</p>
        {read.detail && <p class="vt-code vt-detail">{read.detail}</p>}
      </div>
      <Why {...{ room, snapshot, read }} />
      {(state.hoveredHead || shown.aggregate === "head") && (
        <p class="vt-label">{headInWords(entry, head)}</p>
      )}
      <p class="vt-notes">
        {notes(snapshot.shown, { ...options, lines: room.lines, patches: snapshot.patches }).join(" ")}
      </p>
      <Doors />
    </>
  );
}

/** The likeliest words where the chosen one is written, and those of the sentence before. */
function NextWords({ room, snapshot }: { room: Room; snapshot: Snapshot }) {
  const { lit, pictureOf, written, change } = snapshot;
  const at = lit.kind === "encoder" ? null : lit.query;
  if (!written || at === null || pictureOf(lit.kind).queries.length !== written.next.length) return null;
  const after = (words: string[]) =>
    at > 0 && (
      <>
        after <bdi class="vt-of-query">{shortened(words[at - 1], LETTERS)}</bdi>,{" "}
      </>
    );
  const grey = { colour: "var(--muted)", role: "vt-small" };
  const { theme } = room.frame;
  return (
    <>
      <p class="vt-label">{after(written.target)}the model writes</p>
      <Bars theme={theme} label="next words" kind="probability" bars={written.next[at]} />
      {change?.before.next[at] && (
        <>
          <p class="vt-label">
            with <bdi class="vt-of-was">{shortened(change.word, LETTERS)}</bdi>, {after(change.before.target)}
            it was
          </p>
          <Bars
            theme={theme}
            label="next words before"
            kind="probability"
            bars={change.before.next[at].map(([word, share]) => [word, share, grey] as const)}
          />
        </>
      )}
    </>
  );
}

/** A bar for each weight of a row, or of a column; all of a short one in order, of a long one the strongest. */
function Weights({ room, snapshot, read }: { room: Room; snapshot: Snapshot; read: Readout }) {
  const { lit, pictureOf } = snapshot;
  const [shown, [first]] = [pictureOf(lit.kind), read.pairs];
  if (!first) return null;
  const byKey = lit.query === null;
  const count = byKey ? shown.rows : shown.cols;
  const cells = byKey
    ? Array.from({ length: count }, (_, query) => ({ query, key: first.key }))
    : Array.from({ length: count }, (_, key) => ({ query: first.query, key }));
  const line = byKey ? { query: null, key: first.key } : { query: first.query, key: null };
  const listed = count > MOST_BARS ? readout(shown, line, MOST_BARS).pairs : cells;
  const { weights, masked, cols, limit } = shown;
  const { theme } = room.frame;
  const most = Math.max(...listed.map(({ query, key }) => Math.abs(weights![query * cols + key]))) || 1;
  return (
    <Bars
      theme={theme}
      label="weights"
      kind="weight"
      named={byKey ? "query" : "key"}
      bars={listed.map(({ query, key }) => {
        const weight = weights![query * cols + key];
        const look = {
          told: numberOf(shown, weight),
          ...(limit === null ? {} : { colour: css(weightColour(weight, limit, theme)) }),
          isMasked: Boolean(masked?.[query * cols + key]),
        };
        const share = Math.min(1, limit === null ? weight : Math.abs(weight) / most);
        return [byKey ? shown.queries[query] : shown.keys[key], share, look] as const;
      })}
      chosen={
        read.pairs.length === 1
          ? listed.findIndex((cell) => cell.query === first.query && cell.key === first.key)
          : null
      }
      onChoose={(at) => pinOfKind(room, { kind: lit.kind, query: listed[at].query, key: listed[at].key })}
    />
  );
}

function numberOf(shown: DisplayedHead, weight: number): string {
  const { limit, entry } = shown;
  if (limit === null) return weight === 0 ? "" : shareOf(shown, weight);
  if (isUnchanged(weight, limit)) return weight === 0 ? "0" : "≈\u00a00"; // as far as its digits tell
  return formatWeight(weight, limit, entry.least);
}

function Pair({ shown, read }: { shown: DisplayedHead; read: Readout }) {
  const [pair] = read.pairs;
  if (!pair) return null;
  const place = pair.masked ? ", masked" : `, rank ${pair.rank} of ${pair.of}`;
  return (
    <p class="vt-pair">
      <bdi>{shortened(shown.queries[pair.query], LETTERS)}</bdi>
      {" to "}
      <bdi>{shortened(shown.keys[pair.key], LETTERS)}</bdi>
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
  const start = (read.pairs[0]?.query ?? 0) * shown.cols;
  const seen = shown.weights?.slice(start, start + shown.cols).filter((weight) => weight > 0).length ?? 0;
  return (
    <p class="vt-equation">
      {"softmax(q · Kᵀ / √dₖ) · V = "}
      {terms.map(({ key, weight }, i) => (
        <span key={key}>
          {i > 0 && " + "}
          <b>{weight.toFixed(2)}</b>
          {" v("}
          <bdi class="vt-of-key">{shortened(shown.keys[key], LETTERS)}</bdi>)
        </span>
      ))}
      {terms.length < seen && " + …"}
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
