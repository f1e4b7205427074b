// The attention stepper: one query of one head, a step at a time, every number with its origin.
//
// State lives in the model's traits. All numbers are computed here from x and the matrices, so that
// the view works the same in a notebook and in a page without Python.

import { useMemo, useState } from "preact/hooks";
import { Choice } from "../base/controls.tsx";
import { type Choice as Chosen, fitChoice, type Layer } from "../base/head/arithmetic.ts";
import { HeadRoom } from "../base/head/head_room.tsx";
import { layerName } from "../base/head/sentences.ts";
import { useKernel } from "../base/hooks.ts";
import { ATTENTION_KINDS } from "../base/kinds.ts";
import { SentenceField } from "../base/sentence.tsx";
import { type Frame, stageOf, stageView } from "../base/stage_view.tsx";
import { layerSource, type Place as LayerPlace } from "./layer_source.ts";
import { TRAITS, type Traits as Declared } from "./traits.ts";

interface Traits extends Declared {
  places: [kind: "encoder" | "decoder" | "cross", layer: number][];
}

function Stepper(frame: Frame<Traits>) {
  const { traits, set, model } = frame;
  const kernel = useKernel(model);
  const [problem, setProblem] = useState("");
  const layers = useMemo(
    () =>
      layerSource(model, kernel, {
        onLayer(place) {
          setProblem("");
          set(place);
        },
        onError: setProblem,
      }),
    [model, kernel],
  );
  const layer = layers.current();
  const chosen = fitChoice(layer, traits);
  return (
    <HeadRoom
      frame={frame}
      layer={layer}
      chosen={chosen}
      stage={stageOf(frame)}
      trail={<Place frame={frame} layer={layer} chosen={chosen} onRequest={layers.request} />}
      edit={
        traits.places.length > 0 && (
          <SentenceField
            text={layer.text}
            problem={problem}
            onRead={(text) => layers.request({ text })}
            onInput={() => setProblem("")}
          />
        )
      }
      onChange={set}
    />
  );
}

interface PlaceProps {
  frame: Frame<Traits>;
  layer: Layer;
  chosen: Chosen;
  onRequest: (place: LayerPlace) => void;
}

/** Which attention and head this is, to choose another. */
function Place({ frame: { traits, set }, layer, chosen, onRequest }: PlaceProps) {
  const { places } = traits;
  const heads = Array.from({ length: layer.heads }, (_, head) => [`${head}`, `Head ${head}`] as const);
  return (
    <>
      <span class={places.length ? "vt-title vt-unseen" : "vt-title"} role="heading" aria-level={3}>
        {layerName(layer, chosen.head)}
      </span>
      {places.length > 0 && (
        <Choice
          isBare
          label="attention"
          value={`${layer.kind} ${layer.layer}`}
          options={places.map(([kind, at]) => [
            `${kind} ${at}`,
            `${ATTENTION_KINDS[kind].label}, layer ${at}`,
          ])}
          onChoose={(to) => {
            const [kind, at] = to.split(" ");
            onRequest({ kind, layer: Number(at) });
          }}
        />
      )}
      {layer.heads > 1 && (
        <Choice
          isBare
          label="head"
          value={`${chosen.head}`}
          options={heads}
          onChoose={(to) => set({ head: Number(to) })}
        />
      )}
    </>
  );
}

export default stageView<Traits>({
  name: "stepper",
  label: "Attention, step by step",
  traits: TRAITS,
  draw: Stepper,
});
