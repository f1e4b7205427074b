// The recorded training: one curve to drag along, and the heads and texts of a run, or of two, at that moment.

import { useMemo, useState } from "preact/hooks";
import { HeadGrid } from "../base/heads.tsx";
import { useKernel } from "../base/hooks.ts";
import { ATTENTION_KINDS, type HeadPlace, sameHead } from "../base/kinds.ts";
import { newestReply } from "../base/replies.ts";
import { nearestValue } from "../base/scales.ts";
import { Chips } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { shortened } from "../base/text.ts";
import { usePlayer } from "../base/timeline.tsx";
import { Curve, driveHeight } from "./curve.tsx";
import { LargeHead } from "./head.tsx";
import { Inspector } from "./inspector.tsx";
import {
  type Cell,
  headAtMoment,
  type Heads,
  readHeads,
  readRun,
  restingCell,
  type Run,
  type SentHeads,
  type SentRun,
} from "./runs.ts";
import { followedInWords, headlineOf, lineOf, momentInWords } from "./sentences.ts";
import { TRAITS, type Traits } from "./traits.ts";
import { Written } from "./written.tsx";

const FLAT = 6; // layers that a strip has room for
const NARROW = 600; // pixels of a view where the curve's title takes more lines
const LOW = 660; // pixels of the view's height, below which its parts stand closer
const LETTERS = 60; // of a sentence in the menu

type SentKinds = { runs: Record<string, SentHeads>[] };
interface Data {
  runs: SentRun[];
  kinds: string[];
  /** The heads of some sentences; those of the others are requested. */
  sentences: Record<string, SentKinds>;
}

/** A run as it is shown: its moment, its heads of all kinds, the chosen one, and the weight that is followed. */
export interface Side {
  index: number;
  run: Run;
  moment: number;
  sentence: number;
  kinds: Record<string, Heads> | null;
  entry: Heads | null;
  chosen: HeadPlace;
  /** [query, key] */
  weights: Float32Array;
  followed: Cell;
  pointed: Cell | null;
}

/** The heads of a sentence in every run, or null until they have come, and why they do not come. */
function useHeads({ model, redraw, traits }: Frame<Traits>) {
  const { sentences } = traits.data as unknown as Data;
  const kernel = useKernel(model);
  const replies = useMemo(
    () => newestReply<{ sentence: number }, SentKinds>(kernel, redraw),
    [kernel, redraw],
  );
  const { sentence } = traits;
  const wanted = sentences[sentence] ? null : replies.want({ sentence });
  const sent = sentences[sentence] ?? wanted?.now?.reply;
  const kinds = useMemo(() => {
    const read = (each: Record<string, SentHeads>) =>
      Object.fromEntries(Object.entries(each).map(([kind, heads]) => [kind, readHeads(heads)]));
    return sent?.runs.map(read) ?? null;
  }, [sent]);
  return { kinds, problem: wanted?.problem ?? "" };
}

/** The head of a run that is chosen, one that there is. */
export function chosenHead(
  index: number,
  heads: Pick<Heads, "layers" | "heads"> | null,
  traits: Readonly<Traits>,
): HeadPlace {
  const [layer, head] = index ? [traits.other_layer, traits.other_head] : [traits.layer, traits.head];
  return {
    kind: traits.kind,
    layer: Math.min(layer ?? 0, (heads?.layers ?? 1) - 1),
    head: Math.min(head ?? 0, (heads?.heads ?? 1) - 1),
  };
}

/** The traits that choose a head of a run. */
export const headChange = (index: number, { layer, head }: HeadPlace): Partial<Traits> =>
  index ? { other_layer: layer, other_head: head } : { layer, head };

function Scrubber(frame: Frame<Traits>) {
  const { traits, set } = frame;
  const data = traits.data as unknown as Data;
  const runs = useMemo(() => data.runs.map(readRun), [data]);
  const { kinds, problem } = useHeads(frame);
  const [cells, setCells] = useState<Record<string, Cell>>({});
  const [pointed, setPointed] = useState<{ index: number; cell: Cell } | null>(null);
  const place = `${traits.sentence} ${traits.kind}`; // what a followed cell is of
  const first = Math.min(traits.moment, runs[0]!.moments.length - 1);
  const sides = runs.map((run, index): Side => {
    const moment = nearestValue(run.moments, runs[0]!.moments[first]!);
    const entry = kinds?.[index]?.[traits.kind] ?? null;
    const chosen = chosenHead(index, entry, traits);
    const { layer, head } = chosen;
    const weights = entry ? headAtMoment(entry, moment, layer, head) : new Float32Array();
    const own = cells[`${place} ${index}`];
    const followed = own ?? (entry ? restingCell(entry, layer, head) : { query: 0, key: 0 });
    const under = pointed?.index === index ? pointed.cell : null;
    const isThere = entry && under && under.query < entry.rows && under.key < entry.cols;
    const shared = { index, run, moment, sentence: traits.sentence, kinds: kinds?.[index] ?? null };
    return { ...shared, entry, chosen, weights, followed, pointed: isThere ? under : null };
  });
  const follow = (index: number, cell: Cell) => setCells((now) => ({ ...now, [`${place} ${index}`]: cell }));
  const point = (index: number, cell: Cell | null) => setPointed(cell && { index, cell });
  const isLow = frame.height < LOW;
  return (
    <Stage
      header={
        <Header
          {...{ frame, sides }}
          kinds={data.kinds}
          onQuery={(query) => followQuery(sides, query, follow)}
        />
      }
      heads={kinds && <AllHeads {...{ frame, sides }} kinds={data.kinds} />}
      headsBeside={kinds?.some((each) => each[traits.kind]!.layers > FLAT) ?? false}
      headline={<Pieces pieces={headlineOf(sides)} />}
      line={problem ? <span role="alert">✗ {problem}</span> : <Pieces pieces={lineOf(sides)} />}
      inspector={<Inspector sides={sides} theme={frame.theme} onFollow={follow} />}
      {...stageOf(frame)}
    >
      <div class="vt-sides" data-count={sides.length} data-low={isLow}>
        {sides.map((side) => (
          <section key={side.index} aria-label={side.run.name}>
            <Written side={side} isNamed={sides.length > 1} />
            {side.entry && (
              <LargeHead
                {...{ frame, ...side, entry: side.entry }}
                isTitled={sides.length === 1 && !isLow}
                told={followedInWords(side)}
                onFollow={(cell) => follow(side.index, cell)}
                onPoint={(cell) => point(side.index, cell)}
              />
            )}
          </section>
        ))}
      </div>
      <Drive {...{ frame, sides, isLow }} onMoment={(moment) => set({ moment })} />
    </Stage>
  );
}

/** Follow a query's strongest weight in every run. */
function followQuery(
  sides: readonly Side[],
  query: number,
  follow: (index: number, cell: Cell) => void,
): void {
  for (const { index, entry, weights } of sides) {
    if (!entry || query >= entry.rows) continue;
    const row = Array.from(weights.subarray(query * entry.cols, (query + 1) * entry.cols));
    follow(index, { query, key: row.indexOf(Math.max(...row)) });
  }
}

interface PartProps {
  frame: Frame<Traits>;
  sides: readonly Side[];
}

/** Which sentence, and its words: those that are read, and those that look. */
function Header({
  frame,
  sides,
  kinds,
  onQuery,
}: PartProps & { kinds: string[]; onQuery: (query: number) => void }) {
  const { traits, set } = frame;
  const { run, entry, followed } = sides[0]!;
  return (
    <>
      {run.sources.length > 1 && (
        <select
          aria-label="Sentence"
          value={traits.sentence}
          onChange={(event) => set({ sentence: Number(event.currentTarget.value) })}
        >
          {run.sources.map((text, at) => (
            <option key={`${at} ${text}`} value={at}>
              {`${at + 1} of ${run.sources.length}: ${shortened(text, LETTERS)}`}
            </option>
          ))}
        </select>
      )}
      {sides.length > 1 && kinds.length > 1 && <Kinds {...{ frame, sides, kinds }} />}
      {entry?.kind === "cross" && (
        <>
          <Chips label="Words read" tokens={entry.keys} kind="key" chosen={null} />
          <span class="vt-arrow" aria-hidden="true">
            →
          </span>
        </>
      )}
      {entry && (
        <Chips
          label="Word to follow"
          tokens={entry.queries}
          kind={entry.kind === "encoder" ? "key" : "query"}
          chosen={followed.query}
          isQuery
          onChoose={onQuery}
        />
      )}
    </>
  );
}

/** Whose heads are shown of two runs. */
function Kinds({ frame, sides, kinds }: PartProps & { kinds: string[] }) {
  const choose = (kind: string) =>
    frame.set((now) =>
      Object.assign(
        { kind },
        ...sides.map(({ index, kinds: own }) =>
          headChange(index, chosenHead(index, own?.[kind] ?? null, now)),
        ),
      ),
    );
  return (
    <select
      aria-label="Heads of"
      value={frame.traits.kind}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {kinds.map((kind) => (
        <option key={kind} value={kind}>
          {ATTENTION_KINDS[kind]!.name}
        </option>
      ))}
    </select>
  );
}

/** All heads at the moment: of a run alone those of every kind, of two those of the chosen kind. */
function AllHeads({ frame, sides, kinds: all }: PartProps & { kinds: string[] }) {
  const { traits, set, theme } = frame;
  return (
    <div class="vt-runs">
      {sides.map(({ index, run, moment, kinds, chosen }) => {
        const shown = sides.length > 1 ? [traits.kind] : all;
        const sections = shown.map((kind) => {
          const entry = kinds![kind]!;
          const title = sides.length > 1 ? shortened(run.name, 18) : ATTENTION_KINDS[kind]!.name;
          const weightsOf = (layer: number, head: number) => headAtMoment(entry, moment, layer, head);
          return { ...entry, title, weightsOf, painted: [entry, moment] };
        });
        const choose = (place: HeadPlace) => set({ kind: place.kind, ...headChange(index, place) });
        return (
          <HeadGrid
            key={index}
            label={`All heads at this moment${sides.length > 1 ? ` of ${run.name}` : ""}: the arrow keys choose`}
            {...{ sections, chosen, theme }}
            look={(place) => ({
              label: `${place.kind} layer ${place.layer} head ${place.head}`,
              isPressed: sameHead(place, chosen),
            })}
            onChoose={choose}
            onPress={choose}
          />
        );
      })}
    </div>
  );
}

const PLAY_MS = 7000; // a training is played in about so long

/** How long each moment is shown while a training is played, in milliseconds. */
export const momentDuration = (count: number): number => Math.min(700, Math.max(120, PLAY_MS / count));

/** The curve with the knob that is dragged, and the buttons that play. */
function Drive({
  frame,
  sides,
  isLow,
  onMoment,
}: PartProps & { isLow: boolean; onMoment: (moment: number) => void }) {
  const { run, moment } = sides[0]!;
  const { length } = run.moments;
  const { go, buttons } = usePlayer({
    ...{ at: moment, last: length - 1, onStep: onMoment },
    ms: momentDuration(length),
  });
  const films = sides.map((side) => ({ ...side, ...side.chosen }));
  return (
    <div
      class="vt-drive"
      style={{ height: `${driveHeight(frame.unit, films, isLow, frame.width < NARROW)}px` }}
    >
      {buttons}
      <Curve {...{ frame, films, isLow }} told={momentInWords(sides[0]!)} onMoment={go} />
    </div>
  );
}

export default stageView<Traits>({
  name: "training-scrubber",
  label: "Training scrubber",
  traits: TRAITS,
  draw: Scrubber,
});
