// Bars in the inspector: a name, a bar as long as its share, and the share in percent.

import { css, type Theme, weightRgb } from "./colour.ts";
import { markMeaning, percent, shortened, visible } from "./text.ts";
import { Button } from "./controls.tsx";

const LETTERS = 24; // of a name

/** How a bar looks where its share alone does not say it. */
export interface BarLook {
  /** In place of the share in percent. */
  told?: string;
  colour?: string;
  isMasked?: boolean;
  /** The class that colours its name, in place of that of all names. */
  role?: string;
}

interface BarsProps {
  theme: Theme;
  label: string;
  /** Names with their shares. */
  bars: readonly (readonly [name: string, share: number, look?: BarLook])[];
  /** What they are: attention weights of keys, or probabilities of words. */
  kind: "weight" | "probability";
  /** What the names are: keys of weights, and words that are written, if nothing else is said. */
  named?: "key" | "query";
  chosen?: number | null;
  onChoose?: (index: number) => void;
}

/** A list of bars; where one can be chosen, its name is a button. */
export function Bars({ theme, label, bars, kind, named, chosen, onChoose }: BarsProps) {
  const all = `vt-of-${named ?? (kind === "weight" ? "key" : "query")}`;
  const colourOf = (share: number) => (kind === "weight" ? css(weightRgb(share, theme)) : "var(--query)");
  return (
    <ol class="vt-bars" aria-label={label}>
      {bars.map(([name, share, { told, colour, isMasked = false, role = all } = {}], index) => (
        <li key={`${index} ${name}`}>
          {onChoose ? (
            <Button
              class={`vt-bar-name ${role}`}
              aria-pressed={index === chosen}
              title={markMeaning(name) ?? visible(name)}
              onClick={() => onChoose(index)}
            >
              <bdi>{shortened(name, LETTERS)}</bdi>
            </Button>
          ) : (
            <bdi class={`vt-bar-name ${role}`}>{shortened(name, LETTERS)}</bdi>
          )}
          <span class={`vt-bar ${isMasked ? "vt-bar-masked" : ""}`} aria-hidden="true">
            {share >= 0.005 && (
              <span style={{ width: `${100 * share}%`, background: colour ?? colourOf(share) }} />
            )}
          </span>
          <span class="vt-bar-share">{isMasked ? "masked" : (told ?? percent(share))}</span>
        </li>
      ))}
    </ol>
  );
}
