// All heads as small pictures, each a button that switches the head off and on again.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Theme } from "../base/js/colour.js";
import { ARROWS } from "../base/js/gestures.js";
import { moveHead } from "../base/js/head_grid.js";
import { ATTENTION_KINDS } from "../base/js/kinds.js";
import { type Factor, factorOf, type Head, headState, sameHead, shortFactor } from "./changes.ts";
import { Power } from "./power.tsx";
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

/** One is in the Tab order; the arrow keys choose; Enter, Space and a click switch. */
export function Heads(props: HeadsProps) {
  const { kinds, chosen, onChoose } = props;
  const sections = kinds.map(({ kind, shape: [layers, heads] }) => ({ kind, layers, heads }));
  const grid = useRef<HTMLDivElement>(null);
  return (
    <div
      class="vt-head-grid"
      role="group"
      aria-label="All heads: the arrow keys choose, Enter switches off and on"
      ref={grid}
      onKeyDown={(event) => {
        if (!ARROWS.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
        const to = moveHead(sections, chosen, event.key);
        onChoose(to);
        grid.current?.querySelector<HTMLElement>(`[data-head="${idOf(to)}"]`)?.focus();
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      {kinds.map((entry) => (
        <Section key={entry.kind} entry={entry} {...props} />
      ))}
    </div>
  );
}

const idOf = ({ kind, layer, head }: Head) => `${kind} ${layer} ${head}`;
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

function Section({ entry, kinds, factors, chosen, theme, onToggle }: HeadsProps & { entry: Kind }) {
  const { kind, shape } = entry;
  const [layers, heads] = shape;
  return (
    <div class="vt-head-kind" data-many={heads > MANY}>
      <div class="vt-head-title">{ATTENTION_KINDS[kind]?.name}</div>
      <div class="vt-head-rows" style={{ "--heads": heads, "--layers": layers }}>
        {["", ...upTo(heads)].map((text) => (
          <span class="vt-head-number vt-above-heads" aria-hidden="true" key={text}>
            {text}
          </span>
        ))}
        {upTo(layers).flatMap((layer) => [
          <span class="vt-head-number" aria-hidden="true" key={`${layer}`}>
            {layer}
          </span>,
          ...upTo(heads).map((head) => {
            const place = { kind, layer, head };
            const factor = factorOf(factors, place);
            const isChosen = sameHead(place, chosen);
            return (
              <button
                type="button"
                key={idOf(place)}
                class="vt-head-button"
                data-head={idOf(place)}
                data-chosen={isChosen}
                data-changed={factor !== 1}
                aria-pressed={factor === 0}
                aria-label={headState(place, factor)}
                title={headState(place, factor)}
                tabIndex={isChosen ? 0 : -1}
                data-lm-suppress-shortcuts="true"
                onClick={() => onToggle(place)}
              >
                <Thumbnail entry={entry} weights={weightsOf(kinds, place)} theme={theme} />
                {factor === 0 ? <Power /> : factor !== 1 && <span>{shortFactor(factor)}</span>}
              </button>
            );
          }),
        ])}
      </div>
    </div>
  );
}

/** A pixel for each weight; the style sheet stretches the picture over its button. */
function Thumbnail({ entry, weights, theme }: { entry: Kind; weights: Float32Array; theme: Theme }) {
  const node = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const [, , rows, cols] = entry.shape;
    const canvas = node.current!;
    [canvas.width, canvas.height] = [cols, rows];
    const context = canvas.getContext("2d")!;
    const image = context.createImageData(cols, rows);
    new Uint32Array(image.data.buffer).set(
      Array.from(weights, (weight) => theme.ramp[Math.round(255 * weight)] ?? 0),
    );
    context.putImageData(image, 0, 0);
  }, [entry, theme]);
  return <canvas ref={node} />;
}
