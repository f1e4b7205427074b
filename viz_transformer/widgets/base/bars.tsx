// Bars in the inspector: a name, a bar as long as its share, and the share in percent.

import { visible } from "./js/text.js";
import { percent } from "./percent.ts";

interface BarsProps {
  label: string;
  /** Names with their shares. */
  bars: readonly (readonly [name: string, share: number])[];
  /** What they are: attention weights of keys, or probabilities of words. */
  kind: "weight" | "probability";
  chosen?: number | null;
  onChoose?: (index: number) => void;
}

/** A list of bars; where one can be chosen, its name is a button. */
export function Bars({ label, bars, kind, chosen, onChoose }: BarsProps) {
  const role = kind === "weight" ? "vt-of-key" : "vt-of-query";
  return (
    <ol class="vt-bars" aria-label={label}>
      {bars.map(([name, share], index) => (
        <li key={`${index} ${name}`}>
          {onChoose ? (
            <button
              type="button"
              class={`vt-bar-name ${role}`}
              aria-pressed={index === chosen}
              onClick={() => onChoose(index)}
            >
              <bdi>{visible(name)}</bdi>
            </button>
          ) : (
            <bdi class={`vt-bar-name ${role}`}>{visible(name)}</bdi>
          )}
          <span class={`vt-bar vt-bar-of-${kind}`} aria-hidden="true">
            {share >= 0.005 && <span style={{ width: `${100 * share}%` }} />}
          </span>
          <span class="vt-bar-share">{percent(share)}</span>
        </li>
      ))}
    </ol>
  );
}
