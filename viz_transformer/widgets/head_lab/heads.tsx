// All heads as small pictures, each a button that switches the head off and on again.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Theme } from "../base/colour.ts";
import { ARROWS } from "../base/gestures.ts";
import { moveHead } from "../base/head_grid.ts";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import { type Factor, factorOf, type Head, headState, sameHead, shortFactor } from "./changes.ts";
import { type Kind, weightsOf } from "./replies.ts";

const MANY = 6; // heads of a layer: above more than these no numbers stand

interface HeadsProps {
  kinds: readonly Kind[];
  factors: readonly Factor[];
  chosen: Head;
  theme: Theme;
  onChoose: (head: Head) => void;
  onToggle: (head: Head) => void;
}

const upTo = (count = 0) => Array.from({ length: count }, (_, i) => i);

/** One is in the Tab order; the arrow keys choose; Enter, Space and a click switch. */
export function Heads(props: HeadsProps) {
  const { kinds, onChoose } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    if (!ARROWS.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    const sections = kinds.map(({ kind, shape }) => ({ kind, layers: shape[0]!, heads: shape[1]! }));
    // Where the focus is: two keys may come in one frame.
    const [own = "", row, column] = ((event.target as HTMLElement).dataset.head ?? "").split(" ");
    const at = { kind: own, layer: Number(row), head: Number(column) };
    const { kind, layer, head } = moveHead(sections, at, event.key);
    onChoose({ kind, layer, head });
    const grid = event.currentTarget as HTMLElement;
    grid.querySelector<HTMLElement>(`[data-head="${kind} ${layer} ${head}"]`)?.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="vt-head-grid"
      role="group"
      aria-label="All heads: the arrow keys choose, Enter switches off and on"
      onKeyDown={onKeyDown}
    >
      {kinds.map(({ kind, shape: [layers, heads = 0] }) => (
        <div key={kind}>
          <div class="vt-head-title">{ATTENTION_KINDS[kind]?.name}</div>
          <div class="vt-head-rows" style={{ "--heads": heads, "--layers": layers }} data-many={heads > MANY}>
            {["", ...upTo(heads)].map((text) => (
              <span class="vt-above-heads" key={text}>
                {text}
              </span>
            ))}
            {upTo(layers).flatMap((layer) => [
              <span key={layer}>{layer}</span>,
              ...upTo(heads).map((head) => <Switch key={head} {...props} place={{ kind, layer, head }} />),
            ])}
          </div>
        </div>
      ))}
    </div>
  );
}

/** A head's weights, a pixel each; the style sheet stretches the picture over its button. */
function Switch({ kinds, factors, chosen, theme, onToggle, place }: HeadsProps & { place: Head }) {
  const node = useRef<HTMLCanvasElement>(null);
  const factor = factorOf(factors, place);
  const state = headState(place, factor);
  useLayoutEffect(() => {
    const [rows, cols] = kinds.find(({ kind }) => kind === place.kind)!.shape.slice(2) as [number, number];
    const image = new ImageData(cols, rows);
    const pixels = Array.from(weightsOf(kinds, place), (weight) => theme.ramp[Math.round(255 * weight)]!);
    new Uint32Array(image.data.buffer).set(pixels);
    Object.assign(node.current!, { width: cols, height: rows });
    node.current!.getContext("2d")!.putImageData(image, 0, 0);
  }, [kinds, theme]);
  return (
    <button
      type="button"
      class="vt-head-button"
      data-head={`${place.kind} ${place.layer} ${place.head}`}
      data-chosen={sameHead(place, chosen)}
      data-changed={factor !== 1}
      aria-pressed={factor === 0}
      aria-label={state}
      title={state}
      tabIndex={sameHead(place, chosen) ? 0 : -1}
      data-lm-suppress-shortcuts="true"
      onClick={() => onToggle(place)}
    >
      <canvas ref={node} />
      {factor === 0 ? <Power /> : factor !== 1 && <b>{shortFactor(factor)}</b>}
    </button>
  );
}

/** The sign of a switch, drawn: not every font has ⏻. */
export const Power = () => (
  <svg class="vt-power" viewBox="-10 -10 20 20" aria-hidden="true" x="-11" y="-11" width="22" height="22">
    <path d="M-4.6 -5.2A7 7 0 1 0 4.6 -5.2M0 -8.5V-0.5" />
  </svg>
);
