// The picture: words as lanes from left to right, and the parts of the model across them.

import { css, signedRgb, type Theme, weightRgb } from "../base/colour.ts";
import { elide, percent, visible } from "../base/text.ts";
import { type Column, keyBefore, laneOf, type Lanes } from "./lanes.ts";
import { type Box, type Depth, isAttention, roleOf, type Stack } from "./steps.ts";
import { colourLimit, drawnWeights, type Reply, tokensOf, vectorOf, weightsOf } from "./values.ts";
import { indices } from "../base/scales.ts";

const CELLS = 12; // numbers of a vector that a strip shows
const LEAST = 0.02; // weaker arcs are not drawn
const SLIM = 6; // units of the words' column, in which its title fits

export interface Scene {
  lanes: Lanes;
  reply: Reply;
  boxes: readonly Box[];
  box: Box;
  depth: Depth;
  /** For how many words each box has been computed. */
  rows: ReadonlyMap<string, number>;
  chosen: Record<Stack, number>;
  head: number | null;
  sizes: { d_model: number; n_heads: number };
  theme: Theme;
  /** How this depth was come to: what it grows out of, or shrinks to, as shares of the width. */
  motion: { name: string; left: number; share: number };
}

/** The lanes, and what stands across them. */
export function Picture({ scene }: { scene: Scene }) {
  const { lanes } = scene;
  return (
    <svg class="vt-lanes-picture" width={lanes.width} height={lanes.height} aria-hidden="true">
      {(["encoder", "decoder"] as const).map((stack) => (
        <Stacked key={stack} scene={scene} stack={stack} />
      ))}
      <g
        class="vt-deep"
        key={scene.depth}
        data-motion={scene.motion.name}
        style={{ "--left": `${scene.motion.left}px`, "--share": String(scene.motion.share) }}
      >
        {lanes.columns.map((column) => (
          <Part key={`${column.kind} ${column.key} ${column.head ?? ""}`} scene={scene} column={column} />
        ))}
        {scene.depth === "model" && lanes.count.encoder > 0 && <DecoderStrips scene={scene} />}
      </g>
    </svg>
  );
}

/** The words of a stack at the left, their lanes, and the words that they write at the right. */
function Stacked({ scene, stack }: { scene: Scene; stack: Stack }) {
  const { lanes, reply, boxes, rows, chosen, theme } = scene;
  const { left, right, lane, unit, width } = lanes;
  const tokens = tokensOf(reply, stack);
  if (!tokens.length) return null;
  const size = Math.max(13, Math.min(unit, 0.9 * lane));
  const fit = (text: string, room: number) =>
    elide(visible(text), room, (part: string) => theme.measure(part, size, true));
  const role = stack === "encoder" ? "key" : "query";
  const output = boxes.at(-1)?.part === "output" && boxes.at(-1)?.stack === stack ? boxes.at(-1) : undefined;
  const here = Math.max(
    0,
    ...boxes.filter((box) => box.stack === stack).map(({ key }) => rows.get(key) ?? 0),
  );
  const done = output ? (rows.get(output.key) ?? 0) : 0;
  const gap = tokens.includes("<mask>"); // then the model has learned to fill that, and nothing else
  const title = lanes.top[stack] - 0.8 * unit;
  return (
    <g class={`vt-of-${role}`} font-size={size}>
      <text class="vt-lane-title" x={left / 2} y={title} data-slim={left < SLIM * unit}>
        {stack === "encoder" || !lanes.count.encoder ? "reads" : "has written"}
      </text>
      {output && right < width - 4 && (
        <text class="vt-lane-title vt-of-query" x={(right + width) / 2} y={title}>
          {lanes.count.encoder ? "writes" : "predicts"}
        </text>
      )}
      {tokens.map((token, row) => {
        const y = laneOf(lanes, stack, row);
        const isChosen = row === chosen[stack] && stack === scene.box.stack;
        const own = isChosen ? roleOf(scene.box) : role;
        const box = { y: y - 0.42 * lane, height: 0.84 * lane, rx: 0.42 * lane };
        const written = gap && token !== "<mask>" ? null : reply.likeliest?.[row]?.[0];
        return (
          <g
            class={`vt-lane vt-of-${own} vt-lane-of-${own}`}
            key={`${row} ${token}`}
            data-there={row < here}
            data-chosen={isChosen}
            data-row={row}
            data-stack={stack}
          >
            <line class="vt-lane-line" x1={left} x2={right} y1={y} y2={y} />
            <rect class="vt-word-box" x={2} width={left - 4} {...box} />
            <text class="vt-word" x={left / 2} y={y}>
              {fit(token, left - 12)}
            </text>
            {output && written && right < width - 4 && (
              <g class="vt-of-query vt-lane-of-query" data-there={row < done} data-key={output.key}>
                <rect class="vt-word-box" x={right + 2} width={width - right - 4} {...box} />
                {row < done && (
                  <text class="vt-word" x={(right + width) / 2} y={y}>
                    {fit(written[0], width - right - 12)}
                  </text>
                )}
              </g>
            )}
          </g>
        );
      })}
    </g>
  );
}

function Part({ scene, column }: { scene: Scene; column: Column }) {
  if (column.kind === "strip") return <Strips scene={scene} column={column} />;
  if (column.kind === "node" || column.kind === "feed_forward") return <Node scene={scene} column={column} />;
  return <Framed scene={scene} column={column} />;
}

function Title({ scene, column, text = column.title }: { scene: Scene; column: Column; text?: string }) {
  const { lanes, theme } = scene;
  const size = 0.85 * lanes.unit;
  const measure = (part: string) => theme.measure(part, size, false);
  const told = [text, text.replace(/^(?:layer|head) /, "")].find((each) => measure(each) <= column.width);
  const cross = column.kind !== "strip" && readsMemory(scene, column);
  const y = lanes.top[cross ? "encoder" : column.stack] - 0.8 * lanes.unit;
  return (
    <text class="vt-part-title" x={column.left + column.width / 2} y={y} font-size={size}>
      {told ?? ""}
    </text>
  );
}

function readsMemory({ boxes, depth }: Scene, column: Column): boolean {
  if (depth !== "model") return boxes.find(({ key }) => key === column.key)?.part === "cross_attention";
  return boxes.some(
    ({ stack, layer, part }) =>
      stack === column.stack && layer === column.layer && part === "cross_attention",
  );
}

/** A vector as a strip of colours, for each word that has come. */
function Strips({ scene, column }: { scene: Scene; column: Column }) {
  const { reply, sizes, rows, lanes, theme, chosen } = scene;
  const limit = colourLimit(reply, column.key);
  const n = rows.get(column.key) ?? 0;
  const height = Math.min(1.5 * lanes.unit, 0.7 * lanes.lane);
  const cells = Math.min(CELLS, sizes.d_model);
  const wide = column.width / cells;
  return (
    <g class="vt-strips">
      <Title scene={scene} column={column} />
      {Array.from({ length: n }, (_, row) => (
        <g key={row} data-chosen={row === chosen[column.stack]}>
          {vectorOf(reply, column.key, row, sizes.d_model)
            .slice(0, cells)
            .map((value, at) => (
              <rect
                key={`${at}`}
                x={column.left + at * wide}
                y={laneOf(lanes, column.stack, row) - height / 2}
                width={wide + 0.3}
                height={height}
                fill={css(signedRgb(value, limit, theme))}
              />
            ))}
        </g>
      ))}
    </g>
  );
}

/** The decoder's words come in at the left too, in lanes of their own. */
function DecoderStrips({ scene }: { scene: Scene }) {
  const { boxes, lanes } = scene;
  const [first] = lanes.columns;
  const key = keyBefore(
    boxes,
    boxes.find(({ stack, layer }) => stack === "decoder" && layer === 0),
  );
  if (!first || !key) return null;
  return <Strips scene={scene} column={{ ...first, stack: "decoder", key, title: "" }} />;
}

/** What works on each word alone: a sum, a norm, the feed-forward network. */
function Node({ scene, column }: { scene: Scene; column: Column }) {
  const { lanes, rows, chosen, box } = scene;
  const middle = column.left + column.width / 2;
  const n = rows.get(column.key) ?? 0;
  return (
    <g class="vt-node" data-key={column.key} data-chosen={column.key === box.key} data-depth={scene.depth}>
      <Title scene={scene} column={column} />
      {Array.from({ length: lanes.count[column.stack] }, (_, row) => (
        <Sign
          key={row}
          x={middle}
          y={laneOf(lanes, column.stack, row)}
          size={Math.min(0.34 * lanes.lane, 0.42 * column.width)}
          isNetwork={column.kind === "feed_forward"}
          there={row < n}
          chosen={row === chosen[column.stack]}
        />
      ))}
    </g>
  );
}

interface SignProps {
  x: number;
  y: number;
  size: number;
  isNetwork: boolean;
  there: boolean;
  chosen: boolean;
}

function Sign({ x, y, size, isNetwork, there, chosen }: SignProps) {
  const hexagon = [0, 1, 2, 3, 4, 5].map((i) => {
    const angle = Math.PI * (i / 3 + 1 / 6);
    return `${x + size * Math.cos(angle)} ${y + size * Math.sin(angle)}`;
  });
  return (
    <g class="vt-sign" data-there={there} data-chosen={chosen}>
      {isNetwork ? <path d={`M${hexagon.join("L")}Z`} /> : <circle cx={x} cy={y} r={size} />}
      {!isNetwork && <path d={`M${x - size / 2} ${y}h${size}M${x} ${y - size / 2}v${size}`} />}
    </g>
  );
}

/** A layer, an attention or a head: a frame around its lanes that leads deeper, and what attends to what. */
function Framed({ scene, column }: { scene: Scene; column: Column }) {
  const { lanes, boxes, box, depth, head } = scene;
  const { left, width } = column;
  const own = boxes.filter(
    (each) =>
      each.stack === column.stack &&
      each.layer === column.layer &&
      (depth === "model" || each.key === column.key),
  );
  const attentions = own.filter(isAttention);
  const bottom = lanes.top[column.stack] + lanes.count[column.stack] * lanes.lane + 4;
  const reaches = readsMemory(scene, column);
  const top = lanes.top[column.stack] - 4;
  const place = (share: number) => left + share * width;
  const regions: [from: number, to: number][] =
    depth !== "model"
      ? [[0.06, 0.94]]
      : attentions.length > 1
        ? [
            [0.04, 0.36],
            [0.44, 0.74],
          ]
        : [[0.05, 0.7]];
  const [from, to] = (depth === "model" && regions[1]) || [0, 1];
  const high = lanes.top.encoder - 4;
  const shape = reaches
    ? `M${left} ${top}H${place(from)}V${high}H${place(to)}V${top}H${left + width}V${bottom}H${left}Z`
    : `M${left} ${top}H${left + width}V${bottom}H${left}Z`;
  const isChosen =
    depth === "model"
      ? column.stack === box.stack && column.layer === box.layer
      : depth === "block"
        ? column.head === head
        : column.key === box.key;
  const main = attentions.at(-1)?.key ?? column.key;
  const deeper = depth === "model" ? "layer" : depth === "layer" ? "block" : "head";
  return (
    <g class="vt-frame" data-key={main} data-chosen={isChosen} data-depth={deeper} data-head={column.head}>
      <path class="vt-outline" d={shape} />
      <Title scene={scene} column={column} />
      {attentions.map((each, at) => {
        const [a, b] = regions[at] ?? [0, 1];
        return <Attends key={each.key} {...{ scene, column }} box={each} from={place(a)} to={place(b)} />;
      })}
      {depth === "model" && own.some(({ part }) => part === "feed_forward") && (
        <Node
          scene={scene}
          column={{
            ...column,
            kind: "feed_forward",
            title: "",
            key: own.find(({ part }) => part === "feed_forward")?.key ?? "",
            left: place(attentions.length > 1 ? 0.78 : 0.74),
            width: (attentions.length > 1 ? 0.2 : 0.24) * width,
          }}
        />
      )}
    </g>
  );
}

interface AttendsProps {
  scene: Scene;
  box: Box;
  column: Column;
  from: number;
  to: number;
}

/** What each word attends to: of a layer the mean or the chosen head, of an attention a column for each head. */
function Attends({ scene, box, column, from, to }: AttendsProps) {
  const { reply, rows, sizes, head, depth } = scene;
  const n = rows.get(box.key) ?? 0;
  const words = Array.from({ length: n }, (_, row) => weightsOf(reply, box, row, sizes.n_heads));
  if (depth === "model")
    return <Arcs {...{ scene, box, from, to }} words={words.map((each) => drawnWeights(each, head))} />;
  const shown = depth === "block" ? [column.head ?? 0] : indices(sizes.n_heads);
  const wide = (to - from) / shown.length;
  const cells = depth === "block" ? 0.52 * wide : 0;
  return (
    <>
      {shown.map((each, at) => (
        <g key={each}>
          {cells > 0 && (
            <Cells
              {...{ scene, box, left: from, wide: cells }}
              weights={words[scene.chosen[box.stack]]?.[each] ?? []}
            />
          )}
          <Arcs
            {...{ scene, box }}
            from={from + at * wide + cells + 0.06 * wide}
            to={from + (at + 1) * wide - 0.06 * wide}
            words={words.map((heads) => heads[each] ?? [])}
          />
        </g>
      ))}
    </>
  );
}

/** The weights of the chosen word, in numbers where a cell has room for them. */
function Cells(props: { scene: Scene; box: Box; weights: number[]; left: number; wide: number }) {
  const { box, weights, left, wide } = props;
  const { lanes, theme } = props.scene;
  const keys = box.part === "cross_attention" ? "encoder" : box.stack;
  const height = 0.72 * lanes.lane;
  const size = 0.85 * lanes.unit;
  const fits = wide >= 44 && height >= 1.2 * size;
  return (
    <>
      {weights.map((weight, key) => {
        const y = laneOf(lanes, keys, key);
        return (
          <g class="vt-weight-cell" key={`${key}`}>
            <rect
              {...{ x: left, y: y - height / 2, width: wide, height, rx: 4 }}
              fill={css(weightRgb(weight, theme))}
            />
            {fits && weight >= 0.005 && (
              <text
                class="vt-cell-text"
                x={left + wide / 2}
                y={y}
                font-size={size}
                data-strong={weight > 0.45}
              >
                {percent(weight)}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

interface ArcsProps {
  scene: Scene;
  box: Box;
  from: number;
  to: number;
  /** The weights of each word, [query][key]. */
  words: readonly number[][];
}

/** Arcs from what is attended to, as wide and as dark as the weight; dots flow along those of the chosen word. */
function Arcs({ scene, box, from, to, words }: ArcsProps) {
  const { lanes, chosen, theme } = scene;
  const keys = box.part === "cross_attention" ? "encoder" : box.stack;
  const widest = Math.min(0.36 * lanes.lane, 0.3 * (to - from));
  const middle = (from + to) / 2;
  const arcs = words.flatMap((weights, row) => {
    const y = laneOf(lanes, box.stack, row);
    const isChosen = row === chosen[box.stack];
    return weights.map((weight, key) => {
      const start = laneOf(lanes, keys, key);
      return {
        d: `M${from} ${start}C${middle} ${start} ${middle} ${y} ${to} ${y}`,
        weight,
        isChosen,
        id: `${row} ${key}`,
      };
    });
  });
  const drawn = arcs
    .filter(({ weight }) => weight >= LEAST)
    .sort((a, b) => Number(a.isChosen) - Number(b.isChosen));
  return (
    <g class="vt-arcs">
      {drawn.map(({ d, weight, isChosen, id }) => (
        <path
          key={id}
          d={d}
          stroke={css(weightRgb(Math.max(0.25, weight), theme))}
          stroke-width={(1 + weight * widest).toFixed(1)}
          data-chosen={isChosen}
        />
      ))}
      {drawn
        .filter(({ isChosen, weight }) => isChosen && weight > 0.3)
        .map(({ d, weight, id }) => (
          <path
            key={id}
            class="vt-flow"
            d={d}
            pathLength={60}
            stroke-width={(1 + 0.4 * weight * widest).toFixed(1)}
          />
        ))}
    </g>
  );
}
