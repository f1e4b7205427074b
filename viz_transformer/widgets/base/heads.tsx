// All heads as small pictures, each a button: one is in the Tab order, and the arrow keys choose the next.

import { ARROWS, consume, hasModifier } from "./keys.ts";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Theme } from "./colour.ts";
import { moveHead } from "./head_grid.ts";
import { type HeadPlace, sameHead } from "./kinds.ts";
import { indices } from "./scales.ts";
import { paintPixels } from "./canvas.ts";
import { Button } from "./controls.tsx";

const MANY = 6; // heads of a layer: above more than these no numbers stand

/** The heads of one kind. */
export interface HeadsOfKind {
  kind: string;
  title: string;
  layers: number;
  heads: number;
  rows: number;
  cols: number;
  weightsOf: (layer: number, head: number) => ArrayLike<number>;
  /** What the weights depend on: they are painted again when one of these is another. */
  painted: readonly unknown[];
}

/** How the button of a head looks and what it is called. */
interface HeadLook {
  label: string;
  isPressed: boolean;
  isChanged?: boolean;
  /** What lies on its picture. */
  sign?: ComponentChildren;
}

interface HeadsProps {
  label: string;
  sections: readonly HeadsOfKind[];
  chosen: HeadPlace;
  theme: Theme;
  look: (head: HeadPlace) => HeadLook;
  onChoose: (head: HeadPlace) => void;
  /** Of a click, Enter and Space. */
  onPress: (head: HeadPlace) => void;
}

/** The heads of all sections: a row for each layer. */
export function HeadGrid(props: HeadsProps) {
  const { label, sections, onChoose } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    if (!ARROWS.includes(event.key) || hasModifier(event)) return;
    // Where the focus is: two keys may come in one frame.
    const [own = "", row, column] = ((event.target as HTMLElement).dataset.head ?? "").split(" ");
    const at = { kind: own, layer: Number(row), head: Number(column) };
    const { kind, layer, head } = moveHead(sections, at, event.key);
    onChoose({ kind, layer, head });
    const grid = event.currentTarget as HTMLElement;
    grid.querySelector<HTMLElement>(`[data-head="${kind} ${layer} ${head}"]`)?.focus();
    consume(event);
  };
  return (
    <div class="vt-head-grid" role="group" aria-label={label} onKeyDown={onKeyDown}>
      {sections.map((section) => (
        <div key={section.kind}>
          <div class="vt-head-title">{section.title}</div>
          <div
            class="vt-head-rows"
            style={{ "--heads": section.heads, "--layers": section.layers }}
            data-many={section.heads > MANY}
          >
            {["", ...indices(section.heads)].map((text) => (
              <span class="vt-above-heads" key={text}>
                {text}
              </span>
            ))}
            {indices(section.layers).flatMap((layer) => [
              <span key={layer}>{layer}</span>,
              ...indices(section.heads).map((head) => (
                <Small key={head} {...props} section={section} place={{ kind: section.kind, layer, head }} />
              )),
            ])}
          </div>
        </div>
      ))}
    </div>
  );
}

/** A head's weights, a pixel each; the style sheet stretches the picture over its button. */
function Small({
  section,
  place,
  chosen,
  theme,
  look,
  onPress,
}: HeadsProps & { section: HeadsOfKind; place: HeadPlace }) {
  const node = useRef<HTMLCanvasElement>(null);
  const { label, isPressed, isChanged = false, sign } = look(place);
  const { rows, cols, weightsOf, painted } = section;
  useLayoutEffect(() => {
    paintWeights(node.current!, weightsOf(place.layer, place.head), [rows, cols], theme);
  }, [...painted, theme]);
  return (
    <Button
      class="vt-head-button"
      data-head={`${place.kind} ${place.layer} ${place.head}`}
      data-chosen={sameHead(place, chosen)}
      data-changed={isChanged}
      aria-pressed={isPressed}
      aria-label={label}
      title={label}
      tabIndex={sameHead(place, chosen) ? 0 : -1}
      onClick={() => onPress(place)}
    >
      <canvas ref={node} />
      {sign}
    </Button>
  );
}

/** Paint weights on a canvas, a pixel each. */
export function paintWeights(
  canvas: HTMLCanvasElement,
  weights: ArrayLike<number>,
  [rows, cols]: readonly [number, number],
  theme: Theme,
): void {
  paintPixels(canvas, cols, rows, (cell) => theme.ramp[Math.round(255 * weights[cell]!)]!);
}
