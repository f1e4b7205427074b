// The inspector of the position lab: what is chosen in each chapter, and the line of Python that gives the same.

import type { Theme } from "../base/colour.ts";
import { handOf } from "../base/positions/hands.ts";
import { HandInspector } from "../base/positions/inspector.tsx";
import { two } from "../base/positions/sentences.ts";
import { Code } from "../base/python_code.tsx";
import { formatWeight } from "../base/text.ts";
import { isWave, neighbourCosine, type Traits } from "./encodings.ts";
import { encodingSentence, movedSentence, neighbourSentence, type Told } from "./sentences.ts";
import type { Shifted } from "./shift.ts";

export function OneHandInspector({ told, theme }: { told: Told; theme: Theme }) {
  const { encoding, table } = told;
  const sinusoids = `sinusoidal_encoding(${table.rows}, ${table.cols})`;
  return (
    <>
      <p>{encodingSentence(encoding)}</p>
      <HandInspector told={told} theme={theme} code={encoding === "sinusoidal" ? sinusoids : "view.table"} />
    </>
  );
}

/** What the chosen pair adds to the likeness of two positions. */
export function LikenessInspector({ told, offset }: { told: Told; offset: number }) {
  const { encoding, table, pair, position, trained } = told;
  const other = position + offset;
  const isThere = other >= 0 && other < table.rows;
  const [[x, y], [u, v]] = [position, isThere ? other : position].map((row) => handOf(table, pair, row));
  const cosines = [neighbourCosine(table, 0, trained), neighbourCosine(table, trained, table.rows)] as const;
  return (
    <>
      {isThere && encoding !== "rotary" && (
        <>
          <p>
            What {isWave(encoding) ? "hand" : "pair"} {pair} adds, of {table.cols / 2}:
          </p>
          <p class="vt-equation">
            {two(y)} × {two(v)} + {two(x)} × {two(u)} = <b>{two(x * u + y * v)}</b>
          </p>
        </>
      )}
      {encoding === "learned" && <p>{neighbourSentence(...cosines)}</p>}
      {isThere && <Code lines={[`view.scores_by_place[${position}, ${other}]`]} />}
    </>
  );
}

/** The parts of a score, and what the shift changes in each. */
export function MovedInspector({ encoding, shifted }: { encoding: string; shifted: Shifted }) {
  return (
    <>
      <table class="vt-parts-table">
        <caption class="vt-unseen">The parts of a score, and what the shift changes in each</caption>
        <thead>
          <tr>
            <th scope="col">rms of</th>
            <th scope="col">size</th>
            <th scope="col">change</th>
          </tr>
        </thead>
        <tbody>
          {shifted.rows.map(([name, size, changed]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{formatWeight(size)}</td>
              <td class={changed > 1e-6 ? "vt-changed" : ""}>{formatWeight(changed)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>{movedSentence(encoding, shifted)}</p>
      <Code lines={["here, moved = lab.shifted_scores()", "((moved - here) ** 2).mean() ** 0.5"]} />
    </>
  );
}

/** What the bars are, and the request that gives them. */
export function ShuffledInspector({ traits }: { traits: Traits }) {
  const { data, order, positions_on: isOn } = traits;
  return (
    <>
      <p>
        A live translator with {data.live_encoding} positions of its own,{" "}
        {isOn ? "switched on" : "switched off"}. A bar is how far a word's output vector moves, as a share of
        its length.
      </p>
      {!isOn && <p>Without positions the encoder is permutation equivariant: each word keeps its vector.</p>}
      <Code
        lines={[`view.answer({"order": [${order.join(", ")}], "positions_on": ${isOn ? "True" : "False"}})`]}
      />
    </>
  );
}
