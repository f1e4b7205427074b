// One head on the stage, a step at a time: what is multiplied, every number with its origin.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Bars } from "../bars.tsx";
import type { Theme } from "../colour.ts";
import { Range } from "../controls.tsx";
import { Doors } from "../doors.tsx";
import { useRoom } from "../hooks.ts";
import { Code } from "../python_code.tsx";
import { Chips } from "../sentence.tsx";
import { Pieces, Stage } from "../stage.tsx";
import type { Frame, stageOf } from "../stage_view.tsx";
import { visible } from "../text.ts";
import { Timeline } from "../timeline.tsx";
import { argmaxFinite, type Choice, computeHead, type Layer, matrixNamed } from "./arithmetic.ts";
import { type Cell, cellInCode, formulaOf, type Part, sixDigits, stepOf } from "./derivation.ts";
import { MatrixPanel } from "./matrix.tsx";
import { followedCell, limitOf, marksOf, planOf, type Snapshot, symbolOf, traitsFollowing } from "./plan.ts";
import { heightOf, placesOf } from "./room.ts";
import { equationOf, headlineOf, meaningOf, sentenceOf, signOf } from "./sentences.ts";
import { codeLine } from "./step_code.ts";

const SCORE_ROWS = ["scores", "scaled", "masked"];

interface HeadRoomProps {
  frame: Pick<Frame<object>, "theme" | "unit" | "redraw" | "measure">;
  /** `stageOf` the frame. */
  stage: ReturnType<typeof stageOf>;
  layer: Layer;
  chosen: Choice;
  trail: ComponentChildren;
  /** What edits the sentence. */
  edit: ComponentChildren;
  onChange: (traits: Partial<Choice>) => void;
}

/** A head, its steps in the timeline. */
export function HeadRoom(props: HeadRoomProps) {
  const { frame, layer, chosen, trail, onChange } = props;
  const { head, query, scale, mask, temperature } = chosen;
  const worked = useMemo(() => computeHead(layer, chosen), [layer, head, query, scale, mask, temperature]);
  const step = layer.steps[chosen.step] ?? "x";
  const best = argmaxFinite(matrixNamed(worked, "weights").values);
  const [pointed, setPointed] = useState<{ worked: object; step: string; cell: Cell } | null>(null);
  const isHere = pointed?.worked === worked && pointed.step === step;
  const cell = isHere ? pointed.cell : followedCell(layer, worked, chosen, step, best);
  const snapshot = { layer, worked, chosen, step, cell };
  return (
    <Stage
      header={<Words {...props} />}
      headline={<Pieces pieces={headlineOf(snapshot)} />}
      line={sentenceOf(layer, worked, chosen, step)}
      trail={
        <>
          {trail}
          <Switches {...props} />
        </>
      }
      inspector={<Readout theme={frame.theme} snapshot={snapshot} onKey={(key) => onChange({ key })} />}
      timeline={
        <Timeline
          label="Steps"
          steps={layer.steps.map(signOf)}
          at={chosen.step}
          onStep={(to) => onChange({ step: to })}
        />
      }
      {...props.stage}
    >
      <Work
        frame={frame}
        snapshot={snapshot}
        onPoint={(at) => setPointed(at && { worked, step, cell: at })}
        onChoose={(at) => {
          const traits = followed(layer, chosen, at);
          if (!traits) return;
          setPointed(null);
          onChange(traits);
        }}
      />
    </Stage>
  );
}

/** The traits to set when a cell is clicked, or null if no step computed it. */
function followed(layer: Layer, chosen: Choice, cell: Cell): Partial<Choice> | null {
  const made = stepOf(layer, cell.name);
  if (made === null) return null;
  const plan = planOf(layer, layer.steps[chosen.step] ?? "x");
  const isOwn = plan.c === cell.name || plan.rows?.includes(cell.name);
  return { ...traitsFollowing(layer, cell), step: isOwn ? chosen.step : layer.steps.indexOf(made) };
}

/** The words that are read and those that attend. */
function Words({ layer, chosen, edit, onChange }: HeadRoomProps) {
  return (
    <>
      {layer.memory && (
        <Chips
          label="Keys: the words that are looked at"
          tokens={layer.keys}
          kind="key"
          chosen={chosen.key}
          onChoose={(key) => onChange({ key })}
        />
      )}
      {layer.memory && edit}
      {layer.memory && <span class="vt-arrow">→</span>}
      <Chips
        label="The query: the word that attends"
        tokens={layer.queries}
        kind="query"
        chosen={chosen.query}
        onChoose={(query) => onChange({ query })}
      />
      {!layer.memory && edit}
    </>
  );
}

/** What changes the chosen head: scaling, mask and temperature. */
function Switches({ layer, chosen, onChange }: HeadRoomProps) {
  return (
    <span class="vt-switches vt-beside">
      <button type="button" aria-pressed={chosen.scale} onClick={() => onChange({ scale: !chosen.scale })}>
        ÷ √d_k
      </button>
      {layer.steps.includes("masked") && (
        <button type="button" aria-pressed={chosen.mask} onClick={() => onChange({ mask: !chosen.mask })}>
          mask
        </button>
      )}
      <Range
        label="temperature"
        min={0.1}
        max={5}
        step={0.1}
        value={chosen.temperature}
        told={chosen.temperature.toFixed(1)}
        onInput={(temperature) => onChange({ temperature })}
      />
    </span>
  );
}

interface WorkProps {
  frame: HeadRoomProps["frame"];
  snapshot: Snapshot;
  onPoint: (cell: Cell | null) => void;
  onChoose: (cell: Cell) => void;
}

function Work({ frame, snapshot, onPoint, onChoose }: WorkProps) {
  const { layer, worked, chosen, step, cell } = snapshot;
  const { box, room } = useRoom();
  const { unit, measure } = frame;
  const least = room ? heightOf(placesOf(snapshot, { ...room, height: 0, unit, measure })) : 0;
  const places = room ? placesOf(snapshot, { ...room, unit, measure }) : [];
  const rows = planOf(layer, step).rows?.filter((name) => SCORE_ROWS.includes(name)) ?? [];
  const above = places.find(({ part }) => part === "b");
  const corner = above && above.left > 10 * unit ? above : null;
  const named = Math.max(0, ...(corner?.rowNames ?? []).map((name) => measure(visible(name)))) * 0.85 * unit;
  const equation = equationOf(snapshot);
  const right = measure(equation.slice(2).reduce((text, [, part]) => text + part, ""));
  const free = (corner?.left ?? 0) - 24 - named;
  return (
    <div class="vt-work" ref={box} data-step={step} style={{ minHeight: `${Math.ceil(least)}px` }}>
      {corner && (
        <p
          class="vt-corner"
          style={{
            width: `${free}px`,
            height: `${corner.rows * corner.row}px`,
            fontSize: `${Math.max(unit, Math.min(1.6 * unit, (0.95 * free) / right))}px`,
          }}
        >
          <Formula parts={equation} />
        </p>
      )}
      {places.map((place) => {
        const { name } = place;
        const marks = marksOf(layer, cell, name);
        if (name === "all" && cell.name === "all")
          marks.push({ name, row: chosen.query, col: null, role: "a" });
        // Rows beneath each other share their colours, so that what shrinks is seen to shrink.
        const alike = rows.includes(name) ? rows : [name];
        return (
          <MatrixPanel
            key={`${step} ${name}`}
            place={place}
            matrix={matrixNamed(worked, name)}
            label={`${symbolOf(layer, name)}, ${place.rows} × ${place.cols}`}
            marks={marks}
            limit={Math.max(...alike.map((each) => limitOf(matrixNamed(worked, each).values)))}
            seam={name === "concat" ? layer.d_head : 0}
            theme={frame.theme}
            redraw={frame.redraw}
            measure={measure}
            onPoint={(at) => onPoint(at && { name, ...at })}
            onChoose={(at) => onChoose({ name, ...at })}
          />
        );
      })}
    </div>
  );
}

/** The query's weights; and of one number what it is, its sum with the terms, and the line of code. */
interface ReadoutProps {
  theme: Theme;
  snapshot: Snapshot;
  onKey: (key: number) => void;
}

function Readout({ theme, snapshot, onKey }: ReadoutProps) {
  const { layer, worked, chosen, cell } = snapshot;
  const [whole, setWhole] = useState<string | null>(null);
  const name = cellInCode(layer, chosen, cell);
  const isWhole = whole === name;
  const line = codeLine(layer, worked, chosen, cell.name);
  const equation = planOf(layer, snapshot.step).rows ? equationOf(snapshot) : []; // else it is in the picture
  const number = `${name} # ${sixDigits(matrixNamed(worked, cell.name).at(cell.row, cell.col))}`;
  const parts = formulaOf(layer, worked, chosen, cell, isWhole);
  const toggle = () => setWhole(isWhole ? null : name);
  const weights = Array.from(matrixNamed(worked, "weights").values);
  return (
    <>
      <Bars
        theme={theme}
        label="weights of the query"
        kind="weight"
        bars={layer.keys.map((key, at) => [key, weights[at] ?? 0] as const)}
        chosen={chosen.key}
        onChoose={onKey}
      />
      {equation.length > 0 && (
        <p class="vt-equation">
          <Formula parts={equation} />
        </p>
      )}
      <div class="vt-readout" aria-live="polite">
        <p class="vt-meaning vt-caption">
          {name} is {meaningOf(layer, chosen, cell)}:
        </p>
        <p class="vt-formula">
          <Formula parts={parts} onMore={toggle} />
          {isWhole && (
            <button type="button" class="vt-more vt-caption" onClick={toggle}>
              fewer terms
            </button>
          )}
        </p>
        <Code lines={line ? [line, number] : [number]} />
      </div>
      <Doors />
    </>
  );
}

/** The parts of a formula, in the colours that mark them in the pictures. */
function Formula({ parts, onMore }: { parts: readonly Part[]; onMore?: () => void }) {
  return (
    <>
      {parts.map(([kind, text], at) =>
        kind === "more" ? (
          <button type="button" class="vt-more vt-caption" key={`${at}`} onClick={onMore}>
            {text}
          </button>
        ) : (
          <span class={`vt-term-${kind}`} key={`${at}`}>
            {text}
          </span>
        ),
      )}
    </>
  );
}
