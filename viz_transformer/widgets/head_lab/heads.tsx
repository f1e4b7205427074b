// All heads as small pictures, each a button: a click chooses the head, and the next one switches it off or on.

import { HeadGrid } from "../base/heads.tsx";
import type { Theme } from "../base/colour.ts";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import { type Factor, factorOf, type Head, headState, shortFactor } from "./changes.ts";
import { type Kind, weightsOf } from "./replies.ts";

interface HeadsProps {
  kinds: readonly Kind[];
  factors: readonly Factor[];
  chosen: Head;
  theme: Theme;
  onChoose: (head: Head) => void;
  onPress: (head: Head) => void;
}

export function Heads({ kinds, factors, chosen, theme, onChoose, onPress }: HeadsProps) {
  const sections = kinds.map(({ kind, shape }) => {
    const [layers, heads, rows, cols] = shape as [number, number, number, number];
    const weightsAt = (layer: number, head: number) => weightsOf(kinds, { kind, layer, head });
    const title = ATTENTION_KINDS[kind]?.name ?? kind;
    return { kind, title, layers, heads, rows, cols, weightsOf: weightsAt, painted: [kinds] };
  });
  const look = (head: Head) => {
    const factor = factorOf(factors, head);
    const sign = factor === 0 ? <Power /> : factor !== 1 && <b>{shortFactor(factor)}</b>;
    return { label: headState(head, factor), isPressed: factor === 0, isChanged: factor !== 1, sign };
  };
  return (
    <HeadGrid
      label="All heads: the arrow keys choose, Enter switches off and on"
      {...{ sections, chosen, theme, look, onChoose, onPress }}
    />
  );
}

/** The sign of a switch, drawn: not every font has ⏻. */
export const Power = () => (
  <svg class="vt-power" viewBox="-10 -10 20 20" aria-hidden="true" x="-11" y="-11" width="22" height="22">
    <path d="M-4.6 -5.2A7 7 0 1 0 4.6 -5.2M0 -8.5V-0.5" />
  </svg>
);
