// The model summary lab: the sizes, the two towers, and where the parameters are.

import { useState } from "preact/hooks";
import { Stage } from "../base/stage.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { modelParts, type SizeName, type Sizes, SORTS, sharesOf } from "./model_parts.ts";
import { consequencesInWords, headlineOf, percent } from "./sentences.ts";
import { SizeControl } from "./size_controls.tsx";
import { type Control, correctionInWords, withSize } from "./sizes.ts";
import { Towers } from "./towers.tsx";
import { TRAITS, type Traits } from "./traits.ts";

const WIDE = 700; // pixels, times the text size, from which the towers stand side by side

function Lab(frame: Frame<Traits>) {
  const { traits, set } = frame;
  const [corrected, setCorrected] = useState("");
  const controls = traits.controls as unknown as Control[];
  const sizes = Object.fromEntries(controls.map(({ name }) => [name, traits[name]])) as unknown as Sizes;
  const parts = modelParts(sizes);
  const marked = traits.marked as SizeName | "";
  const label = controls.find(({ name }) => name === marked)?.label;
  const change = (control: Control, value: number) => {
    setCorrected(correctionInWords(sizes, control, value));
    set({ ...withSize(sizes, control, value), marked: control.name });
  };
  return (
    <Stage
      header={<strong>An encoder–decoder of any size</strong>}
      headline={headlineOf(parts)}
      line={
        <span role="status">
          {corrected && <b class="vt-corrected">{corrected} </b>}
          {consequencesInWords(parts, marked, label)}
        </span>
      }
      controls={<Shares shares={sharesOf(parts)} />}
      inspector={controls.map((control) => (
        <SizeControl
          key={control.name}
          control={control}
          value={sizes[control.name]}
          isMarked={control.name === marked}
          onSet={(value) => change(control, value)}
          onMark={() => marked !== control.name && set({ marked: control.name })}
        />
      ))}
      {...stageOf(frame)}
    >
      <Towers
        parts={parts}
        marked={marked}
        chosen={traits.part ?? null}
        onChoose={(part) => set({ part: part === traits.part ? null : part })}
        isWide={frame.width / traits.text_size >= WIDE}
      />
    </Stage>
  );
}

/** Which sort of part holds how many of the parameters. */
function Shares({ shares }: { shares: number[] }) {
  return (
    <ul class="vt-shares vt-beside" aria-label="Where the parameters are">
      {SORTS.map((sort, at) => (
        <li key={sort} data-sort={sort}>
          {sort} {percent(shares[at]!)}
        </li>
      ))}
    </ul>
  );
}

export default stageView<Traits>({
  name: "model-summary-lab",
  label: "Model summary lab",
  traits: TRAITS,
  draw: Lab,
});
