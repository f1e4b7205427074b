// The two towers of boxes, the encoder's and the decoder's, and the way of the memory between them.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { zoomOf } from "../base/canvas.ts";
import {
  type Axis,
  count,
  follows,
  headGrids,
  learnedBy,
  learnedByAll,
  type Part,
  type SizeName,
} from "./model_parts.ts";
import { billInWords, shapeLines } from "./sentences.ts";
import { Button } from "../base/controls.tsx";

const MOST_SHEETS = 6; // of a stack, drawn behind its layer

export interface Shown {
  parts: Part[];
  /** The size whose consequences are marked, and the part whose count is explained. */
  marked: SizeName | "";
  chosen: number | null;
  onChoose: (part: number) => void;
}

export function Towers({ isWide, ...shown }: Shown & { isWide: boolean }) {
  const machine = useRef<HTMLDivElement>(null);
  const [memory, setMemory] = useState<ReturnType<typeof memoryPath> | null>(null);
  useLayoutEffect(() => {
    const found = memoryPath(placesIn(machine.current!, isWide));
    if (found.path !== memory?.path) setMemory(found);
  });
  const output = shown.parts.find(({ name }) => name === "Add & Norm")?.shapes.output ?? [];
  return (
    <div class="vt-machine" ref={machine} data-layout={isWide ? "wide" : "narrow"}>
      <Tower stack="encoder" shown={shown} />
      <Tower stack="decoder" shown={shown} />
      <svg class="vt-memory" aria-hidden="true">
        {memory && (
          <>
            <path d={memory.path} fill="none" />
            <path d={memory.arrow} fill="none" />
            <text {...memory.name}>memory [{output.map(({ length }) => length).join(", ")}]</text>
          </>
        )}
      </svg>
    </div>
  );
}

/** One tower, from the bottom up on the page: parts below the layer, the layer, and parts above it. */
function Tower({ stack, shown }: { stack: Part["stack"]; shown: Shown }) {
  const own = shown.parts.map((part, index) => ({ part, index })).filter(({ part }) => part.stack === stack);
  const inLayer = own.filter(({ part }) => part.inLayer);
  const rest = own.filter(({ part }) => !part.inLayer);
  const times = inLayer[0]?.part.times ?? 1;
  // A part of a layer and its Add & Norm, with the way around the part.
  const pairs = inLayer.flatMap((first, at) => (at % 2 ? [] : [[first, inLayer[at + 1]!]]));
  const box = ({ part, index }: (typeof own)[number]) => (
    <Box key={index} part={part} index={index} shown={shown} />
  );
  const sheets = Array.from({ length: Math.min(times, MOST_SHEETS) - 1 }, (_, at) => 3 * (at + 1));
  const shadow = sheets.map((by) => `${by}px ${-by}px 0 -1px var(--paper), ${by}px ${-by}px 0 0 var(--line)`);
  return (
    <section class={`vt-tower vt-${stack}`} aria-label={stack}>
      {rest.filter(({ part }) => part.name !== "logits").map(box)}
      <div class="vt-layer" style={{ boxShadow: shadow.join(", ") }}>
        {pairs.map((pair) => (
          <div class="vt-residual" key={pair[0]?.index}>
            {pair.map(box)}
          </div>
        ))}
        <div class="vt-layer-title" data-marked={shown.marked === "n_layers"}>
          {stack} layer, × {times}
        </div>
      </div>
      {rest.filter(({ part }) => part.name === "logits").map(box)}
    </section>
  );
}

/** A part: its name, its shapes, what it learns, and on request how that is counted. */
function Box({ part, index, shown }: { part: Part; index: number; shown: Shown }) {
  const { marked, chosen, parts, onChoose } = shown;
  const total = learnedByAll(parts);
  const [, heads, queries, keys] = part.shapes.weights ?? [];
  const lines = shapeLines(part);
  const shape = ([name, axes]: [string, Axis[]]) => (
    <span class="vt-shape" key={name}>
      {name} [
      {axes.map((axis, at) => (
        <span key={`${at}`}>
          {at > 0 && ", "}
          <span class="vt-length" data-marked={follows(axis, marked)}>
            {axis.length}
          </span>
        </span>
      ))}
      ]
    </span>
  );
  return (
    <Button
      class="vt-part"
      data-sort={part.sort}
      aria-pressed={index === chosen}
      onClick={() => onChoose(index)}
    >
      <span class="vt-part-head">
        <span class="vt-part-name">{part.name}</span>
        {lines.length === 1 && shape(lines[0]!)}
        <span class="vt-learned" data-marked={follows(part, marked)}>
          {count(learnedBy(part))}
        </span>
      </span>
      {lines.length > 1 && lines.map(shape)}
      {heads && queries && keys && <Grids heads={heads.length} queries={queries.length} keys={keys.length} />}
      {index === chosen && <span class="vt-bill">{billInWords(part, total)}</span>}
      <span class="vt-share">
        <span style={{ width: `${(100 * learnedBy(part) * part.times) / total}%` }} />
      </span>
    </Button>
  );
}

function Grids(sizes: { heads: number; queries: number; keys: number }) {
  const { path, width, height } = headGrids(sizes);
  return (
    <svg class="vt-grids" aria-hidden="true" {...{ width, height }} viewBox={`0 0 ${width} ${height}`}>
      <path d={path} fill="none" />
    </svg>
  );
}

interface Edges {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The edges of the encoder's layer and of cross-attention, and the middle of the free strip between the towers. */
function placesIn(machine: HTMLElement, isWide: boolean) {
  const [within, zoom] = [machine.getBoundingClientRect(), zoomOf(machine)];
  const edges = (selector: string): Edges => {
    const box = machine.querySelector(selector)!.getBoundingClientRect();
    return {
      left: (box.left - within.left) / zoom,
      right: (box.right - within.left) / zoom,
      top: (box.top - within.top) / zoom,
      bottom: (box.bottom - within.top) / zoom,
    };
  };
  const cross = edges(".vt-decoder .vt-residual:nth-child(2) > .vt-part");
  const decoder = edges(".vt-decoder .vt-layer");
  return { encoder: edges(".vt-encoder .vt-layer"), cross, gutter: decoder.left - (isWide ? 14 : 10) };
}

/**
 * The path from the top of the encoder to cross-attention, and where its name stands. With the
 * towers side by side it goes down between them; with the encoder below, up on the left.
 */
export function memoryPath({ encoder, cross, gutter }: { encoder: Edges; cross: Edges; gutter: number }) {
  const start = encoder.left + (encoder.right - encoder.left) * 0.3;
  const over = encoder.top - 24; // above the sheets of the layers
  const y = (cross.top + cross.bottom) / 2;
  const path = `M${start} ${encoder.top}V${over}H${gutter}V${y}H${cross.left - 3}`;
  const arrow = `M${cross.left - 10} ${y - 5}L${cross.left - 2} ${y}L${cross.left - 10} ${y + 5}`;
  return { path, arrow, name: { x: start + 10, y: over - 8 } };
}
