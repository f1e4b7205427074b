// Causes: parts of one run put into another, what would be written after each layer, and what each head adds.

import type { ComponentChild } from "preact";
import { useMemo, useState } from "preact/hooks";
import { decodeWeights } from "../base/bytes.ts";
import { Tabs } from "../base/controls.tsx";
import { useKernel } from "../base/hooks.ts";
import { Chips } from "../base/sentence.tsx";
import { Pieces, Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { GridPicture, type GridProps, Ramp } from "./grid.tsx";
import {
  type Direct,
  directGrid,
  type Grid,
  type Lens,
  lensGrid,
  movedPatch,
  patchGrid,
  percentBack,
  type Picture,
  type Place,
  type Start,
  withPatch,
  word,
} from "./grids.ts";
import { DirectInspector, LensInspector, PatchInspector } from "./inspector.tsx";
import { Outcome } from "./outcome.tsx";
import { createReplies, type Patched, type Request } from "./replies.ts";
import {
  codeOf,
  directInWords,
  lensInWords,
  lensPlace,
  metricInWords,
  metricName,
  patchedInWords,
  placeName,
  rankInWords,
} from "./sentences.ts";
import { TRAITS, type Traits as Declared } from "./traits.ts";

const NAMES: Record<Picture, string> = {
  positions: "Positions",
  heads: "Heads",
  lens: "Logit lens",
  direct: "Direct shares",
};

interface Traits extends Omit<Declared, "patches" | "start" | "picture"> {
  picture: Picture;
  patches: Place[];
  start: Start;
}

type Replies = ReturnType<typeof createReplies>;
interface Shown {
  frame: Frame<Traits>;
  replies: Replies;
  place: Place | null;
}
/** What a picture fills the zones with. */
interface Zones {
  headline: ComponentChild;
  line?: ComponentChild;
  controls?: ComponentChild;
  inspector?: ComponentChild;
  picture: ComponentChild;
}

function Causes(frame: Frame<Traits>) {
  const { traits, set, model, redraw } = frame;
  const { start, picture } = traits;
  const kernel = useKernel(model);
  const replies = useMemo(() => createReplies(kernel, redraw), [kernel, redraw]);
  const [isMetric, setMetric] = useState(false);
  const place = traits.layer === null || traits.at === null ? null : { layer: traits.layer, at: traits.at };
  const shown: Shown = { frame, replies, place };
  const zones =
    picture === "lens"
      ? lensZones(shown, isMetric, setMetric)
      : picture === "direct"
        ? directZones(shown)
        : patchZones(shown);
  const pictures = (Object.keys(NAMES) as Picture[]).filter((name) => name in start.sizes);
  const hasLanes = picture === "positions" || picture === "lens";
  const { tokens } = picture === "lens" ? start : (start.clean ?? start); // an encoder reads other words
  return (
    <Stage
      header={
        <>
          <Chips
            label="Words read"
            tokens={tokens.map(word)}
            kind="key"
            chosen={hasLanes ? traits.at : null}
            onChoose={(at) => hasLanes && set((now) => ({ at, layer: now.layer ?? 0 }))}
          />
          {start.clean && (
            <>
              <span class="vt-arrow">→</span>
              <bdi class="vt-chip vt-of-query">{word(start.clean.words?.[0] ?? "")}</bdi>
            </>
          )}
        </>
      }
      headline={zones.headline}
      line={zones.line}
      controls={
        <>
          {pictures.length > 1 && (
            <Tabs
              label="Pictures"
              options={pictures.map((name) => [name, NAMES[name]] as const)}
              value={picture}
              onChoose={(to) => set({ picture: to, patches: [], layer: null, at: null })}
            />
          )}
          {zones.controls}
        </>
      }
      inspector={zones.inspector}
      {...stageOf(frame)}
    >
      {zones.picture}
    </Stage>
  );
}

/** A grid, what stands below it, and what its colours mean. */
const Framed = ({
  legend,
  below,
  least,
  ...grid
}: GridProps & { legend: ComponentChild; below?: ComponentChild; least?: string }) => (
  <div class="vt-cause-parts">
    <GridPicture {...grid} />
    {below}
    <p class="vt-legend vt-beside vt-caption">
      {least} <Ramp {...grid} /> {legend}
    </p>
  </div>
);

/** What the page waits for, or why it cannot be shown. */
const waiting = (failure: string): Zones => ({
  headline: failure ? "This cannot be shown" : "…",
  line: failure && <span role="alert">{failure}</span>,
  picture: null,
});

function patchZones({ frame, replies, place }: Shown): Zones {
  const { traits, set, theme, unit } = frame;
  const { start, patches } = traits;
  const what = traits.picture as "positions" | "heads";
  const [columns] = start.sizes[what] as [number, number];
  const layers = Array.from({ length: columns }, (_, layer): Request => ({ what, layer }));
  const asked: Request = { what, patches };
  replies.want([...(patches.length ? [asked] : []), ...layers]);
  const known = layers.map((request) => replies.get<{ values: number[] }>(request)?.values);
  const grid = patchGrid(start, what, known);
  const reply = patches.length ? replies.get<Patched>(asked) : undefined;
  const [only] = patches;
  const alone = patches.length === 1 && only ? known[only.layer]?.[only.at] : undefined;
  const value = reply?.value ?? alone;
  const failure = patches.length ? replies.failure(asked) : "";
  const others = start.clean!.tokens.map((token, at) => {
    const other = start.corrupted!.tokens[at]!;
    return what === "positions" && other !== token ? word(other) : null;
  });
  const press = (to: Place, isAdding: boolean) =>
    set((now) => ({ ...to, patches: withPatch(now.patches, to, isAdding) }));
  return {
    headline: <Pieces pieces={patchedInWords(start, grid, what, patches, reply, value, failure)} />,
    line: failure && value === undefined ? <span role="alert">{failure}</span> : metricInWords(start, value),
    controls: (
      <button type="button" disabled={!patches.length} onClick={() => set({ patches: [] })}>
        Nothing patched
      </button>
    ),
    inspector: (
      <PatchInspector
        {...{ theme, start, patches, reply, value, failure }}
        code={codeOf(what, patches, place)}
      />
    ),
    picture: (
      <Framed
        {...{ grid, theme, unit, patches, others }}
        label="What each part brings back. Enter patches it, with Shift one more."
        chosen={place}
        moved={what === "positions" && reply ? decodeWeights(reply.moved, "float16") : null}
        tell={(at) => tellPatch(grid, what, at)}
        onPress={press}
        onDrag={(from, to) => set((now) => ({ ...to, patches: movedPatch(now.patches, from, to) }))}
        onChoose={(to) => set({ ...to })}
        below={
          <Outcome
            clean={start.clean!}
            corrupted={start.corrupted!}
            value={value ?? null}
            {...{ theme, unit }}
          />
        }
        least={percentBack(-grid.limit)}
        legend={
          <>
            {percentBack(grid.limit)} brought back by a cell alone
            {what === "positions" && (
              <>
                <span class="vt-of-you">●</span> moved by what is patched
              </>
            )}
          </>
        }
      />
    ),
  };
}

/** "asustado", or where each position has its own: "each row’s answer" */
const followed = ({ followed: all }: Lens) =>
  all.every((each) => each === all[0]) ? word(all[0]!) : "each row’s answer";

function tellPatch(grid: Grid, what: Picture, at: Place): string {
  const share = percentBack(grid.values[at.layer * grid.rows.length + at.at]!);
  return `${placeName(what, grid, at)}: ${share ? `${share} brought back` : "not measured yet"}`;
}

function lensZones(
  { frame, replies, place }: Shown,
  wantsMetric: boolean,
  setMetric: (is: boolean) => void,
): Zones {
  const { traits, set, theme, unit } = frame;
  const asked: Request = { what: "lens" };
  replies.want([asked]);
  const lens = replies.get<Lens>(asked);
  if (!lens) return waiting(replies.failure(asked));
  const isMetric = wantsMetric && lens.values !== null;
  const grid = lensGrid(lens, isMetric);
  const ranks = decodeWeights(lens.ranks, "float32");
  const here = place ?? lensPlace(lens, ranks, traits.start.place);
  const index = here.layer * lens.tokens.length + here.at;
  const probability = decodeWeights(lens.probabilities, "float32")[index * lens.k]!;
  const tell = (at: Place) =>
    `${placeName("lens", grid, at)}: ${word(lens.top[(at.layer * lens.tokens.length + at.at) * lens.k]!)}`;
  return {
    headline: <Pieces pieces={lensInWords(lens, grid, here, probability)} />,
    line: rankInWords(lens, ranks, here),
    controls: lens.values && (
      <button type="button" aria-pressed={isMetric} onClick={() => setMetric(!isMetric)}>
        {metricName(lens.metric ?? "")}
      </button>
    ),
    inspector: <LensInspector {...{ theme, lens, grid }} place={here} code={codeOf("lens", [], here)} />,
    picture: (
      <Framed
        {...{ grid, theme, unit, tell }}
        label="What would be written after each layer"
        chosen={here}
        onChoose={(to) => set({ ...to })}
        legend={
          isMetric
            ? `${metricName(lens.metric ?? "")}, up to ±${grid.limit.toFixed(1)}`
            : `rank ${grid.limit.toLocaleString("en")} to 1 of ${followed(lens)}, by its logarithm`
        }
      />
    ),
  };
}

function directZones({ frame, replies, place }: Shown): Zones {
  const { set, theme, unit } = frame;
  const asked: Request = { what: "direct" };
  replies.want([asked]);
  const direct = replies.get<Direct>(asked);
  if (!direct) return waiting(replies.failure(asked));
  const grid = directGrid(direct);
  const choose = (to: Place) => set({ ...to });
  const tell = (at: Place) =>
    `${placeName("direct", grid, at)}: ${grid.texts(at.layer * grid.rows.length + at.at)}`;
  return {
    headline: <Pieces pieces={directInWords(direct, grid, place)} />,
    line: "Direct shares: nothing through later heads.",
    inspector: (
      <DirectInspector
        {...{ theme, direct, grid, place }}
        code={codeOf("direct", [], place)}
        onChoose={choose}
      />
    ),
    picture: (
      <Framed
        {...{ grid, theme, unit, tell }}
        label="What each head adds"
        chosen={place}
        onChoose={choose}
        legend={`added to ${metricName(direct.target)}, up to ±${grid.limit.toFixed(2)}`}
      />
    ),
  };
}

export default stageView<Traits>({ name: "causes", label: "Causes", traits: TRAITS, draw: Causes });
