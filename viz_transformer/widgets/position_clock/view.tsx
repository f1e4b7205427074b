// The clock of positions: hand, waves and table over one axis, for any table of positions.

import { useMemo } from "preact/hooks";
import { Doors } from "../base/doors.tsx";
import { readTable } from "../base/positions/hands.ts";
import { HandInspector } from "../base/positions/inspector.tsx";
import { Positions } from "../base/positions/picture.tsx";
import { headlineOfHand, lineOfHand, sizesOf } from "../base/positions/sentences.ts";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { TRAITS, type Traits as Declared } from "./traits.ts";

interface Traits extends Declared {
  data: { n_positions: number; d_model: number; sinusoidal: boolean; base?: number | null; table: DataView };
}

function Clock(frame: Frame<Traits>) {
  const { traits, set, theme, redraw } = frame;
  const { data, pair, position } = traits;
  const { n_positions: rows, d_model: cols, sinusoidal: isWave, base } = data;
  const table = useMemo(() => ({ ...readTable(data.table, rows, cols), base }), [data, rows, cols, base]);
  const told = { table, pair, position, isWave };
  const code = isWave && base == null ? `sinusoidal_encoding(${rows}, ${cols})` : "table";
  return (
    <Stage
      header={sizesOf(table)}
      headline={headlineOfHand(told)}
      line={lineOfHand(told)}
      inspector={
        <>
          <HandInspector told={told} theme={theme} code={code} />
          <Doors />
        </>
      }
      {...stageOf(frame)}
    >
      <Positions {...{ ...told, theme, redraw, set }} unit={frame.unit} />
    </Stage>
  );
}

export default stageView<Traits>({
  name: "position-clock",
  label: "Clock of positions",
  traits: TRAITS,
  draw: Clock,
});
