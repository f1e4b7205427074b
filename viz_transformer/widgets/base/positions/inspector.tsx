// The two numbers of a hand in the inspector: as bars, as an equation, and the line of Python that gives the same.

import { Bars } from "../bars.tsx";
import type { Theme } from "../colour.ts";
import { Code } from "../python_code.tsx";
import { angularFrequency, handOf, PAPERS_BASE, reachOf } from "./hands.ts";
import { angleOf, type Told, two } from "./sentences.ts";

interface InspectorProps {
  told: Told;
  theme: Theme;
  /** What the table is in Python. */
  code: string;
}

export function HandInspector({ told, theme, code }: InspectorProps) {
  const { table, pair, position, isWave } = told;
  const [second, first] = handOf(table, pair, position);
  const reach = reachOf(table, pair);
  const names = isWave ? ["sin", "cos"] : [`dimension ${2 * pair}`, `dimension ${2 * pair + 1}`];
  const angle = two(angleOf(told));
  return (
    <>
      <p>
        {isWave ? "hand" : "pair"} {pair}, position {position}
      </p>
      <Bars
        theme={theme}
        label="Its two numbers"
        kind="weight"
        bars={[first, second].map((value, at) => [
          names[at],
          Math.abs(value) / reach,
          { told: two(value), colour: value < 0 ? "var(--below)" : "var(--above)" },
        ])}
      />
      {isWave && (
        <p class="vt-equation">
          sin({position} / {table.base ?? PAPERS_BASE}^({2 * pair}/{table.cols})) = sin({position} ×{" "}
          {angularFrequency(pair, table.cols, table.base).toPrecision(3)}) = sin({angle}) ={" "}
          <b>{two(first)}</b>
        </p>
      )}
      <Code lines={[`${code}[${position}, ${2 * pair}:${2 * pair + 2}]`]} />
    </>
  );
}
