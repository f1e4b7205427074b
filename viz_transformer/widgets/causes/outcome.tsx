// The metric of the patched run on a line from the corrupted run to the clean one.

import type { Theme } from "../base/colour.ts";
import { useRoom } from "../base/hooks.ts";
import { formatNumber } from "../base/text.ts";
import { percentBack, type Run } from "./grids.ts";

const PAD = 14; // pixels at both ends

interface OutcomeProps {
  clean: Run;
  corrupted: Run;
  /** Of the patched run; null where nothing is patched. */
  value: number | null;
  theme: Theme;
  unit: number;
}

export function Outcome({ clean, corrupted, value, theme, unit }: OutcomeProps) {
  const { box, room } = useRoom();
  const share = value === null ? 0 : (value - corrupted.value) / (clean.value - corrupted.value);
  const [least, most] = [Math.min(0, share), Math.max(1, share)];
  const width = room?.width ?? 0;
  const x = (at: number) => PAD + ((at - least) / (most - least)) * (width - 2 * PAD);
  const height = 3.6 * unit;
  const y = 1.9 * unit;
  const told = value === null ? "" : `${percentBack(share)} · ${formatNumber(value, 2)}`;
  const half = theme.measure(told, unit, true) / 2;
  const ends = [
    { name: "corrupted", run: corrupted, at: 0 },
    { name: "clean", run: clean, at: 1 },
  ];
  return (
    <div class="vt-outcome" ref={box} style={{ height: `${height}px` }}>
      {room && (
        <svg {...{ width, height }} role="img" aria-label={`Metric: ${told || "nothing is patched"}`}>
          <path d={`M${x(0)} ${y}H${x(1)}`} />
          {value !== null && <path class="vt-outcome-back" d={`M${x(0)} ${y}H${x(share)}`} />}
          {ends.map(({ name, run, at }) => (
            <g key={name}>
              <path d={`M${x(at)} ${y - 7}v14`} />
              <text x={at ? width - 2 : 2} y={y - 1.1 * unit} text-anchor={at ? "end" : "start"}>
                {name} {formatNumber(run.value, 2)}
              </text>
            </g>
          ))}
          {value !== null && (
            <>
              <circle class="vt-cause-knob" cx={x(share)} cy={y} r={9} />
              <text
                class="vt-outcome-now vt-of-you"
                x={Math.max(half + 2, Math.min(width - half - 2, x(share)))}
                y={y + 1.2 * unit}
                text-anchor="middle"
              >
                {told}
              </text>
            </>
          )}
        </svg>
      )}
    </div>
  );
}
