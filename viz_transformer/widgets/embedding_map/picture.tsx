// The map itself: every token a point; lines to the nearest of the chosen one, and the arrows of an analogy.

import { consume } from "../base/keys.ts";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { fitCanvas, pointerPosition } from "../base/canvas.ts";
import type { Theme } from "../base/colour.ts";
import { useRoom, useTween } from "../base/hooks.ts";
import { visible } from "../base/text.ts";
import type { Analogy, Embeddings, Neighbour } from "./neighbours.ts";
import {
  cameraOf,
  endOfLine,
  type Name,
  pixelsOf,
  type Place,
  placeNames,
  pointAt,
  pointBeside,
} from "./places.ts";

const REACH = 14; // pixels around a point in which a pointer finds it
const OTHERS = 60; // names at most, besides those of the chosen and the nearest

export interface Shown {
  embeddings: Embeddings;
  index: number;
  near: Neighbour[];
  /** The analogy that is drawn. */
  analogy: Analogy | null;
  zoom: number;
}

interface PictureProps {
  frame: { theme: Theme; unit: number; redraw: () => void };
  shown: Shown;
  choose: (index: number) => void;
}

export function Picture({ frame, shown, choose }: PictureProps) {
  const { box, room } = useRoom();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState(-1);
  const { embeddings, index, zoom } = shown;
  const camera = useMemo(() => cameraOf(embeddings.points, index, zoom), [embeddings, index, zoom]);
  const { move } = useTween(frame.redraw);
  const [x = 0, y = 0, right = 1, up = 1] = move([...camera.middle, ...camera.reach.map(Math.log)]);
  const seen = { middle: [x, y], reach: [Math.exp(right), Math.exp(up)] } as const;
  const pixels = room ? pixelsOf(embeddings.points, seen, room) : [];
  useLayoutEffect(() => {
    if (room && canvas.current) paint(canvas.current, { ...shown, hovered, pixels, room, ...frame });
  });
  const found = (event: MouseEvent) => pointAt(pixels, pointerPosition(canvas.current!, event), REACH);
  const latest = useRef(index); // two keys may come in one frame
  latest.current = index;
  return (
    <div class="vt-map" ref={box}>
      {room && (
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label="Tokens as points; the arrow keys go to the next one in a direction"
          data-lm-suppress-shortcuts="true"
          data-hovered={hovered < 0 ? undefined : embeddings.tokens[hovered]}
          onPointerMove={(event) => setHovered(found(event))}
          onPointerLeave={() => setHovered(-1)}
          onClick={(event) => {
            const at = found(event);
            if (at >= 0) choose(at);
          }}
          onKeyDown={(event) => {
            const to = pointBeside(pixels, latest.current, event.key);
            if (to < 0) return;
            latest.current = to;
            choose(to);
            consume(event);
          }}
        />
      )}
    </div>
  );
}

interface Painted extends Shown {
  hovered: number;
  pixels: Place[];
  room: { width: number; height: number };
  theme: Theme;
  unit: number;
}

function paint(canvas: HTMLCanvasElement, painted: Painted): void {
  const { embeddings, index, near, analogy, hovered, room, theme } = painted;
  const pairs = analogy ? [analogy.words.slice(0, 2), analogy.words.slice(2)] : [];
  const pixels = painted.pixels.slice(); // where lines end: what is out of sight is named at the edge
  const isSeen = (token: number) => isIn(painted.pixels[token]!, room);
  const lines = [...near.map((each) => [index, each.index]), ...pairs].filter((ends) => ends.some(isSeen));
  for (const [from, to] of lines)
    for (const [one, other] of [
      [from!, to!],
      [to!, from!],
    ] as const)
      if (isSeen(one)) pixels[other] = endOfLine(pixels[one]!, painted.pixels[other]!, room);
  const context = fitCanvas(canvas, room.width, room.height);
  const colours: Record<string, string> = { key: theme.key, query: theme.query, ink: theme.text };
  const colourOf = (token: number) =>
    colours[embeddings.roles[embeddings.groupOf[token] ?? 0] ?? ""] ?? theme.muted;
  const dot = (token: number, radius: number, opacity: number) => {
    const [x, y] = pixels[token]!;
    context.globalAlpha = opacity;
    context.fillStyle = colourOf(token);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    if (isSeen(token)) context.fill();
    else {
      context.lineWidth = 2;
      context.strokeStyle = colourOf(token);
      context.stroke();
    }
    context.globalAlpha = 1;
  };
  for (const token of pixels.keys()) dot(token, 3, 0.45);
  context.lineWidth = 1.5;
  context.strokeStyle = theme.muted;
  for (const each of near) line(context, pixels[index]!, pixels[each.index]!);
  context.strokeStyle = context.fillStyle = theme.text;
  context.lineWidth = 3;
  for (const [from, to] of pairs.filter((pair) => pair.some(isSeen)))
    arrow(context, pixels[from!]!, pixels[to!]!);
  const needed = [...new Set([index, ...near.map((each) => each.index), ...(analogy?.words ?? [])])];
  for (const token of needed) dot(token, token === index ? 8 : 5, 1);
  if (hovered >= 0) dot(hovered, 6, 1);
  drawNames(context, { ...painted, pixels }, hovered < 0 ? needed : [...needed, hovered], colourOf);
}

function drawNames(
  context: CanvasRenderingContext2D,
  { embeddings, pixels, room, theme, unit }: Painted,
  needed: number[],
  colourOf: (token: number) => string,
): void {
  const small = 0.85 * unit;
  const name = (token: number, isNeeded: boolean): Name => ({
    ...{ index: token, isNeeded },
    width: theme.measure(visible(embeddings.tokens[token]), isNeeded ? unit : small, isNeeded),
  });
  // All over the map, and always the same: in an order that has nothing to do with where they stand.
  const others = Array.from(pixels.keys(), (_, at) => (at * 7919) % pixels.length);
  const isThere = (token: number) => isIn(pixels[token]!, room);
  const names = [
    ...needed.filter(isThere).map((token) => name(token, true)),
    ...others.filter((token) => isThere(token) && !needed.includes(token)).map((token) => name(token, false)),
  ];
  const placed = placeNames(names, pixels, room, 1.25 * unit).slice(0, needed.length + OTHERS);
  context.strokeStyle = theme.background; // so that points and lines beneath leave a name readable
  context.lineWidth = 4;
  context.lineJoin = "round";
  for (const { index: token, left, y } of placed) {
    const isNeeded = needed.includes(token);
    context.font = `${isNeeded ? `700 ${unit}` : `400 ${small}`}px ${theme.family}`;
    context.fillStyle = isNeeded ? colourOf(token) : theme.muted;
    context.textAlign = "left";
    context.strokeText(visible(embeddings.tokens[token]), left, y);
    context.fillText(visible(embeddings.tokens[token]), left, y);
  }
}

const isIn = ([x, y]: Place, room: Painted["room"]) =>
  x >= 0 && x <= room.width && y >= 0 && y <= room.height;

function line(context: CanvasRenderingContext2D, [x, y]: Place, [px, py]: Place): void {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(px, py);
  context.stroke();
}

function arrow(context: CanvasRenderingContext2D, from: Place, to: Place): void {
  line(context, from, to);
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const [x, y] = [to[0] - 8 * Math.cos(angle), to[1] - 8 * Math.sin(angle)]; // before the point
  context.beginPath();
  context.moveTo(x, y);
  for (const turned of [-0.45, 0.45])
    context.lineTo(x - 14 * Math.cos(angle + turned), y - 14 * Math.sin(angle + turned));
  context.fill();
}
