// The inspector of the wall: its order, its filters, and a legend of the labels that filters too.

import { inkOn, labelColour } from "../base/colour.ts";
import { Range } from "../base/controls.tsx";
import { Doors } from "../base/doors.tsx";
import { formatNumber } from "../base/text.ts";
import { HeadOrder, LayerRange } from "./options.tsx";
import type { Room } from "./room.ts";
import { coloursInWords, headInWords } from "./sentences.ts";
import type { Snapshot } from "./snapshot.ts";
import { labelCounts, labelMark, NO_LABEL } from "./wall_heads.ts";
import { headsOnWall } from "./wall_picture.ts";

const NO_FILTER = { label_filter: [], layer_filter: [], least_score: null };
const STEPS = 100; // of the slider of scores

export function WallInspector({ room, snapshot }: { room: Room; snapshot: Snapshot }) {
  const { sections, chosen, state, entry, problem, options } = snapshot;
  const heads = headsOnWall(snapshot, room);
  const all = heads.reduce((sum, { kept }) => sum + kept.length, 0);
  const kept = heads.reduce((sum, each) => sum + each.kept.reduce((total, one) => total + one, 0), 0);
  const head = state.hoveredHead ?? chosen;
  const shown = sections.find(({ kind }) => kind === head.kind)!;
  return (
    <div class="vt-wall">
      <p>
        <span role="status">{kept === all ? `${all} heads` : `${kept} of ${all} heads`}</span>{" "}
        {kept < all && (
          <button type="button" class="vt-button" onClick={() => room.set(NO_FILTER)}>
            Show all
          </button>
        )}
      </p>
      <HeadOrder label="Sort by" room={room} snapshot={snapshot} />
      <LayerRange room={room} snapshot={snapshot} />
      <LeastScore room={room} snapshot={snapshot} />
      <Legend room={room} counts={labelCounts(sections)} chosen={options.filter.labels} />
      <p class="vt-label">{headInWords(shown, head)}</p>
      <p class="vt-notes">{problem || (entry.signed ? coloursInWords(entry) : "")}</p>
      <Doors />
    </div>
  );
}

/** A slider of the score from which heads are kept, where they are sorted by a score. */
function LeastScore({ room, snapshot }: { room: Room; snapshot: Snapshot }) {
  const { order, filter } = snapshot.options;
  const values = snapshot.sections
    .flatMap(({ scores }) => Array.from((scores?.[order] as Float32Array | undefined) ?? []))
    .filter(Number.isFinite);
  if (values.length < 2) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (
    <Range
      label={`${order} at least`}
      min={low}
      max={high}
      step={(high - low) / STEPS || 1}
      value={filter.least ?? low}
      told={formatNumber(filter.least ?? low, 2)}
      onInput={(least) => room.set({ least_score: least <= low ? null : least })}
    />
  );
}

/** A button for each label, in its colour: what is pressed is kept. */
function Legend({ room, counts, chosen }: { room: Room; counts: [string, number][]; chosen: string[] }) {
  const { theme } = room.frame;
  return (
    <div class="vt-wall-legend" role="group" aria-label="Filter by label">
      {counts.map(([name, count]) => {
        const isOn = chosen.includes(name);
        const colour = name === NO_LABEL ? null : labelColour(name, theme);
        return (
          <button
            type="button"
            class="vt-button vt-beside"
            key={name}
            aria-pressed={isOn}
            onClick={() =>
              room.set({ label_filter: isOn ? chosen.filter((one) => one !== name) : [...chosen, name] })
            }
          >
            <span
              class="vt-swatch"
              aria-hidden="true"
              style={colour ? { background: colour, color: inkOn(colour) } : {}}
            >
              {colour ? labelMark(name) : ""}
            </span>
            {`${name || "no clear pattern"} ${count}`}
          </button>
        );
      })}
    </div>
  );
}
