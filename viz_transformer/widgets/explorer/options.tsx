// The options: what the viewer may choose besides a head and a word.

import { Choice, Range } from "../base/controls.tsx";
import { ownNumbers } from "../base/head_grid.ts";
import { Finder } from "./chips.tsx";
import { COLOUR_SCALES } from "./colour_scale.ts";
import type { Room } from "./room.ts";
import { saveDrawing, savePicture, saveTable } from "./saving.ts";
import { PAIRS, PARTS_OF_SCORES } from "./shown_part.ts";
import type { Snapshot } from "./snapshot.ts";

const AGGREGATES: [string, string][] = [
  ["head", "one head"],
  ["mean", "mean of heads"],
  ["max", "maximum of heads"],
  ["rollout", "rollout of layers"],
];
const ORDERS: [string, string][] = [
  ["layer", "layer and head"],
  ["entropy", "entropy, most focused first"],
  ["label", "label"],
];

interface Parts {
  room: Room;
  snapshot: Snapshot;
}

export function Options({ room, snapshot }: Parts) {
  const { options, chosen, entry } = snapshot;
  const special = entry.special?.queries.includes(true) || entry.special?.keys.includes(true);
  const words = entry.words?.queries || entry.words?.keys;
  const pair = options.linked ? undefined : options.pairs[chosen.kind];
  return (
    <>
      <Heads room={room} snapshot={snapshot} />
      <HeadOrder label="Sort heads by" room={room} snapshot={snapshot} />
      {entry.limit === null && (
        <Choice
          label="Colours of weights"
          options={Object.entries(COLOUR_SCALES).map(([value, { name }]) => [value, name])}
          value={options.colourScale}
          onChoose={(colour_scale) => room.set({ colour_scale })}
        />
      )}
      <Range
        label="Draw from weight"
        min={0}
        max={1}
        step={0.01}
        value={options.threshold}
        told={options.threshold.toFixed(2)}
        onInput={(threshold) => room.set({ threshold })}
      />
      {special && (
        <Check
          label="Hide special tokens"
          value={options.hideSpecial}
          onChange={(hide_special) => room.set({ hide_special })}
        />
      )}
      {words && (
        <Check
          label="Merge pieces into words"
          value={options.mergeWords}
          onChange={(merge_words) => room.set({ merge_words })}
        />
      )}
      {pair && (
        <Choice
          label="Sentences"
          options={PAIRS as [string, string][]}
          value={pair}
          onChoose={(each) => room.set({ pair: each })}
        />
      )}
      {options.biased.includes(chosen.kind) && (
        <Choice
          label="Attends by"
          options={PARTS_OF_SCORES as [string, string][]}
          value={options.attendsBy}
          onChoose={(attends_by) => room.set({ attends_by })}
        />
      )}
      <Finder room={room} snapshot={snapshot} />
      <Saves room={room} snapshot={snapshot} />
    </>
  );
}

function Heads({ room, snapshot }: Parts) {
  const { chosen, entry, state } = snapshot;
  return (
    <>
      <Choice
        label="Show"
        options={AGGREGATES}
        value={chosen.aggregate}
        disabled={entry.noRollout ? ["rollout"] : []}
        title={entry.noRollout}
        onChoose={(aggregate) => room.set({ aggregate })}
      />
      <Check
        label="Select several heads"
        value={state.selectsSeveral}
        onChange={(selectsSeveral) => room.setState({ selectsSeveral })}
      />
      <p class="vt-hint">or hold Ctrl or Shift and click; Space with the keyboard</p>
      {chosen.selected.length > 0 && (
        <button type="button" class="vt-button" onClick={() => room.set({ selected: [], aggregate: "head" })}>
          Select none
        </button>
      )}
    </>
  );
}

function Saves({ room, snapshot }: Parts) {
  return (
    <p class="vt-saves vt-beside">
      <button type="button" class="vt-button" onClick={() => savePicture(room)}>
        Save as PNG
      </button>
      <button type="button" class="vt-button" onClick={() => saveDrawing(room)}>
        Save as SVG
      </button>
      <button type="button" class="vt-button" onClick={() => saveTable(snapshot)}>
        Save as CSV
      </button>
    </p>
  );
}

/** What the heads are sorted by. */
export function HeadOrder({ label, room, snapshot }: Parts & { label: string }) {
  const { options, entry } = snapshot;
  const own: [string, string][] = Object.keys(options.scores).map((name) => [name, `${name}, highest first`]);
  return (
    <Choice
      label={label}
      options={[...ORDERS, ...own]}
      value={options.order}
      disabled={entry.signed ? ["entropy", "label"] : []}
      onChoose={(order) => room.set({ order, least_score: null })}
    />
  );
}

function Check({
  label,
  value,
  onChange,
}: {
  label: string;
  value: boolean;
  onChange: (value: boolean) => void;
}) {
  return (
    <label class="vt-choice vt-beside">
      <input
        type="checkbox"
        checked={value}
        data-lm-suppress-shortcuts="true"
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}

/** The first and the last layer that the wall keeps. */
export function LayerRange({ room, snapshot }: Parts) {
  const { sections, options } = snapshot;
  const deepest = sections.reduce((one, other) => (other.layers > one.layers ? other : one));
  const [from = 0, to = deepest.layers - 1] = options.filter.layers;
  const names: [string, string][] = Array.from({ length: deepest.layers }, (_, i) => [
    String(i),
    String(ownNumbers(deepest, i, 0)[0]),
  ]);
  const choose = (one: number, other: number) => {
    const range = [Math.min(one, other), Math.max(one, other)];
    room.set({ layer_filter: range[0] === 0 && range[1] === deepest.layers - 1 ? [] : range });
  };
  return (
    <>
      <Choice
        label="Layers"
        options={names}
        value={String(from)}
        onChoose={(each) => choose(Number(each), to)}
      />
      <Choice
        label="to layer"
        options={names}
        value={String(to)}
        onChoose={(each) => choose(from, Number(each))}
      />
    </>
  );
}
