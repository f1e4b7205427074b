// What is set in the mask lab, and what its inspector tells.

import shared from "../../shared.json" with { type: "json" };
import { Choice, Range, Switch } from "../base/controls.tsx";
import { Doors } from "../base/doors.tsx";
import type { Cell } from "../base/keys.ts";
import { Code } from "../base/python_code.tsx";
import { Chips, FieldAround } from "../base/sentence.tsx";
import type { Frame } from "../base/stage_view.tsx";
import {
  formatNumber,
  marksExplained,
  percent,
  quoted,
  runningText,
  shortened,
  visible,
} from "../base/text.ts";
import { cellText, describeMaskCell, isWord } from "./composition.ts";
import type { Likeliest } from "./leaks.ts";
import { maskCode } from "./libraries.ts";
import { type Page, Panel, PANELS } from "./panels.tsx";
import { presetOf, PRESETS } from "./presets.ts";
import { whyItMatters } from "./sentences.ts";
import type { Traits } from "./traits.ts";
import type { Change, Snapshot } from "./view.tsx";

const LETTERS = 60; // of a sentence beside the chips
const POLARITIES = [
  ["may", "True: may attend"],
  ["may_not", "True: may not attend"],
  ["additive", "0 or −∞, added to scores"],
] as const;

type Set = (change: Partial<Traits>) => void;

/** The sentence, as chips: a key to replace its word, a query to choose its row. */
export function Header({ snapshot, set }: { snapshot: Snapshot; set: Set }) {
  const { composed, shown, chosen } = snapshot;
  const { sentence: b, kind, edit, edited } = shown;
  const isSaid = (token: string) => isWord(token) && token !== "<sos>"; // all decoder rows begin with it
  const names = composed.keyTokens.map((tokens) => runningText(tokens.filter(isSaid)));
  const keys = (
    <Chips
      label="Token to replace"
      tokens={composed.keyTokens[b] ?? []}
      kind="key"
      chosen={edit === "word" ? edited : null}
      onChoose={(key) => set({ edit: "word", edited: key })}
    />
  );
  return (
    <>
      <Choice
        isBare
        label="Sentence"
        options={names.map((name, at) => [String(at), `${at + 1} of ${names.length}: ${name}`] as const)}
        value={String(b)}
        onChoose={(to) => set({ sentence: Number(to) })}
      />
      {kind === "decoder" && composed.padded.source !== composed.padded.target && (
        <span class="vt-of-key vt-source">
          {shortened(runningText(composed.padded.source[b]?.filter(isWord) ?? []), LETTERS)}
        </span>
      )}
      {keys}
      {kind === "cross" && (
        <>
          <span class="vt-arrow" aria-hidden="true">
            →
          </span>
          <Chips
            label="Query"
            tokens={composed.queryTokens[b] ?? []}
            kind="query"
            chosen={chosen.query}
            onChoose={(query) => set({ query })}
          />
        </>
      )}
      <FieldAround />
    </>
  );
}

interface ControlsProps {
  snapshot: Snapshot;
  kinds: string[];
  change: Change;
  set: Set;
}

/** The mask: a preset, its two parts, and a button that removes the paint. */
export function MaskControls({ snapshot, kinds, change, set }: ControlsProps) {
  const { state, base } = snapshot;
  const presets = PRESETS.filter((preset) => kinds.includes(preset.state.kind ?? ""));
  const current = state.painted.length ? undefined : presetOf(state);
  const group = (label: string, right: boolean) => (
    <optgroup label={label}>
      {presets
        .filter((preset) => Boolean(preset.right) === right)
        .map(({ name }) => (
          <option key={name} selected={name === current?.name}>
            {name}
          </option>
        ))}
    </optgroup>
  );
  return (
    <>
      <select
        class="vt-preset"
        aria-label="Mask"
        value={current?.name ?? ""}
        onChange={(event) => {
          const preset = presets.find(({ name }) => name === event.currentTarget.value);
          if (preset) change({ ...preset.state, painted: [] }, preset);
        }}
      >
        {!current && (
          <option value="" selected>
            Your own mask
          </option>
        )}
        {group("Right masks", true)}
        {group("Mistakes", false)}
      </select>
      <Switch
        label="hide the future"
        on={state.causal}
        isChanged={state.causal !== base.parts.causal}
        onChange={(causal) => change({ causal })}
      />
      <Switch
        label="hide padding"
        on={state.padding}
        isChanged={state.padding !== base.parts.padding}
        onChange={(padding) => change({ padding })}
      />
      {state.painted.length > 0 && (
        <button type="button" onClick={() => set({ painted: [] })}>
          clear paint
        </button>
      )}
    </>
  );
}

/** What is set less often. */
export function Options({ snapshot, kinds, change, set }: ControlsProps) {
  const { words, state, shown, polarity } = snapshot;
  const base = shown.sentence % state.lengths.length;
  const kept = state.lengths[base] ?? 1;
  return (
    <>
      <Choice
        label="Attention"
        options={kinds.map((kind) => [kind, shared.kinds[kind as "cross"].label] as const)}
        value={state.kind}
        onChoose={(kind) => change({ kind, mistake: "none", painted: [] })}
      />
      <Choice
        label="Padding"
        options={["right", "left"].map((side) => [side, `on the ${side}`] as const)}
        value={state.side}
        onChoose={(side) => change({ side, painted: [] })}
      />
      <Choice
        label="In code"
        options={POLARITIES}
        value={polarity}
        onChoose={(value) => set({ polarity: value })}
      />
      <Range
        label="tokens kept"
        min={1}
        max={Math.max(words.source[base]?.length ?? 1, words.target[base]?.length ?? 1)}
        value={kept}
        told={String(kept)}
        onInput={(length) =>
          change({ lengths: state.lengths.map((each, at) => (at === base ? length : each)), painted: [] })
        }
      />
    </>
  );
}

interface InspectorProps {
  snapshot: Snapshot;
  /** The cell under the pointer, or with the focus. */
  hover: Cell | null;
  unfolded: string[];
  set: Set;
  frame: Page & Pick<Frame<object>, "theme">;
}

/** The chosen row and cell: what the output writes, how far it moves, the cell in words and in Python, and doors. */
export function Inspector({ snapshot, hover, unfolded, set, frame }: InspectorProps) {
  const { composed, shown, rows, leaks, chosen, state, polarity } = snapshot;
  const b = shown.sentence;
  const cell =
    hover ?? (chosen.query !== null && chosen.key !== null ? { row: chosen.query, col: chosen.key } : null);
  const row = rows?.[chosen.query ?? -1];
  const why = rows ? whyItMatters(rows, composed, shown) : "";
  const preset = presetOf(state);
  const key = visible(composed.keyTokens[b]?.[shown.edited] ?? "");
  const other = visible(leaks?.replacements[b]?.[shown.edited] ?? "");
  const may = cell && composed.may[b]?.[cell.row]?.[cell.col];
  const name = polarity === "may" ? "mask" : "attn_mask";
  const toldCell = cell
    ? [`${name}[${b}, 0, ${cell.row}, ${cell.col}]  # ${cellText(may ?? false, polarity)}`]
    : [];
  const fold = (panel: string) =>
    set({
      unfolded: unfolded.includes(panel) ? unfolded.filter((each) => each !== panel) : [...unfolded, panel],
    });
  return (
    <>
      {row && (
        <div class="vt-output">
          <p>
            {row.writes ? "What" : "How far"} <bdi class="vt-of-query">{visible(row.word)}</bdi>{" "}
            {row.writes ? "writes" : "moves"}
          </p>
          {row.writes && (
            <>
              <Share says="with the right mask" is={row.writes.right} />
              <Share
                says="with this mask"
                is={row.writes.now}
                isNew={row.writes.now.word !== row.writes.right.word}
              />
            </>
          )}
          {shown.edit === "word" && (
            <p class="vt-equation">
              max |z(<bdi class="vt-of-key">{key}</bdi>) − z(<bdi class="vt-of-you">{other}</bdi>)| ={" "}
              {formatNumber(row.change, 2)}
            </p>
          )}
        </div>
      )}
      {why && <p>{why}</p>}
      <p class="vt-readout" role="status">
        {cell
          ? describeMaskCell(composed, b, cell.row, cell.col)
          : "Point at a cell, or move with the arrow keys. A click or Space paints it."}
      </p>
      <Code lines={[...maskCode(composed, polarity, "ours"), ...toldCell]} />
      <Doors>
        <button
          type="button"
          aria-pressed={shown.edit === "padding"}
          onClick={() => set({ edit: shown.edit === "padding" ? "word" : "padding" })}
        >
          Add two padding tokens
        </button>
        {Object.entries(PANELS).map(([panel, title]) => (
          <button
            type="button"
            key={panel}
            aria-expanded={unfolded.includes(panel)}
            onClick={() => fold(panel)}
          >
            {title}
          </button>
        ))}
      </Doors>
      {unfolded.map((panel) => (
        <Panel
          key={panel}
          {...snapshot}
          query={chosen.query}
          name={panel}
          page={frame}
          sentence={b}
          theme={frame.theme}
        />
      ))}
      <p>
        {preset && !state.painted.length ? preset.text : "A mask of your own."}{" "}
        {marksExplained([...(composed.queryTokens[b] ?? []), ...(composed.keyTokens[b] ?? [])])}
      </p>
    </>
  );
}

/** A word that an output writes, and a bar as long as its probability. */
function Share({ says, is, isNew = false }: { says: string; is: Likeliest; isNew?: boolean }) {
  return (
    <div class={isNew ? "vt-share vt-of-you" : "vt-share"}>
      <span>
        {says}: <bdi title={quoted(is.word)}>{visible(is.word)}</bdi>
      </span>
      <span class="vt-bar-share">{percent(is.share)}</span>
      <span class="vt-bar" aria-hidden="true">
        <span style={{ width: `${100 * is.share}%` }} />
      </span>
    </div>
  );
}
